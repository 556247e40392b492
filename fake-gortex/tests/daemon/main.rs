//! `gortex mcp` over an in-process pipe, on a paused clock.

#[path = "../support/mod.rs"]
mod support;

mod servers;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use fake_gortex::{Daemon, Launch, MemoryJournal, TOOLS};
use serde_json::{Value, json};
use support::{Client, said, script};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("folder")
}

#[tokio::test(start_paused = true)]
async fn shakes_hands_lists_and_journals_what_was_on_the_wire() {
    let root = folder();
    let mut client = Client::launch(
        "initialize_after_ms = 1500\nlist_after_ms = 50",
        root.path(),
    );
    let answer = client.greet().await;
    assert_eq!(client.now(), 1500);
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer["result"]["serverInfo"]["name"], "gortex");
    assert_eq!(answer["result"]["serverInfo"]["version"], "0.65.0");
    assert_eq!(client.names().await, TOOLS);
    assert_eq!(client.now(), 1550);
    client
        .raw(b"not json\n\n{\"method\":\"odd\",\"x\":1}\n")
        .await;
    client.names().await;
    let (code, journal) = client.close().await;
    assert_eq!(code, 0);
    let told: Vec<Value> = journal
        .into_iter()
        .map(|entry| json!([entry.event, entry.payload]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["start", {
                "args": [], "cwd": root.path().to_str(),
                "env": { "GORTEX_TOOLS": null, "GORTEX_TOOLS_MODE": null },
            }]),
            json!(["recv", { "id": 1, "method": "initialize", "params": support::initialize() }]),
            json!(["send", { "id": 1, "resultKeys": ["protocolVersion", "capabilities", "serverInfo"] }]),
            json!(["recv", { "method": "notifications/initialized" }]),
            json!(["recv", { "id": 2, "method": "tools/list" }]),
            json!(["send", { "id": 2, "resultKeys": ["tools"] }]),
            json!(["recv", { "raw": "not json" }]),
            json!(["recv", { "method": "odd", "x": 1 }]),
            json!(["recv", { "id": 3, "method": "tools/list" }]),
            json!(["send", { "id": 3, "resultKeys": ["tools"] }]),
            json!(["exit", { "reason": "stdin_eof", "code": 0 }]),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_overlap_and_each_answers_when_it_is_due() {
    let root = folder();
    fs::write(root.path().join("f"), "50\n75\n").expect("file");
    // O08: B is applied first, A is answered first.
    let mut client = Client::greeted(
        r#"calls = [
          { tool = "edit", when = { old_string = "50" }, delay_ms = 200, answer_after_ms = 100 },
          { tool = "edit", when = { old_string = "75" }, delay_ms = 100, answer_after_ms = 300 },
        ]"#,
        root.path(),
    )
    .await;
    let edit = |old: &str, new: &str| json!({ "operation": "file", "path": "f", "old_string": old, "new_string": new });
    let a = client.call("edit", edit("50", "FIFTY")).await;
    let b = client.call("edit", edit("75", "SEVENTY-FIVE")).await;
    let text = || fs::read_to_string(root.path().join("f")).expect("text");
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    assert_eq!(text(), "50\nSEVENTY-FIVE\n");
    let first = client.line().await.expect("first");
    assert_eq!((client.now(), &first["id"]), (300, &json!(a)));
    assert_eq!(said(&first), "edited f: 1 replacement");
    assert_eq!(text(), "FIFTY\nSEVENTY-FIVE\n");
    let second = client.line().await.expect("second");
    assert_eq!((client.now(), &second["id"]), (400, &json!(b)));
}

#[tokio::test(start_paused = true)]
async fn answers_what_the_script_says() {
    let root = folder();
    let mut client = Client::greeted(
        r#"calls = [
          { tool = "ask", nth = 1, text = "first" },
          { tool = "ask", nth = 2, text = "bad", is_error = true },
          { tool = "ask", nth = 3, error = { code = -32602, message = "bad args", data = { k = 1 } } },
          { tool = "ask", nth = 4, text = "s", structured = { n = 1 } },
          { tool = "ask", nth = 5, text = "ab", repeat = 3 },
          { tool = "ask", nth = 6, result = { content = "no list" } },
          { tool = "ask", nth = 7, raw_before = "noise\n" },
        ]"#,
        root.path(),
    )
    .await;
    let mut answers = Vec::new();
    for _ in 0..6 {
        client.call("ask", json!({})).await;
        answers.push(client.line().await.expect("answer"));
    }
    assert_eq!(
        answers[0]["result"],
        json!({ "content": [{ "type": "text", "text": "first" }], "isError": false })
    );
    assert_eq!(
        (said(&answers[1]), &answers[1]["result"]["isError"]),
        ("bad", &json!(true))
    );
    assert_eq!(
        answers[2]["error"],
        json!({ "code": -32602, "message": "bad args", "data": { "k": 1 } })
    );
    assert_eq!(answers[3]["result"]["structuredContent"], json!({ "n": 1 }));
    assert_eq!(said(&answers[4]), "ababab");
    assert_eq!(answers[5]["result"], json!({ "content": "no list" }));
    client.call("ask", json!({})).await;
    assert_eq!(client.text().await.as_deref(), Some("noise\n"));
    assert_eq!(
        said(&client.line().await.expect("answer")),
        "ask: done, nothing scripted"
    );
    client.call("nosuch", json!({})).await;
    let unknown = client.line().await.expect("answer");
    assert_eq!(unknown["error"]["message"], "unknown tool: nosuch");
}

#[tokio::test(start_paused = true)]
async fn dies_mid_call_after_20_bytes_and_serves_again() {
    let root = folder();
    let journal = Arc::new(MemoryJournal::default());
    // O05: the first call has written its file, the third kills the daemon while all three are in flight.
    let daemon = Daemon::new(
        script(
            r#"calls = [
              { tool = "edit", answer_after_ms = 5000 },
              { tool = "ask", nth = 1, delay_ms = 5000 },
              { tool = "ask", nth = 2, delay_ms = 20, partial_frame = true, exit = 1 },
            ]"#,
        ),
        root.path().to_owned(),
        journal.clone(),
    );
    let mut client = Client::of(&daemon, Launch::default(), journal.clone());
    client.greet().await;
    client
        .call(
            "edit",
            json!({ "operation": "write", "path": "f", "content": "x" }),
        )
        .await;
    client.call("ask", json!({})).await;
    client.call("ask", json!({})).await;
    assert_eq!(
        client.text().await.as_deref(),
        Some(r#"{"jsonrpc":"2.0","id"#)
    );
    assert_eq!(client.text().await, None);
    assert_eq!(client.now(), 20);
    assert_eq!(
        fs::read_to_string(root.path().join("f")).expect("text"),
        "x"
    );
    let (code, entries) = client.ended().await;
    assert_eq!(code, 1);
    let last: Vec<_> = entries.iter().rev().take(2).collect();
    assert_eq!(last[0].payload, json!({ "reason": "scripted", "code": 1 }));
    assert_eq!(last[1].payload, json!({ "id": 4, "partial": 20 }));

    let mut again = Client::of(&daemon, Launch::default(), journal);
    again.greet().await;
    again.call("ask", json!({})).await;
    assert_eq!(
        said(&again.line().await.expect("answer")),
        "ask: done, nothing scripted"
    );
    assert_eq!(again.now(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_killed_process_edits_nothing_afterwards() {
    let root = folder();
    let rule = r#"calls = [{ tool = "edit", delay_ms = 1000 }]"#;
    let write = |path: &str| json!({ "operation": "write", "path": path, "content": "x" });
    let mut killed = Client::greeted(rule, root.path()).await;
    killed.call("edit", write("killed")).await;
    let mut closed = Client::greeted(rule, root.path()).await;
    closed.call("edit", write("closed")).await;
    let mut cancelled = Client::greeted(rule, root.path()).await;
    let id = cancelled.call("edit", write("cancelled")).await;
    let mut kept = Client::greeted(rule, root.path()).await;
    kept.call("edit", write("kept")).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let at = killed.now();
    let journal = killed.kill().await;
    assert_eq!(journal.last().expect("entry").event, "recv");
    let (code, _) = closed.close().await;
    assert_eq!(code, 0);
    assert_eq!(at, kept.now(), "closing took time");
    let params = json!({ "requestId": id, "reason": "Request timed out" });
    cancelled
        .write(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
        .await;
    assert_eq!(
        said(&kept.line().await.expect("answer")),
        "wrote kept: 1 bytes"
    );
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let exists = |name: &str| root.path().join(name).exists();
    assert!(exists("kept") && !exists("killed") && !exists("closed") && !exists("cancelled"));
    // The connection is still good, and nothing was answered to the cancelled call.
    assert_eq!(cancelled.names().await, TOOLS);
}

#[tokio::test(start_paused = true)]
async fn is_silent_or_refuses_to_start_or_to_end() {
    let root = folder();
    let mut silent = Client::launch("silent = true", root.path());
    silent
        .request("initialize", Some(support::initialize()))
        .await;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(3600), silent.line()).await;
    assert!(waited.is_err(), "{waited:?}");
    let (code, journal) = silent.close().await;
    assert_eq!((code, journal.len()), (0, 3));

    let mut refuses = Client::launch("exit_on_start = 3", root.path());
    assert_eq!(refuses.line().await, None);
    let (code, journal) = refuses.ended().await;
    assert_eq!(code, 3);
    assert_eq!(
        journal[1].payload,
        json!({ "reason": "scripted", "code": 3 })
    );

    let stays = Client::greeted("ignore_eof = true", root.path()).await;
    let waited = tokio::time::timeout(std::time::Duration::from_secs(3600), stays.close()).await;
    assert!(waited.is_err(), "{waited:?}");

    // A host that gives up while the daemon is still late.
    let mut late = Client::launch("initialize_after_ms = 60000", root.path());
    late.request("initialize", Some(support::initialize()))
        .await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let before = late.now();
    let clock = tokio::time::Instant::now();
    let (code, _) = late.close().await;
    assert_eq!((code, before, clock.elapsed().as_millis()), (0, 1000, 0));
}

#[tokio::test(start_paused = true)]
async fn tools_come_and_go_with_storms_of_notifications() {
    let root = folder();
    // O07
    let mut client = Client::greeted(
        r#"
        tools = ["read", "ask"]
        calls = [{ tool = "ask", promote = ["edit", "read"], withdraw = ["ask"], list_changed = 200 }]
        later = [{ after_ms = 1000, promote = ["trace"], list_changed = 1 }, { after_ms = 2000, exit = 4 }]
        "#,
        root.path(),
    )
    .await;
    assert_eq!(client.names().await, ["read", "ask"]);
    let id = client.call("ask", json!({})).await;
    for _ in 0..200 {
        let line = client.line().await.expect("notification");
        assert_eq!(
            line,
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
        );
    }
    assert_eq!(client.line().await.expect("answer")["id"], id);
    assert_eq!(client.names().await, ["read", "edit"]);
    assert_eq!(
        client.line().await.expect("notification")["method"],
        "notifications/tools/list_changed"
    );
    assert_eq!(client.now(), 1000);
    assert_eq!(client.names().await, ["read", "edit", "trace"]);
    assert_eq!(client.line().await, None);
    assert_eq!(client.now(), 2000);
    assert_eq!(client.ended().await.0, 4);
}

#[tokio::test(start_paused = true)]
async fn the_environment_narrows_the_surface() {
    let root = folder();
    let journal = Arc::new(MemoryJournal::default());
    let daemon = Daemon::new(script(""), root.path().to_owned(), journal.clone());
    let env = BTreeMap::from([("GORTEX_TOOLS".to_owned(), "search,read".to_owned())]);
    let launch = Launch {
        args: vec!["mcp".to_owned()],
        env,
    };
    let mut client = Client::of(&daemon, launch, journal);
    client.greet().await;
    assert_eq!(client.names().await, ["read", "search"]);
    let (_, journal) = client.close().await;
    assert_eq!(journal[0].payload["args"], json!(["mcp"]));
    assert_eq!(journal[0].payload["env"]["GORTEX_TOOLS"], "search,read");
}

#[tokio::test(start_paused = true)]
async fn unicode_line_ends_and_huge_frames_pass_unharmed() {
    let root = folder();
    let mut client = Client::greeted(
        "calls = [{ tool = \"ask\", text = \"left\\u2028right\\u2029end\" }, { tool = \"trace\", text = \"0123456789\", repeat = 500000 }]",
        root.path(),
    )
    .await;
    client.call("ask", json!({})).await;
    let line = client.text().await.expect("line");
    assert!(line.contains("left\u{2028}right\u{2029}end"), "{line}");
    client.call("trace", json!({})).await;
    let answer = client.line().await.expect("answer");
    assert_eq!(said(&answer).len(), 5_000_000);
    // A client may send as much; beyond 16 MiB the line is dropped and the connection lives.
    client.raw(&vec![b'x'; (16 << 20) + 1]).await;
    client.raw(b"\n").await;
    assert_eq!(client.names().await.len(), 21);
    let (_, journal) = client.close().await;
    assert!(
        journal
            .iter()
            .any(|entry| entry.payload == json!({ "dropped_bytes": (16 << 20) + 1 }))
    );
}

#[tokio::test(start_paused = true)]
async fn scripted_files_and_suppressed_work() {
    let root = folder();
    fs::write(root.path().join("old"), "x").expect("file");
    let mut client = Client::greeted(
        r#"calls = [
          { tool = "refactor", files = [{ path = "new/a", content = "a" }, { path = "old" }] },
          { tool = "edit", when = { path = "failing" }, is_error = true, text = "no" },
          { tool = "edit", when = { path = "claimed" }, work = false, text = "done" },
          { tool = "edit", when = { path = "lost" }, silent = true },
        ]"#,
        root.path(),
    )
    .await;
    client.call("refactor", json!({})).await;
    client.line().await.expect("answer");
    assert_eq!(
        fs::read_to_string(root.path().join("new/a")).expect("text"),
        "a"
    );
    assert!(!root.path().join("old").exists());
    for name in ["failing", "claimed"] {
        // The rule's condition sees through the containers.
        client
            .call(
                "edit",
                json!({ "arguments": { "operation": "write", "path": name, "content": "x" } }),
            )
            .await;
        client.line().await.expect("answer");
        assert!(!root.path().join(name).exists(), "{name}");
    }
    client
        .call(
            "edit",
            json!({ "operation": "write", "path": "lost", "content": "x" }),
        )
        .await;
    // The next line answers the next request: nothing came for the edit, which did happen.
    let id = client.call("ask", json!({})).await;
    assert_eq!(client.line().await.expect("answer")["id"], id);
    assert!(root.path().join("lost").exists());
}

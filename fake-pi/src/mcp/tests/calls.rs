//! Calls and how they end, changed tool lists, and the end of the connection (pi-host.md 4.4, 4.7, 9).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::client::{Connection, ConnectionEvent};
use super::super::failure::Failure;
use super::peer::{Peer, connected, listed};
use crate::tool::ToolOutput;

/// A call under way.
struct Call {
    run: JoinHandle<Result<ToolOutput, Failure>>,
    abort: CancellationToken,
    updates: UnboundedReceiver<Value>,
}

fn start(connection: &Connection, tool: &str) -> Call {
    let abort = CancellationToken::new();
    let (sender, updates) = unbounded_channel();
    Call {
        run: tokio::spawn(connection.call(tool, json!({"x": "1"}), abort.clone(), sender)),
        abort,
        updates,
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn failure(text: &str) -> Result<ToolOutput, Failure> {
    Err(Failure::new(text))
}

#[tokio::test(start_paused = true)]
async fn a_call_carries_its_id_as_progress_token() {
    let (mut peer, connection) = connected(&["alpha"]).await;
    let call = start(&connection, "alpha");
    let request = concat!(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"alpha","arguments":{"x":"1"},"#,
        r#""_meta":{"progressToken":3}}}"#
    );
    assert_eq!(peer.line().await, request);
    peer.answer(3, text("hi")).await;
    let output = call.run.await.unwrap().unwrap();
    assert_eq!(output.content, [json!({"type": "text", "text": "hi"})]);
    assert_eq!(
        output.details,
        Some(json!({"server": "s", "tool": "alpha"}))
    );
    assert!(!output.is_error);
}

#[tokio::test(start_paused = true)]
async fn calls_run_beside_each_other() {
    let (mut peer, connection) = connected(&["a", "b"]).await;
    let (first, second) = (start(&connection, "a"), start(&connection, "b"));
    assert_eq!(peer.message().await["id"], 3);
    assert_eq!(peer.message().await["id"], 4);
    peer.answer(4, text("second")).await;
    peer.answer(3, text("first")).await;
    assert_eq!(
        first.run.await.unwrap().unwrap().content[0]["text"],
        "first"
    );
    assert_eq!(
        second.run.await.unwrap().unwrap().content[0]["text"],
        "second"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_times_out_and_the_connection_stays() {
    let (mut peer, connection) = connected(&["hang"]).await;
    let started = Instant::now();
    let call = start(&connection, "hang");
    peer.line().await;
    assert_eq!(
        call.run.await.unwrap(),
        failure("MCP request timed out after 1000ms")
    );
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    let cancelled = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","#,
        r#""params":{"requestId":3,"reason":"Request timed out"}}"#
    );
    assert_eq!(peer.line().await, cancelled);
    peer.answer(3, text("too late")).await;
    let next = start(&connection, "hang");
    assert_eq!(peer.message().await["id"], 4);
    peer.answer(4, text("in time")).await;
    assert_eq!(
        next.run.await.unwrap().unwrap().content[0]["text"],
        "in time"
    );
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_time_anew() {
    let (mut peer, connection) = connected(&["prog"]).await;
    let mut call = start(&connection, "prog");
    peer.line().await;
    for step in 1..=4 {
        sleep(Duration::from_millis(700)).await;
        peer.notify(
            "notifications/progress",
            json!({"progressToken": 3, "progress": step, "total": 4}),
        )
        .await;
    }
    peer.notify(
        "notifications/progress",
        json!({"progressToken": 3, "progress": 5.0}),
    )
    .await;
    peer.notify(
        "notifications/progress",
        json!({"progressToken": 3, "progress": 6, "message": "working"}),
    )
    .await;
    peer.notify(
        "notifications/progress",
        json!({"progressToken": 4, "progress": 7}),
    )
    .await;
    peer.notify(
        "notifications/progress",
        json!({"progressToken": 3, "progress": "8"}),
    )
    .await;
    sleep(Duration::from_millis(900)).await;
    peer.answer(3, text("done")).await;
    assert_eq!(call.run.await.unwrap().unwrap().content[0]["text"], "done");
    let mut texts = Vec::new();
    while let Ok(update) = call.updates.try_recv() {
        assert_eq!(update["details"], json!({"server": "s", "tool": "prog"}));
        texts.push(update["content"][0]["text"].as_str().unwrap().to_owned());
    }
    let expected = [
        "Progress 1/4",
        "Progress 2/4",
        "Progress 3/4",
        "Progress 4/4",
        "Progress 5",
        "working",
    ];
    assert_eq!(texts, expected);
}

#[tokio::test(start_paused = true)]
async fn a_full_time_passes_after_the_last_progress() {
    let (mut peer, connection) = connected(&["prog"]).await;
    let started = Instant::now();
    let call = start(&connection, "prog");
    peer.line().await;
    sleep(Duration::from_millis(700)).await;
    peer.notify(
        "notifications/progress",
        json!({"progressToken": 3, "progress": 1}),
    )
    .await;
    assert_eq!(
        call.run.await.unwrap(),
        failure("MCP request timed out after 1000ms")
    );
    assert_eq!(started.elapsed(), Duration::from_millis(1700));
}

#[tokio::test(start_paused = true)]
async fn an_abort_is_told_to_the_server() {
    let (mut peer, connection) = connected(&["slow"]).await;
    let call = start(&connection, "slow");
    peer.line().await;
    call.abort.cancel();
    assert_eq!(call.run.await.unwrap(), failure("MCP request aborted"));
    let cancelled = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","#,
        r#""params":{"requestId":3,"reason":"AbortError: This operation was aborted"}}"#
    );
    assert_eq!(peer.line().await, cancelled);

    let aborted = CancellationToken::new();
    aborted.cancel();
    let late = connection
        .call("slow", json!({}), aborted, unbounded_channel().0)
        .await;
    assert_eq!(late, failure("MCP request aborted"));
    let next = start(&connection, "slow");
    let request = peer.message().await;
    let seen = (&request["id"], &request["params"]["arguments"]);
    assert_eq!(
        seen,
        (&json!(4), &json!({"x": "1"})),
        "a call aborted beforehand is not sent"
    );
    drop(next);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_server_fails_every_call() {
    let (mut peer, connection) = connected(&["a"]).await;
    let mut events = connection.take_events().unwrap();
    assert!(connection.take_events().is_none());
    let calls = [start(&connection, "a"), start(&connection, "a")];
    peer.line().await;
    let started = Instant::now();
    drop(peer);
    for call in calls {
        assert_eq!(call.run.await.unwrap(), failure("MCP connection closed"));
    }
    assert_eq!(events.recv().await, Some(ConnectionEvent::Closed));
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(connection.is_closed());
    let late = connection
        .call(
            "a",
            json!({}),
            CancellationToken::new(),
            unbounded_channel().0,
        )
        .await;
    assert_eq!(late, failure("MCP client is closed"));
}

#[tokio::test(start_paused = true)]
async fn closing_fails_calls_and_is_no_news() {
    let (mut peer, connection) = connected(&["a"]).await;
    let mut events = connection.take_events().unwrap();
    let call = start(&connection, "a");
    peer.line().await;
    let started = Instant::now();
    connection.close().await;
    assert_eq!(call.run.await.unwrap(), failure("MCP connection closed"));
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(peer.line().await, "");
    drop(connection);
    assert_eq!(events.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_its_message() {
    let (mut peer, connection) = connected(&["a"]).await;
    let call = start(&connection, "a");
    peer.line().await;
    peer.raw(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"bad args","data":1}}"#)
        .await;
    assert_eq!(call.run.await.unwrap(), failure("bad args"));
}

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_fetched_for_every_notice() {
    let (mut peer, connection) = connected(&["a", "gone"]).await;
    let mut events = connection.take_events().unwrap();
    peer.raw(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    peer.raw(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#
    );
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#
    );
    peer.answer(3, listed(&["a", "new"])).await;
    let Some(ConnectionEvent::Tools(tools)) = events.recv().await else {
        panic!("no list")
    };
    assert_eq!(tools.len(), 2);
    assert!(connection.offers("new") && !connection.offers("gone"));
    peer.answer(4, json!({"tools": 5})).await;
    let refused = ConnectionEvent::RefreshFailed(
        "Failed to refresh tools: Invalid MCP tools/list result".into(),
    );
    assert_eq!(events.recv().await, Some(refused));
    assert!(connection.offers("new"), "a failed refresh keeps the list");
    peer.notify(
        "notifications/message",
        json!({"level": "info", "data": "x"}),
    )
    .await;
    assert_eq!(
        events.recv().await,
        Some(ConnectionEvent::Log(json!({"level": "info", "data": "x"})))
    );
}

/// A whole conversation with calls that overlap; what the server saw, and when.
async fn conversation() -> Vec<(u128, String)> {
    let (mut peer, connection) = connected(&["a"]).await;
    let started = Instant::now();
    let calls: Vec<Call> = (0..20).map(|_| start(&connection, "a")).collect();
    calls[7].abort.cancel();
    let mut seen = Vec::new();
    for round in 0..20 {
        let line = peer.line().await;
        if round % 3 == 0 {
            peer.raw(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#)
                .await;
            peer.raw(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
                .await;
        }
        seen.push((started.elapsed().as_millis(), line));
    }
    let reader = tokio::spawn(read_rest(peer, started));
    for call in calls {
        call.run.await.unwrap().unwrap_err();
    }
    connection.close().await;
    seen.extend(reader.await.unwrap());
    seen
}

async fn read_rest(mut peer: Peer, started: Instant) -> Vec<(u128, String)> {
    let mut seen = Vec::new();
    loop {
        let line = peer.line().await;
        if line.is_empty() {
            return seen;
        }
        seen.push((started.elapsed().as_millis(), line));
    }
}

#[test]
fn the_same_seed_plays_the_same_conversation() {
    let play = || {
        let seed = tokio::runtime::RngSeed::from_bytes(b"7");
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder
            .enable_time()
            .start_paused(true)
            .rng_seed(seed)
            .build()
            .unwrap();
        runtime.block_on(conversation())
    };
    let first = play();
    assert!(first.len() > 40, "{}", first.len());
    for _ in 0..20 {
        assert_eq!(play(), first);
    }
}

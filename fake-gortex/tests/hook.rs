//! `gortex hook` in process, on a paused clock.

use std::time::Duration;

use fake_gortex::{HookOutcome, MemoryJournal, Script, State, hook};
use serde_json::{Value, json};
use tokio::time::Instant;

/// One case: a script, and what its hooks share.
struct Case {
    script: Script,
    state: State,
    journal: MemoryJournal,
}

impl Case {
    fn new(toml: &str) -> Self {
        Self {
            script: toml::from_str(toml).expect("script"),
            state: State::memory(),
            journal: MemoryJournal::default(),
        }
    }

    async fn ask_bytes(&self, envelope: &[u8]) -> HookOutcome {
        let args = ["hook".to_owned(), "--agent=pi".to_owned()];
        hook(&self.script, &self.state, &self.journal, &args, envelope).await
    }

    /// What a posture decides about a call.
    async fn steered(&self, mode: &[&str], envelope: &Value) -> Value {
        let args: Vec<String> = ["hook", "--agent=pi"]
            .iter()
            .chain(mode)
            .map(ToString::to_string)
            .collect();
        let envelope = envelope.to_string();
        let outcome = hook(
            &self.script,
            &self.state,
            &self.journal,
            &args,
            envelope.as_bytes(),
        )
        .await;
        serde_json::from_slice(&outcome.stdout).expect("decision")
    }

    async fn ask(&self, envelope: &Value) -> HookOutcome {
        self.ask_bytes(envelope.to_string().as_bytes()).await
    }

    async fn decision(&self, envelope: &Value) -> Value {
        let outcome = self.ask(envelope).await;
        assert_eq!(outcome.exit, 0);
        serde_json::from_slice(&outcome.stdout).expect("decision")
    }
}

fn call(tool: &str, input: &Value) -> Value {
    json!({ "event": "tool_call", "cwd": "/w", "session_id": "s", "tool_name": tool, "tool_input": input,
        "is_gortex_tool": false })
}

#[tokio::test(start_paused = true)]
async fn by_default_it_briefs_and_never_blocks() {
    let case = Case::new("[daemon]\nversion = \"0.64.5\"");
    let start = json!({ "event": "session_start", "cwd": "/w", "session_id": "s" });
    let briefing = case.decision(&start).await;
    let text = briefing["orientation"].as_str().expect("orientation");
    assert!(
        text.starts_with("✓ Gortex daemon ready (v0.64.5, uptime 1m). "),
        "{text}"
    );
    assert_eq!(
        case.decision(&call("Read", &json!({ "file_path": "a" })))
            .await,
        json!({})
    );
    let entries = case.journal.entries();
    assert_eq!(
        entries[0].payload,
        json!({ "args": ["hook", "--agent=pi"], "envelope": start })
    );
    assert_eq!(entries[3].event, "answer");
    assert_eq!(
        entries[3].payload,
        json!({ "stdout": "{}", "delay_ms": 0, "exit": 0 })
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_rule_that_matches_decides() {
    let case = Case::new(
        r#"
        [hook]
        decisions = [
          { tool = "Read", nth = 2, decision = { additional_context = "second read" } },
          { tool = "Read", when = { file_path = "a" }, delay_ms = 300, decision = { block = true, reason = "R" } },
          { event = "session_start", decision = { orientation = "use graph tools" } },
        ]
        "#,
    );
    let clock = Instant::now();
    let read = call("Read", &json!({ "file_path": "a", "limit": 3 }));
    assert_eq!(
        case.decision(&read).await,
        json!({ "block": true, "reason": "R" })
    );
    assert_eq!(clock.elapsed(), Duration::from_millis(300));
    assert_eq!(
        case.decision(&read).await,
        json!({ "additional_context": "second read" })
    );
    assert_eq!(
        case.decision(&call("Read", &json!({ "file_path": "b" })))
            .await,
        json!({})
    );
    assert_eq!(
        case.decision(&call("Bash", &json!({ "file_path": "a" })))
            .await,
        json!({})
    );
    let start = json!({ "event": "session_start" });
    assert_eq!(
        case.decision(&start).await,
        json!({ "orientation": "use graph tools" })
    );
    assert_eq!(clock.elapsed(), Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn misbehaves_on_demand() {
    let case = Case::new(
        r#"
        [hook]
        decisions = [
          { tool = "Bash", raw = "Welcome\r\n{\"block\":true}\n", exit = 3, stderr = "oops" },
          { tool = "Grep", raw = "x", repeat = 1000 },
          { tool = "Glob", hang = true, delay_ms = 10 },
        ]
        "#,
    );
    let outcome = case.ask(&call("Bash", &json!({}))).await;
    assert_eq!(outcome.stdout, b"Welcome\r\n{\"block\":true}\n");
    assert_eq!(
        (outcome.exit, outcome.stderr.as_slice()),
        (3, b"oops".as_slice())
    );
    assert_eq!(
        case.ask(&call("Grep", &json!({}))).await.stdout,
        vec![b'x'; 1000]
    );
    let glob = call("Glob", &json!({}));
    let hanging = tokio::time::timeout(Duration::from_secs(3600), case.ask(&glob)).await;
    assert!(hanging.is_err());
    let last = case.journal.entries().pop().expect("entry");
    assert_eq!(last.payload, json!({ "hang": true, "delay_ms": 10 }));
}

#[tokio::test(start_paused = true)]
async fn any_bytes_are_an_envelope_of_some_kind() {
    let case = Case::new("[hook]\ndecisions = [{ tool = \"Read\", decision = { block = true } }]");
    for bytes in [
        &b""[..],
        b"[]",
        b"{",
        b"\xff\xfe",
        br#"{"tool_name":3,"tool_input":[]}"#,
    ] {
        assert_eq!(case.ask_bytes(bytes).await.stdout, b"{}", "{bytes:?}");
    }
    case.ask_bytes(&vec![b'x'; 1 << 20]).await;
    let entries = case.journal.entries();
    assert_eq!(entries[2].payload["raw"], "[]");
    assert!(entries[10].payload["raw"].as_str().expect("raw").len() < 5000);
}

#[tokio::test(start_paused = true)]
async fn answers_without_reading() {
    let case = Case::new(
        "[hook]\nignore_stdin = true\ndecisions = [{ tool = \"Read\" }, { decision = { block = true } }]",
    );
    let read = call("Read", &json!({}));
    assert_eq!(case.decision(&read).await, json!({ "block": true }));
    let asked = &case.journal.entries()[0].payload;
    assert_eq!(
        *asked,
        json!({ "args": ["hook", "--agent=pi"], "unread": true })
    );
}

#[tokio::test(start_paused = true)]
async fn each_posture_steers_what_looks_at_indexed_source() {
    let case = Case::new("[hook]\nindexed = [\"src/\"]");
    let read = call("Read", &json!({ "file_path": "src/a.rs" }));
    let graph = json!({ "event": "tool_call", "session_id": "s", "tool_name": "read", "tool_input": {},
        "is_gortex_tool": true });
    let blocks = |decision: &Value| decision["block"] == true;

    let denied = case.steered(&[], &read).await;
    assert!(blocks(&denied) && denied["reason"].is_string(), "{denied}");
    let other = call("Read", &json!({ "file_path": "notes.txt" }));
    assert_eq!(case.steered(&[], &other).await, json!({}));
    assert_eq!(
        case.steered(&[], &call("Bash", &json!({}))).await,
        json!({})
    );
    assert!(blocks(
        &case
            .steered(&[], &call("Grep", &json!({ "pattern": "x" })))
            .await
    ));

    let guided = case.steered(&["--mode=enrich"], &read).await;
    assert!(!blocks(&guided) && guided["additional_context"].is_string());

    let mut streak = Vec::new();
    for envelope in [&read, &read, &graph, &read, &read, &read, &read] {
        streak.push(blocks(&case.steered(&["--mode=nudge"], envelope).await));
    }
    assert_eq!(streak, [false, false, false, false, false, true, false]);

    // The graph was consulted above, in this session and in no other.
    let unlock = ["--mode=consult-unlock"];
    assert_eq!(case.steered(&unlock, &read).await, json!({}));
    let mut elsewhere = read.clone();
    elsewhere["session_id"] = "t".into();
    assert!(blocks(&case.steered(&unlock, &elsewhere).await));
}

//! Aborts, as pi-host.md 9 observed them.

use std::time::Duration;

use crate::support::fixtures::{server, with_server};
use crate::support::{Log, Stage, call, extension, note, noted, play, recorder, sync};
use fake_pi::ModelReply;
use serde_json::{Value, json};
use tokio::time::sleep;

const EVENTS: &[&str] = &[
    "agent_start",
    "turn_start",
    "context",
    "before_provider_request",
    "tool_execution_start",
    "tool_call",
    "tool_result",
    "tool_execution_end",
    "turn_end",
    "agent_end",
    "agent_before_settle",
    "agent_settled",
];

/// Sends an abort after `ms`, waits for its response, and gives how long that took.
async fn abort_after(stage: &mut Stage, ms: u64) -> u128 {
    sleep(Duration::from_millis(ms)).await;
    let sent = tokio::time::Instant::now();
    let response = stage.ask(json!({"type": "abort"})).await;
    assert_eq!(response["success"], true);
    sent.elapsed().as_millis()
}

/// An extension whose `tool_call` handler takes half a second for call c2.
fn slow_second() -> std::sync::Arc<dyn fake_pi::Extension> {
    extension("slow", |pi| {
        let handler = std::sync::Arc::new(|event: fake_pi::Event, _| {
            let slow = event.get("toolCallId") == Some("c2".into());
            Box::pin(async move {
                sleep(Duration::from_millis(if slow { 500 } else { 0 })).await;
                Ok(Value::Null)
            }) as futures::future::BoxFuture<'static, _>
        });
        pi.on("tool_call", handler).map(drop)
    })
}

/// Trace 09-abort-batch-middle: a prepared call is not run, a later one gets no `tool_call`, every call has a result.
#[test]
fn an_abort_while_a_batch_is_prepared() {
    play(async {
        let log = Log::default();
        let batch = ["c1", "c2", "c3"].map(|id| call(id, "mcp__s__b", json!({})));
        let mut stage = Stage::new(
            vec![with_server(), slow_second(), recorder(&log, "A", EVENTS)],
            vec![ModelReply::calls(batch.into())],
        );
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage.until(|record| record["toolCallId"] == "c2").await;
        let waited = abort_after(&mut stage, 100).await;
        assert_eq!(waited, 400, "the handler is not cancelled");
        assert_eq!(
            noted(&log),
            [
                "A agent_start",
                "A turn_start 0",
                "A context",
                "A before_provider_request",
                "A tool_execution_start c1",
                "A tool_call c1",
                "A tool_execution_start c2",
                "A tool_call c2",
                "A tool_execution_end c2",
                "A tool_execution_start c3",
                "A tool_execution_end c3",
                "A tool_execution_end c1",
                "A turn_end 0",
                "A turn_start 1",
                "A context",
                "A turn_end 1",
                "A agent_end",
                "A agent_settled true"
            ]
        );
        stage.prompt("next").await;
        assert_eq!(stage.tool_texts(), ["Operation aborted"; 3]);
        assert_eq!(
            stage.model.roles()[1],
            [
                "system",
                "user",
                "assistant",
                "tool",
                "tool",
                "tool",
                "user"
            ]
        );
        assert!(!stage.servers.journal().contains(&"srv tools/call".into()));
        stage.end().await;
    });
}

/// Trace 09-abort-tool-running.
#[test]
fn an_abort_while_a_tool_runs() {
    play(async {
        let log = Log::default();
        let replies = vec![ModelReply::calls(vec![call("c1", "mcp__s__a", json!({}))])];
        let mut stage = Stage::new(vec![with_server(), recorder(&log, "A", EVENTS)], replies);
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_start")
            .await;
        abort_after(&mut stage, 100).await;
        assert!(noted(&log).contains(&"A tool_result c1".into()));
        assert!(
            stage
                .servers
                .journal()
                .contains(&"srv notifications/cancelled".into())
        );
        let turns = stage.of_type("turn_end");
        assert_eq!(
            turns[1]["message"]["errorMessage"],
            "This operation was aborted"
        );
        stage.prompt("next").await;
        assert_eq!(stage.tool_texts(), ["MCP request aborted"]);
        stage.end().await;
    });
}

/// Trace 09-abort-streaming: what had arrived stays.
#[test]
fn an_abort_while_the_model_answers() {
    play(async {
        let reply = ModelReply::text("partial").lasting(Duration::from_secs(5));
        let mut stage = Stage::new(vec![], vec![reply]);
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["message"]["stopReason"] == "pending")
            .await;
        assert_eq!(abort_after(&mut stage, 1000).await, 0);
        let message = stage.of_type("turn_end").pop().unwrap()["message"].clone();
        assert_eq!(
            (
                &message["stopReason"],
                &message["errorMessage"],
                &message["content"][0]["text"]
            ),
            (
                &json!("aborted"),
                &json!("Request was aborted"),
                &json!("partial")
            )
        );
        assert_eq!(
            stage.of_type("agent_settled"),
            [json!({"type": "agent_settled", "aborted": true})]
        );
        stage.prompt("next").await;
        assert_eq!(stage.model.roles()[1], ["system", "user", "user"]);
        stage.end().await;
    });
}

/// Trace 09-abort-bas-pending: the run starts aborted and makes no request.
#[test]
fn an_abort_during_before_agent_start() {
    play(async {
        let log = Log::default();
        let slow = extension("slow", |pi| {
            pi.on("before_agent_start", crate::support::slow(500, Value::Null))
                .map(drop)
        });
        let mut stage = Stage::new(vec![slow, recorder(&log, "A", EVENTS)], vec![]);
        stage.send(json!({"type": "prompt", "message": "hi"}));
        assert_eq!(abort_after(&mut stage, 100).await, 400);
        assert_eq!(
            noted(&log),
            [
                "A agent_start",
                "A turn_start 0",
                "A context",
                "A turn_end 0",
                "A agent_end",
                "A agent_settled true"
            ]
        );
        assert_eq!(stage.model.requests().len(), 0);
        let message = stage.of_type("turn_end").pop().unwrap()["message"].clone();
        assert_eq!(message["errorMessage"], "This operation was aborted");
        stage.end().await;
    });
}

/// `ctx.signal` exists from `agent_start` to `agent_end` only.
#[test]
fn the_signal_lives_as_long_as_the_run() {
    play(async {
        const ALL: [&str; 9] = [
            "session_start",
            "input",
            "before_agent_start",
            "agent_start",
            "context",
            "turn_end",
            "agent_end",
            "agent_before_settle",
            "agent_settled",
        ];
        let log = Log::default();
        let seen = log.clone();
        let looker = extension("l", move |pi| {
            for event in ALL {
                let seen = seen.clone();
                pi.on(
                    event,
                    sync(move |event, ctx| {
                        note(
                            &seen,
                            format!(
                                "{} {} {}",
                                event.kind(),
                                ctx.signal()?.is_some(),
                                ctx.is_idle()?
                            ),
                        );
                        Ok(Value::Null)
                    }),
                )?;
            }
            Ok(())
        });
        let mut stage = Stage::new(vec![looker], vec![]);
        stage.prompt("hi").await;
        assert_eq!(
            noted(&log),
            [
                "session_start false true",
                "input false true",
                "before_agent_start false false",
                "agent_start true false",
                "context true false",
                "turn_end true false",
                "agent_end true false",
                "agent_before_settle false false",
                "agent_settled false true"
            ]
        );
        stage.end().await;
    });
}

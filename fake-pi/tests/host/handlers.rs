//! What handlers may do to a run, as pi-host.md 2 observed it.

use crate::support::fixtures::{echo, server, with_server};
use crate::support::{Log, Stage, call, extension, note, noted, play, recorder, sync};
use fake_pi::{ModelReply, Thrown};
use serde_json::{Value, json};

/// Section 2, trace 02-tool-call-throws.
#[test]
fn a_throwing_tool_call_handler_blocks_without_a_report() {
    play(async {
        let log = Log::default();
        let thrower = extension("t", |pi| {
            let throw = sync(|event, _| match event.get("toolCallId").unwrap().as_str() {
                Some("c1") => Err(Thrown::error("boom-tc")),
                Some("c2") => Err(Thrown::value("[object Object]")),
                Some("c3") => Ok(json!({"block": true, "reason": ""})),
                _ => Ok(json!("yes")),
            });
            pi.on("tool_call", throw).map(drop)
        });
        let batch = ModelReply::calls(vec![
            call("c1", "ls", json!({})),
            call("c2", "mcp__s__b", json!({})),
            call("c3", "mcp__s__b", json!({})),
            call("c4", "mcp__s__b", json!({})),
            call("c5", "mcp__s__b", json!({})),
        ]);
        let mut batch = batch;
        batch.tool_calls[0].name = "mcp__s__b".into();
        let mut stage = Stage::new(
            vec![
                with_server(),
                thrower,
                recorder(&log, "B", &["tool_call", "tool_result"]),
            ],
            vec![batch],
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        assert_eq!(
            stage.tool_texts(),
            [
                "boom-tc",
                "Extension failed, blocking execution: [object Object]",
                "Tool execution was blocked",
                "b ok {}",
                "b ok {}"
            ]
        );
        assert_eq!(stage.of_type("extension_error"), Vec::<Value>::new());
        assert_eq!(
            noted(&log),
            [
                "B tool_call c4",
                "B tool_call c5",
                "B tool_result c4",
                "B tool_result c5"
            ]
        );
        stage.end().await;
    });
}

/// Section 2: every other event's error is reported, and the turn goes on.
#[test]
fn errors_of_other_handlers_are_reported_and_swallowed() {
    play(async {
        const EVENTS: [&str; 12] = [
            "session_start",
            "input",
            "before_agent_start",
            "agent_start",
            "context",
            "before_provider_request",
            "tool_execution_start",
            "tool_result",
            "message_end",
            "turn_end",
            "agent_settled",
            "session_before_switch",
        ];
        let log = Log::default();
        let thrower = extension("t.ts", |pi| {
            for event in EVENTS {
                pi.on(
                    event,
                    sync(move |_, _| Err(Thrown::error(format!("boom {event}")))),
                )?;
            }
            Ok(())
        });
        let replies = vec![ModelReply::calls(vec![call("c1", "mcp__s__b", json!({}))])];
        let mut stage = Stage::new(
            vec![with_server(), thrower, recorder(&log, "B", &EVENTS)],
            replies,
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        stage.ask(json!({"type": "new_session"})).await;
        for event in EVENTS {
            let errors = stage.of_type("extension_error");
            let reported = errors.iter().find(|error| error["event"] == event);
            assert_eq!(
                reported,
                Some(
                    &json!({"type": "extension_error", "extensionPath": "t.ts", "event": event,
                    "error": format!("boom {event}")})
                )
            );
            assert!(
                noted(&log)
                    .iter()
                    .any(|line| line.starts_with(&format!("B {event}"))),
                "{event}"
            );
        }
        assert_eq!(stage.tool_texts(), ["b ok {}"]);
        stage.end().await;
    });
}

/// Section 2, trace 02-tool-call-block-terminate; and of a larger batch every result must terminate.
#[test]
fn a_block_that_terminates_ends_the_run() {
    play(async {
        let gate = extension("gate", |pi| {
            let block = sync(|event, _| {
                let terminate = event.get("toolCallId") != Some("soft".into());
                Ok(json!({"block": true, "reason": "stop", "terminate": terminate}))
            });
            pi.on("tool_call", block).map(drop)
        });
        let replies = vec![
            ModelReply::calls(vec![call("c1", "read", json!({"path": "x"}))]),
            ModelReply::calls(vec![
                call("c2", "read", json!({"path": "x"})),
                call("soft", "read", json!({"path": "x"})),
            ]),
        ];
        let read = echo();
        let mut stage = Stage::new(vec![gate, read], replies);
        stage.prompt("one").await;
        assert_eq!(stage.model.requests().len(), 1);
        stage.prompt("two").await;
        assert_eq!(
            stage.model.requests().len(),
            3,
            "one soft block is enough for another request"
        );
        stage.end().await;
    });
}

/// Section 2: `tool_call.input` is the coerced copy; a change in place reaches the tool unchecked, an assignment does
/// not, and the transcript keeps the original.
#[test]
fn input_changed_in_place_is_what_the_tool_gets() {
    play(async {
        let log = Log::default();
        let seen = log.clone();
        let changer = extension("c", move |pi| {
            let seen = seen.clone();
            let change = sync(move |event, _| {
                note(&seen, event.get("input").unwrap().to_string());
                event.edit("input", |input| input["extra"] = json!([1]));
                event.set("input", json!({"path": "assigned"}));
                Ok(Value::Null)
            });
            pi.on("tool_call", change).map(drop)
        });
        let replies = vec![ModelReply::calls(vec![call(
            "c1",
            "read",
            json!({"path": "x", "limit": "5"}),
        )])];
        let mut stage = Stage::new(vec![echo(), changer], replies);
        stage.prompt("hi").await;
        assert_eq!(noted(&log), ["{\"path\":\"x\",\"limit\":5}"]);
        assert_eq!(
            stage.tool_texts(),
            ["{\"path\":\"x\",\"limit\":5,\"extra\":[1]}"]
        );
        let request = stage.model.requests().pop().unwrap();
        let kept = &request["messages"][2]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(kept, "{\"path\":\"x\",\"limit\":\"5\"}");
        stage.end().await;
    });
}

/// Section 2: one emit sees one snapshot of the handlers.
#[test]
fn a_handler_removed_during_an_emit_still_runs_once() {
    play(async {
        let log = Log::default();
        let seen = log.clone();
        let remover = extension("r", move |pi| {
            let slot: std::sync::Arc<std::sync::Mutex<Option<fake_pi::Unsubscribe>>> =
                std::sync::Arc::default();
            let (held, own, first, second) = (slot.clone(), pi.clone(), seen.clone(), seen.clone());
            pi.on(
                "input",
                sync(move |_, _| {
                    note(&first, "first");
                    if let Some(unsubscribe) = held.lock().unwrap().take() {
                        unsubscribe.call();
                        let late = first.clone();
                        own.on(
                            "input",
                            sync(move |_, _| {
                                note(&late, "late");
                                Ok(Value::Null)
                            }),
                        )?;
                    }
                    Ok(Value::Null)
                }),
            )?;
            let handle = pi.on(
                "input",
                sync(move |_, _| {
                    note(&second, "second");
                    Ok(Value::Null)
                }),
            )?;
            *slot.lock().unwrap() = Some(handle);
            Ok(())
        });
        let mut stage = Stage::new(vec![remover], vec![]);
        stage.prompt("one").await;
        stage.prompt("two").await;
        assert_eq!(noted(&log), ["first", "second", "first", "late"]);
        stage.end().await;
    });
}

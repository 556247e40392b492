//! The order of a run and of a batch, as pi-host.md 1 observed it.

use crate::support::fixtures::{echo, server, with_server};
use crate::support::{Log, Stage, call, extension, noted, play, recorder, slow, sync};
use fake_pi::{ModelReply, Stop};
use serde_json::{Value, json};

/// Section 1.2, trace 01-text-prompt.
#[test]
fn a_text_prompt_has_pis_order_of_events() {
    play(async {
        let log = Log::default();
        let events = &[
            "session_start",
            "resources_discover",
            "input",
            "before_agent_start",
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "context",
            "context_with_system",
            "before_provider_request",
            "turn_end",
            "agent_end",
            "agent_before_settle",
            "agent_settled",
            "session_shutdown",
        ];
        let mut stage = Stage::new(
            vec![recorder(&log, "A", events)],
            vec![ModelReply::text("hello")],
        );
        let response = stage.prompt("hi").await;
        assert_eq!(response["data"], json!({"disposition": "started"}));
        let kinds: Vec<_> = stage
            .seen
            .iter()
            .map(|record| record["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            kinds,
            [
                "response",
                "agent_start",
                "turn_start",
                "message_start",
                "message_end",
                "message_start",
                "message_end",
                "message_start",
                "message_end",
                "turn_end",
                "agent_end",
                "agent_settled"
            ]
        );
        stage.end().await;
        assert_eq!(
            noted(&log),
            [
                "A session_start startup",
                "A resources_discover startup",
                "A input",
                "A before_agent_start",
                "A agent_start",
                "A turn_start 0",
                "A message_start system",
                "A message_end system",
                "A message_start user",
                "A message_end user",
                "A context",
                "A context_with_system",
                "A before_provider_request",
                "A message_start assistant",
                "A message_end assistant",
                "A turn_end 0",
                "A agent_end",
                "A agent_before_settle completed",
                "A agent_settled false",
                "A session_shutdown quit"
            ]
        );
    });
}

/// Section 1.2 with the request of the real Pi, recorded: its members and the shape of its messages.
#[test]
fn requests_have_the_shape_of_the_real_ones() {
    play(async {
        let calls = ModelReply {
            text: "let me see".into(),
            ..ModelReply::calls(vec![call("c2", "nosuch", json!({"a": 1}))])
        };
        let mut stage = Stage::new(vec![], vec![calls]);
        stage.prompt("hi").await;
        let request = stage.model.requests().pop().unwrap();
        let members: Vec<&String> = request.as_object().unwrap().keys().collect();
        assert_eq!(
            members[..6],
            [
                "model",
                "messages",
                "stream",
                "stream_options",
                "store",
                "max_completion_tokens"
            ]
        );
        assert_eq!(
            request["messages"],
            json!([
                {"role": "system", "content": fake_pi::SYSTEM_PROMPT},
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": "let me see", "tool_calls": [{"id": "c2", "type": "function",
                    "function": {"name": "nosuch", "arguments": "{\"a\":1}"}}]},
                {"role": "tool", "content": "Tool nosuch not found", "tool_call_id": "c2"}
            ])
        );
        stage.end().await;
    });
}

/// Section 1.4, trace 01-batch3: preparation in source order, execution at once, ends as they come, results in order.
#[test]
fn a_batch_is_prepared_in_order_and_run_at_once() {
    play(async {
        let log = Log::default();
        let gate = extension("gate", |pi| {
            let block = sync(|event, _| {
                let blocks = event.get("toolCallId") == Some("c2".into());
                Ok(if blocks {
                    json!({"block": true, "reason": "nope-reason"})
                } else {
                    Value::Null
                })
            });
            pi.on("tool_call", block).map(drop)
        });
        let events = &[
            "tool_execution_start",
            "tool_call",
            "tool_result",
            "tool_execution_end",
            "message_start",
        ];
        let batch = ModelReply::calls(vec![
            call("c1", "mcp__s__a", json!({"x": "1"})),
            call("c2", "mcp__s__b", json!({"x": "2"})),
            call("c3", "mcp__s__c", json!({"x": "3"})),
        ]);
        let mut stage = Stage::new(
            vec![with_server(), recorder(&log, "A", events), gate],
            vec![batch],
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        let lines: Vec<_> = noted(&log)
            .into_iter()
            .filter(|line| line.contains(" c") || line.contains("toolResult"))
            .collect();
        assert_eq!(
            lines,
            [
                "A tool_execution_start c1",
                "A tool_call c1",
                "A tool_execution_start c2",
                "A tool_call c2",
                "A tool_execution_end c2",
                "A tool_execution_start c3",
                "A tool_call c3",
                "A tool_result c3",
                "A tool_execution_end c3",
                "A tool_result c1",
                "A tool_execution_end c1",
                "A message_start toolResult",
                "A message_start toolResult",
                "A message_start toolResult"
            ]
        );
        assert_eq!(
            stage.tool_texts(),
            ["a ok {\"x\":\"1\"}", "nope-reason", "c failed"]
        );
        let ends = stage.of_type("tool_execution_end");
        let durations: Vec<_> = ends.iter().map(|end| end["durationMs"].clone()).collect();
        assert_eq!(
            durations,
            [Value::Null, json!(0), json!(500)],
            "a call that did not run has no duration"
        );
        stage.end().await;
    });
}

/// Section 1.4, trace 15-sequential-batch.
#[test]
fn one_sequential_tool_makes_the_batch_sequential() {
    play(async {
        let log = Log::default();
        let events = &[
            "tool_execution_start",
            "tool_call",
            "tool_result",
            "tool_execution_end",
            "message_end",
        ];
        let batch = vec![
            call("c1", "read", json!({"path": "1"})),
            call("c2", "mcp__s__b", json!({})),
        ];
        let mut stage = Stage::new(
            vec![with_server(), echo(), recorder(&log, "A", events)],
            vec![ModelReply::calls(batch)],
        );
        stage.servers.add("srv", server());
        stage.prompt("hi").await;
        let lines: Vec<_> = noted(&log)
            .into_iter()
            .filter(|line| line.contains(" c") || line.contains("toolResult"))
            .collect();
        let of = |id: &str| {
            let events = [
                "tool_execution_start",
                "tool_call",
                "tool_result",
                "tool_execution_end",
            ];
            let mut lines: Vec<String> = events
                .iter()
                .map(|event| format!("A {event} {id}"))
                .collect();
            lines.push("A message_end toolResult".into());
            lines
        };
        assert_eq!(lines, [of("c1"), of("c2")].concat());
        stage.end().await;
    });
}

/// Section 1.4, trace 17-length-stop.
#[test]
fn no_call_of_a_cut_off_answer_is_run() {
    play(async {
        let log = Log::default();
        let mut cut = ModelReply::calls(vec![call("c1", "read", json!({"path": "x"}))]);
        cut.stop = Stop::Length;
        let mut stage = Stage::new(
            vec![recorder(&log, "A", &["tool_call", "tool_result"])],
            vec![cut],
        );
        stage.prompt("hi").await;
        assert_eq!(
            stage.tool_texts(),
            [
                "Tool call \"read\" was not executed: the response hit the output token limit, so its arguments may be \
              truncated. Re-issue the tool call with complete arguments."
            ]
        );
        assert_eq!(noted(&log), Vec::<String>::new());
        stage.end().await;
    });
}

/// Section 2, trace 02-input-handled; section 1.4: a slow handler of a later call delays the first call.
#[test]
fn a_slow_tool_call_handler_delays_the_whole_batch() {
    play(async {
        let waiter = extension("w", |pi| {
            pi.on("tool_call", slow(300, Value::Null)).map(drop)
        });
        let batch = vec![
            call("c1", "mcp__s__b", json!({})),
            call("c2", "mcp__s__b", json!({})),
        ];
        let mut stage = Stage::new(vec![with_server(), waiter], vec![ModelReply::calls(batch)]);
        stage.servers.add("srv", server());
        let started = tokio::time::Instant::now();
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_end")
            .await;
        // 100 ms until the server is up, 300 ms for each handler.
        assert_eq!(started.elapsed().as_millis(), 700);
        stage
            .until(|record| record["type"] == "agent_settled")
            .await;
        stage.end().await;
    });
}

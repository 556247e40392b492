//! Queued prompts and repeated requests, as pi-host.md 1.5 observed them.

use crate::support::fixtures::{server, with_server};
use crate::support::{Log, Stage, call, extension, noted, play, recorder, sync};
use fake_pi::ModelReply;
use serde_json::{Value, json};

/// Section 1.5, trace 15-steer-followup.
#[test]
fn a_steer_comes_after_the_turn_and_a_follow_up_at_the_end() {
    play(async {
        let log = Log::default();
        let replies = vec![
            ModelReply::calls(vec![call("c1", "mcp__s__a", json!({}))]),
            ModelReply::text("one"),
            ModelReply::text("two"),
        ];
        let mut stage = Stage::new(
            vec![with_server(), recorder(&log, "A", &["input", "turn_start"])],
            replies,
        );
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_start")
            .await;
        let plain = stage
            .ask(json!({"type": "prompt", "message": "plain"}))
            .await;
        assert_eq!(
            plain["error"],
            "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."
        );
        let follow = json!({"type": "prompt", "message": "FU", "streamingBehavior": "followUp"});
        assert_eq!(stage.ask(follow).await["data"]["disposition"], "queued");
        assert_eq!(
            stage
                .ask(json!({"type": "steer", "message": "STEER"}))
                .await["data"]["disposition"],
            "queued"
        );
        stage
            .until(|record| record["type"] == "agent_settled")
            .await;
        assert_eq!(
            stage.model.roles()[2],
            [
                "system",
                "user",
                "assistant",
                "tool",
                "user",
                "assistant",
                "user"
            ]
        );
        assert_eq!(
            noted(&log),
            [
                "A input",
                "A turn_start 0",
                "A input",
                "A input",
                "A input",
                "A turn_start 1",
                "A turn_start 2"
            ]
        );
        let updates: Vec<_> = stage
            .of_type("queue_update")
            .iter()
            .map(|update| [update["steering"].clone(), update["followUp"].clone()])
            .collect();
        assert_eq!(
            json!(updates),
            json!([[[], ["FU"]], [["STEER"], ["FU"]], [[], ["FU"]], [[], []]])
        );
        stage.end().await;
    });
}

/// Section 1.5, trace 15-model-error-retry.
#[test]
fn a_passing_failure_is_repeated_and_left_out() {
    play(async {
        let log = Log::default();
        let replies = vec![
            ModelReply::failure(500, json!({"message": "boom"})),
            ModelReply::text("recovered"),
        ];
        let events = &[
            "before_agent_start",
            "agent_start",
            "turn_start",
            "agent_before_settle",
            "agent_settled",
        ];
        let mut stage = Stage::new(vec![recorder(&log, "A", events)], replies);
        stage.prompt("hi").await;
        assert_eq!(
            noted(&log),
            [
                "A before_agent_start",
                "A agent_start",
                "A turn_start 0",
                "A agent_start",
                "A turn_start 0",
                "A agent_before_settle completed",
                "A agent_settled false"
            ]
        );
        assert_eq!(
            stage.model.roles(),
            [["system", "user"], ["system", "user"]]
        );
        let start = stage.of_type("auto_retry_start").pop().unwrap();
        assert_eq!(
            start,
            json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000,
                "errorMessage": "500: {\"message\":\"boom\"}"})
        );
        let ends: Vec<_> = stage
            .of_type("agent_end")
            .iter()
            .map(|end| end["willRetry"].clone())
            .collect();
        assert_eq!(ends, [true, false]);
        stage.end().await;
    });
}

/// Trace 07-custom-messages: steers are delivered one per turn, and a change of tools is told before them.
#[test]
fn steers_are_delivered_one_per_turn_behind_what_changed() {
    play(async {
        let registrant = extension("r", |pi| {
            let own = pi.clone();
            pi.on(
                "tool_call",
                sync(move |_, _| {
                    own.register_tool(std::sync::Arc::new(crate::support::fixtures::Echo))?;
                    own.set_active_tools(&["bash".to_owned(), "mcp__s__a".to_owned()])?;
                    Ok(Value::Null)
                }),
            )
            .map(drop)
        });
        let replies = vec![ModelReply::calls(vec![call("c1", "mcp__s__a", json!({}))])];
        let mut stage = Stage::new(vec![with_server(), registrant], replies);
        stage.servers.add("srv", server());
        stage.send(json!({"type": "prompt", "message": "hi"}));
        stage
            .until(|record| record["type"] == "tool_execution_start")
            .await;
        for text in ["one", "two"] {
            stage.ask(json!({"type": "steer", "message": text})).await;
        }
        stage
            .until(|record| record["type"] == "agent_settled")
            .await;
        assert_eq!(
            stage.model.roles()[1..],
            [
                vec!["system", "user", "assistant", "tool", "user"],
                vec![
                    "system",
                    "user",
                    "assistant",
                    "tool",
                    "user",
                    "assistant",
                    "user"
                ],
            ]
        );
        assert_eq!(stage.model.tools()[1], ["bash", "mcp__s__a"]);
        let messages = stage.ask(json!({"type": "get_messages"})).await["data"]["messages"].clone();
        assert_eq!(
            crate::support::words(&messages, "role"),
            [
                "system",
                "user",
                "assistant",
                "toolResult",
                "system",
                "user",
                "assistant",
                "user",
                "assistant"
            ]
        );
        stage.end().await;
    });
}

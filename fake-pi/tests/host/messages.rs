//! Custom messages, as pi-host.md 7 observed them.

use crate::support::{Log, Stage, extension, note, noted, play, sync};
use fake_pi::{Delivery, Thrown};
use serde_json::{Value, json};

/// Sections 1.2 and 7, trace 07-custom-messages.
#[test]
fn messages_of_before_agent_start_stay_in_the_history() {
    play(async {
        let brief = extension("b", |pi| {
            pi.on("before_agent_start", sync(|_, _| {
                Ok(json!({"message": {"customType": "brief", "content": "B", "display": false, "details": {"n": 1}}}))
            }))?;
            pi.on(
                "before_agent_start",
                sync(|_, _| Ok(json!({"message": {"customType": "empty"}}))),
            )
            .map(drop)
        });
        let mut stage = Stage::new(vec![brief], vec![]);
        stage.prompt("one").await;
        stage.prompt("two").await;
        assert_eq!(
            stage.model.roles()[1],
            ["system", "user", "user", "assistant", "user", "user"],
            "the empty message is recorded but not sent"
        );
        let request = stage.model.requests().pop().unwrap();
        assert_eq!(
            request["messages"][2]["content"],
            json!([{"type": "text", "text": "B"}])
        );
        let entries = stage.ask(json!({"type": "get_entries"})).await["data"]["entries"].clone();
        let custom: Vec<&Value> = entries
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| entry["type"] == "custom_message")
            .collect();
        assert_eq!(custom.len(), 4);
        assert_eq!(custom[0]["details"], json!({"n": 1}));
        assert_eq!(custom[1]["content"], json!([]));
        stage.ask(json!({"type": "new_session"})).await;
        stage.prompt("three").await;
        assert_eq!(stage.model.roles()[2], ["system", "user", "user"]);
        stage.end().await;
    });
}

/// Section 7: what `sendMessage` does while idle, and what starts a run.
#[test]
fn send_message_appends_or_starts_a_run() {
    play(async {
        let log = Log::default();
        let seen = log.clone();
        let sender = extension("s", move |pi| {
            let seen = seen.clone();
            pi.on(
                "before_agent_start",
                sync(move |event, _| {
                    note(
                        &seen,
                        format!(
                            "{} {:?}",
                            event.get("messageType").unwrap(),
                            event.get("prompt")
                        ),
                    );
                    Ok(Value::Null)
                }),
            )?;
            let own = pi.clone();
            let handler = std::sync::Arc::new(move |args: String, _| {
                let message = json!({"customType": "x", "content": args});
                let outcome = match args.as_str() {
                    "run" => own.send_message(&message, None, Some(true)),
                    "next" => own.send_message(&message, Some(Delivery::NextTurn), None),
                    _ => own.send_message(&message, None, None),
                };
                Box::pin(async move { outcome })
                    as futures::future::BoxFuture<'static, Result<(), Thrown>>
            });
            pi.register_command(
                "say",
                fake_pi::Command {
                    description: None,
                    handler,
                },
            )
        });
        let mut stage = Stage::new(vec![sender], vec![]);
        for word in ["/say quiet", "/say next"] {
            let response = stage.ask(json!({"type": "prompt", "message": word})).await;
            assert_eq!(response["data"]["disposition"], "handled");
        }
        assert_eq!(stage.model.requests().len(), 0);
        stage
            .ask(json!({"type": "prompt", "message": "/say run"}))
            .await;
        stage
            .until(|record| record["type"] == "agent_settled")
            .await;
        let texts = |request: &Value| {
            let messages = request["messages"].as_array().unwrap();
            messages
                .iter()
                .skip(1)
                .map(|message| message["content"][0]["text"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(&stage.model.requests()[0]), ["quiet", "run", "next"]);
        assert_eq!(noted(&log), ["\"custom\" None"]);
        stage.end().await;
    });
}

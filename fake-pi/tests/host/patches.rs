//! What handlers may do to a result, as pi-host.md 8 observed it.

use crate::support::fixtures::echo;
use crate::support::{Log, Stage, call, extension, note, noted, play, sync};
use fake_pi::ModelReply;
use serde_json::{Value, json};

/// Section 8, trace 08-tool-result-patches.
#[test]
fn patches_of_a_result_follow_pis_rules() {
    // What a handler returns; then content text, details, isError of the message, structured content of the event.
    let text = "{\"path\":\"x\"}";
    let own = json!({"own": 1});
    let cases: Vec<(Value, &str, Value, bool, Option<Value>)> = vec![
        (json!({}), text, own.clone(), false, Some(json!({"s": 1}))),
        (Value::Null, text, own.clone(), false, Some(json!({"s": 1}))),
        (json!(5), text, own.clone(), false, Some(json!({"s": 1}))),
        (
            json!({"content": [{"type": "text", "text": "new"}]}),
            "new",
            own.clone(),
            false,
            None,
        ),
        (
            json!({"details": {"d": 2}}),
            text,
            json!({"d": 2}),
            false,
            Some(json!({"s": 1})),
        ),
        (
            json!({"details": null}),
            text,
            own.clone(),
            false,
            Some(json!({"s": 1})),
        ),
        (
            json!({"isError": true}),
            text,
            own.clone(),
            true,
            Some(json!({"s": 1})),
        ),
        (json!({"content": null}), text, own.clone(), false, None),
        (
            json!({"structuredContent": 9}),
            text,
            own.clone(),
            false,
            Some(json!(9)),
        ),
        (json!({"content": []}), "(no tool output)", own, false, None),
        (
            json!({"content": "str"}),
            "content.some is not a function",
            json!({}),
            true,
            None,
        ),
    ];
    for (patch, content, details, is_error, structured) in cases {
        play(async {
            let returned = patch.clone();
            let patcher = extension("p", move |pi| {
                let returned = returned.clone();
                pi.on("tool_result", sync(move |_, _| Ok(returned.clone())))
                    .map(drop)
            });
            let replies = vec![ModelReply::calls(vec![call(
                "c1",
                "read",
                json!({"path": "x"}),
            )])];
            let mut stage = Stage::new(vec![echo(), patcher], replies);
            stage.prompt("hi").await;
            assert_eq!(stage.tool_texts(), [content], "{patch}");
            let end = stage.of_type("tool_execution_end").pop().unwrap();
            assert_eq!(
                end["result"].get("structuredContent"),
                structured.as_ref(),
                "{patch}"
            );
            let ends = stage.of_type("message_end");
            let message = ends
                .iter()
                .find(|end| end["message"]["role"] == "toolResult")
                .unwrap()["message"]
                .clone();
            assert_eq!(
                (&message["details"], &message["isError"]),
                (&details, &json!(is_error)),
                "{patch}"
            );
            stage.end().await;
        });
    }
}

/// Section 8: what is changed in place takes effect, what is assigned is only seen by later handlers.
#[test]
fn a_result_changed_in_place_counts_and_an_assigned_one_does_not() {
    play(async {
        let log = Log::default();
        let seen = log.clone();
        let patcher = extension("p", move |pi| {
            let seen = seen.clone();
            pi.on(
                "tool_result",
                sync(|event, _| {
                    event.edit("content", |content| {
                        content
                            .as_array_mut()
                            .unwrap()
                            .push(json!({"type": "text", "text": "pushed"}));
                    });
                    event.set("content", json!([{"type": "text", "text": "assigned"}]));
                    Ok(Value::Null)
                }),
            )?;
            let look = sync(move |event, _| {
                note(
                    &seen,
                    event.get("content").unwrap()[0]["text"].as_str().unwrap(),
                );
                Ok(Value::Null)
            });
            pi.on("tool_result", look).map(drop)
        });
        let replies = vec![ModelReply::calls(vec![call(
            "c1",
            "read",
            json!({"path": "x"}),
        )])];
        let mut stage = Stage::new(vec![echo(), patcher], replies);
        stage.prompt("hi").await;
        assert_eq!(noted(&log), ["assigned"]);
        assert_eq!(stage.tool_texts(), ["{\"path\":\"x\"}\npushed"]);
        let end = stage.of_type("tool_execution_end").pop().unwrap();
        assert_eq!(end["result"]["structuredContent"], json!({"s": 1}));
        stage.end().await;
    });
}

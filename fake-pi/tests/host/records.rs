//! The records of RPC mode have the members of the real ones, in their order.
//!
//! The lists were recorded from Pi 1.6.0 with the same script; left out are `message_update` and the members that the
//! provider's endpoint decides (`responseId`, `responseModel`).

use crate::support::{Stage, call, play};
use fake_pi::{Arguments, ModelReply, ToolCall};
use serde_json::{Value, json};

/// One line a record: its members, after a bar those of its message or result.
const RECORDED: &str = "\
id,type,command,success,data\n\
type\n\
type\n\
type,message | role,content,sections,timestamp,toolsAdded\n\
type,message | role,content,sections,timestamp,toolsAdded\n\
type,message | role,content,timestamp\n\
type,message | role,content,timestamp\n\
type,message | role,content,api,provider,model,usage,stopReason,timestamp\n\
type,message | role,content,api,provider,model,usage,stopReason,timestamp,rawStopReason,durationMs,thinkingLevel\n\
type,toolCallId,toolName,args\n\
type,toolCallId,toolName,args\n\
type,toolCallId,toolName,result,isError | content,details\n\
type,toolCallId,toolName,args\n\
type,toolCallId,toolName,result,isError | content,details\n\
type,toolCallId,toolName,args\n\
type,toolCallId,toolName,result,isError | content,details\n\
type,toolCallId,toolName,result,isError,durationMs | content\n\
type,message | role,toolCallId,toolName,content,isError,durationMs,timestamp\n\
type,message | role,toolCallId,toolName,content,isError,durationMs,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message | role,toolCallId,toolName,content,details,isError,timestamp\n\
type,message,toolResults | role,content,api,provider,model,usage,stopReason,timestamp,rawStopReason,durationMs,thinkingLevel\n\
type\n\
type,message | role,content,api,provider,model,usage,stopReason,timestamp\n\
type,message | role,content,api,provider,model,usage,stopReason,timestamp,rawStopReason,durationMs,thinkingLevel\n\
type,message,toolResults | role,content,api,provider,model,usage,stopReason,timestamp,rawStopReason,durationMs,thinkingLevel\n\
type,messages,willRetry\n\
type,aborted";

fn members(value: &Value) -> String {
    let names = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str());
    names.collect::<Vec<_>>().join(",")
}

/// Pi's RPC documentation, and a run of the real one: a batch of a good call, an unknown tool, missing and broken
/// arguments.
#[test]
fn records_have_the_members_of_the_real_ones() {
    play(async {
        let broken = Arguments::Raw("{\"path\": 5".into());
        let calls = vec![
            call("c1", "write", json!({"path": "new", "content": "y"})),
            call("c2", "nosuch", json!({"a": 1})),
            call("c3", "write", json!({"path": "x"})),
            ToolCall {
                id: "c4".into(),
                name: "read".into(),
                arguments: broken,
            },
        ];
        let replies = vec![
            ModelReply {
                text: "let me see".into(),
                ..ModelReply::calls(calls)
            },
            ModelReply::text("done"),
        ];
        let mut stage = Stage::new(vec![], replies);
        stage.prompt("hi").await;
        let lines: Vec<String> = stage
            .seen
            .iter()
            .map(|record| {
                let mut line = members(record);
                for inner in ["message", "result"] {
                    if let Some(inner) = record.get(inner) {
                        line = format!("{line} | {}", members(inner));
                    }
                }
                line
            })
            .collect();
        assert_eq!(lines, RECORDED.lines().collect::<Vec<_>>());
        stage.end().await;
    });
}

/// What a client asks between runs.
#[test]
fn questions_between_runs_are_answered_as_by_the_real_one() {
    play(async {
        let mut stage = Stage::new(vec![], vec![]);
        stage.prompt("hi").await;
        let state = stage.ask(json!({"type": "get_state"})).await;
        assert_eq!(members(&state), "id,type,command,success,data");
        assert_eq!(
            members(&state["data"]),
            "model,thinkingLevel,isStreaming,isCompacting,steeringMode,followUpMode,sessionId,autoCompactionEnabled,\
             messageCount,pendingMessageCount"
        );
        let entries = stage.ask(json!({"type": "get_entries"})).await["data"].clone();
        assert_eq!(members(&entries), "entries,leafId");
        let kinds = crate::support::words(&entries["entries"], "type");
        assert_eq!(
            kinds,
            [
                "model_change",
                "thinking_level_change",
                "message",
                "message",
                "message"
            ]
        );
        let since = json!({"type": "get_entries", "since": entries["entries"][3]["id"]});
        let rest = stage.ask(since).await["data"]["entries"].clone();
        assert_eq!(
            crate::support::words(&rest, "id"),
            [entries["leafId"].as_str().unwrap()]
        );
        let unknown = stage
            .ask(json!({"type": "get_entries", "since": "none"}))
            .await;
        assert_eq!(unknown["error"], "Entry not found: none");
        let unknown = stage.ask(json!({"type": "bogus"})).await;
        assert_eq!(
            (&unknown["success"], &unknown["error"]),
            (&json!(false), &json!("Unknown command: bogus"))
        );
        stage.end().await;
    });
}

/// Two hosts with one script print the same records, ids and times included.
#[test]
fn a_scene_repeats_to_the_letter() {
    let run = || {
        let mut seen = Vec::new();
        play(async {
            let calls = vec![
                call("c1", "mcp__s__a", json!({})),
                call("c2", "mcp__s__b", json!({})),
            ];
            let mut stage = Stage::with(
                vec![crate::support::fixtures::with_server()],
                vec![ModelReply::calls(calls)],
                |options| {
                    options.cwd = "/project".into();
                },
            );
            stage.servers.add("srv", crate::support::fixtures::server());
            stage.prompt("hi").await;
            stage.ask(json!({"type": "get_entries"})).await;
            seen = stage.seen.clone();
            stage.end().await;
        });
        seen
    };
    assert_eq!(run(), run());
}

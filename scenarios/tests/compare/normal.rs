//! Of the records that are listed here the normal form leaves out exactly what is listed with each: every other leaf,
//! changed or taken away, changes it. What is left out within a text (a wall time, Pi's sentences around a summary) and of
//! compactions is not among them.

use scenarios::trace::normal;
use serde_json::{Value, json};

use crate::changes::inner;

/// A kind of record, and what is left out of it. A path may have `*` for a place in a list. Of one that begins with `=`
/// only the value is left out: that there is one is kept.
struct Kind {
    what: &'static str,
    record: Value,
    normal: fn(&Value) -> Value,
    left_out: &'static [&'static str],
}

fn rpc(record: &Value) -> Value {
    json!(normal::rpc_record(record))
}

fn history(entries: &Value) -> Value {
    normal::history(entries.as_array().expect("a list"), &json!("b"))
}

/// Of a message that a provider gave, its bookkeeping.
const OF_ANSWERS: &[&str] = &[
    "message/timestamp",
    "message/api",
    "message/provider",
    "message/model",
    "message/usage/input",
    "message/responseId",
    "message/rawStopReason",
    "message/thinkingLevel",
    "message/durationMs",
];

fn kinds() -> Vec<Kind> {
    vec![
        Kind {
            what: "an answer",
            record: json!({"type": "message_end", "message": {
                "role": "assistant", "stopReason": "toolUse", "errorMessage": "e", "timestamp": 1, "api": "a",
                "provider": "p", "model": "m", "usage": {"input": 1}, "responseId": "r", "rawStopReason": "s",
                "thinkingLevel": "off", "durationMs": 5,
                "content": [{"type": "text", "text": "t"},
                    {"type": "toolCall", "id": "c", "name": "n", "arguments": {"path": "x", "timestamp": 2, "model": "y"}}]}}),
            normal: rpc,
            left_out: OF_ANSWERS,
        },
        Kind {
            what: "a result",
            record: json!({"type": "message_start", "message": {
                "role": "toolResult", "toolCallId": "c", "toolName": "n", "isError": false, "timestamp": 1,
                "durationMs": 5, "content": [{"type": "text", "text": "t"}],
                "details": {"diff": "d", "durationMs": 1, "timestamp": 2}}}),
            normal: rpc,
            left_out: &["message/timestamp", "=message/durationMs"],
        },
        Kind {
            what: "a system message",
            record: json!({"type": "message_end", "message": {
                "role": "system", "content": "", "timestamp": 1, "sections": {"docs": "text of Pi"},
                "toolsRemoved": [{"name": "r"}],
                "toolsAdded": [
                    {"name": "read", "description": "text of Pi", "parameters": {"type": "object",
                        "properties": {"path": {"type": "string", "description": "text of Pi"}}},
                        "constrainedSampling": {"strict": "prefer", "variants": {"one": "a grammar"}}},
                    {"name": "mcp__gortex__read", "description": "the daemon's", "parameters": {"type": "object",
                        "properties": {"path": {"description": "the daemon's"}}}}]}}),
            normal: rpc,
            left_out: &[
                "message/timestamp",
                "=message/sections/docs",
                "message/toolsAdded/0/description",
                "message/toolsAdded/0/parameters/properties/path/description",
                "=message/toolsAdded/0/constrainedSampling/variants/one",
            ],
        },
        Kind {
            what: "the end of a call",
            record: json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "n", "isError": true,
                "parentToolCallId": "p", "durationMs": 3, "result": {"content": [{"type": "text", "text": "t"}],
                    "details": {"durationMs": 4}, "structuredContent": {"timestamp": 5}, "terminate": true}}),
            normal: rpc,
            left_out: &["=durationMs"],
        },
        Kind {
            what: "the end of a turn",
            // The messages themselves were compared when each of them ended.
            record: json!({"type": "turn_end", "message": {"stopReason": "stop", "content": [{"text": "t"}]},
                "toolResults": [{"toolCallId": "c", "content": [{"text": "t"}]}], "another": 1}),
            normal: rpc,
            left_out: &["message/content/*/text", "toolResults/*/content/*/text"],
        },
        Kind {
            what: "the end of a run",
            record: json!({"type": "agent_end", "willRetry": false, "messages": [{"role": "user", "content": "t"}]}),
            normal: rpc,
            left_out: &["messages/*/content"],
        },
        Kind {
            what: "a run that settled",
            record: json!({"type": "agent_settled", "aborted": true}),
            normal: rpc,
            left_out: &[],
        },
        Kind {
            what: "the answer to a prompt",
            record: json!({"type": "response", "id": "1", "command": "prompt", "success": true, "error": "e",
                "data": {"disposition": "started"}}),
            normal: rpc,
            left_out: &[],
        },
        Kind {
            what: "the answer to a query",
            record: json!({"type": "response", "command": "get_state", "success": true, "data": {"is": "the reader's"}}),
            normal: rpc,
            left_out: &["data/is"],
        },
        Kind {
            what: "a notice",
            record: json!({"type": "extension_ui_request", "id": "u", "method": "notify", "message": "m",
                "notifyType": "info"}),
            normal: rpc,
            left_out: &["id"],
        },
        Kind {
            what: "an extension's error",
            record: json!({"type": "extension_error", "extensionPath": "p", "event": "e", "error": "x"}),
            normal: rpc,
            left_out: &[],
        },
        Kind {
            what: "a session's history",
            record: json!([
                {"type": "model_change", "id": "a", "parentId": null, "timestamp": "t", "modelId": "m"},
                {"type": "custom_message", "id": "b", "parentId": "a", "timestamp": "t", "content": "c",
                    "customType": "x", "display": false, "details": {"timestamp": 1}}]),
            normal: history,
            // A parent is named by its place, and none is like one that is not there.
            left_out: &["*/timestamp", "0/parentId"],
        },
        Kind {
            what: "a request",
            record: json!({"model": "m", "stream": true, "messages": [
                {"role": "system", "content": "text of Pi"},
                {"role": "user", "content": [{"type": "text", "text": "t"}]},
                {"role": "tool", "tool_call_id": "c", "content": "r"}],
                "tools": [{"type": "function", "function": {"name": "read", "description": "text of Pi",
                    "parameters": {"type": "object"}}}]}),
            normal: normal::model_request,
            left_out: &[
                "messages/0/content",
                "tools/0/type",
                "tools/0/function/description",
            ],
        },
    ]
}

#[test]
fn every_leaf_that_is_not_listed_counts_and_every_listed_one_does_not() {
    for kind in kinds() {
        let plain = (kind.normal)(&kind.record);
        let mut used = vec![false; kind.left_out.len()];
        for way in leaves(&kind.record) {
            let path = way.join("/");
            let find = |path: &str| kind.left_out.iter().position(|known| fits(known, path));
            let (whole, value) = (find(&path), find(&format!("={path}")));
            for index in [whole, value].into_iter().flatten() {
                used[index] = true;
            }
            let counts = |record: Value| (kind.normal)(&record) != plain;
            let changed = counts(edited(&kind.record, &way, false));
            let gone = counts(edited(&kind.record, &way, true));
            let what = kind.what;
            let expected = (whole.is_none() && value.is_none(), whole.is_none());
            assert_eq!(
                (changed, gone),
                expected,
                "{what}: {path}, changed and gone"
            );
        }
        assert!(
            used.iter().all(|&used| used),
            "{}: a path that is not there",
            kind.what
        );
    }
}

#[test]
fn only_the_pieces_of_an_answer_are_no_event() {
    let pieces = json!({"type": "message_update", "message": {"role": "assistant"}});
    assert_eq!(normal::rpc_record(&pieces), None);
    assert!(normal::rpc_record(&json!({"type": "something_new"})).is_some());
}

fn fits(known: &str, path: &str) -> bool {
    let (mut one, mut other) = (known.split('/'), path.split('/'));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(known), Some(name)) => {
                let place = known == "*" && name.bytes().all(|byte| byte.is_ascii_digit());
                if !place && known != name {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// The ways to all values that hold no others.
fn leaves(value: &Value) -> Vec<Vec<String>> {
    if !value.is_array() && !value.is_object() {
        return vec![Vec::new()];
    }
    let deeper = |(name, item): (String, &Value)| -> Vec<Vec<String>> {
        let behind = |way: Vec<String>| [vec![name.clone()], way].concat();
        leaves(item).into_iter().map(behind).collect()
    };
    inner(value).into_iter().flat_map(deeper).collect()
}

/// The record with another value at the end of the way, or without it.
fn edited(record: &Value, way: &[String], gone: bool) -> Value {
    let mut record = record.clone();
    let (name, inner) = way.split_last().expect("a way into a record");
    let parent = inner.iter().fold(&mut record, |at, name| match at {
        Value::Array(items) => &mut items[name.parse::<usize>().expect("a place")],
        other => &mut other[name.as_str()],
    });
    let parent = parent.as_object_mut().expect("leaves are members");
    if gone {
        parent.remove(name);
    } else {
        let other = match &parent[name] {
            Value::Bool(is) => json!(!is),
            Value::Number(number) => json!(number.as_f64().unwrap_or_default() + 1.0),
            Value::String(text) => json!(format!("{text}x")),
            _ => json!("x"),
        };
        parent.insert(name.clone(), other);
    }
    record
}

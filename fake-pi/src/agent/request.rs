//! The body of a request: Pi's messages as its chat-completions provider writes them.

use serde_json::{Value, json};

use super::system;
use crate::host::MAX_OUTPUT;
use crate::registry::tools;

/// What a model without eyes reads instead of a person's image, and of a tool's.
const NO_USER_IMAGE: &str = "(image omitted: model does not support images)";
const NO_TOOL_IMAGE: &str = "(tool image omitted: model does not support images)";

/// Stand for the sentences with which Pi introduces a summary to the model.
const COMPACTED: &str = "<a compacted conversation>";
const BRANCH: &str = "<a branch that was left>";

fn framed(introduction: &str, message: &Value, end: &str) -> Value {
    let summary = message["summary"].as_str().unwrap_or_default();
    json!([{"type": "text", "text": format!("{introduction}\n\n<summary>\n{summary}{end}")}])
}

/// A message in the roles that a model knows: custom messages and summaries become the user's (pi-host.md 7).
pub(crate) fn to_llm(message: &Value) -> Value {
    let content = match message["role"].as_str() {
        Some("bashExecution") => json!([{"type": "text", "text": told_command(message)}]),
        Some("custom") => match &message["content"] {
            Value::String(text) => json!([{"type": "text", "text": text}]),
            content => content.clone(),
        },
        Some("compactionSummary") => framed(COMPACTED, message, "\n</summary>"),
        Some("branchSummary") => framed(BRANCH, message, "</summary>"),
        _ => return message.clone(),
    };
    json!({"role": "user", "content": content, "timestamp": message["timestamp"]})
}

/// What the model reads of a command that the person ran.
fn told_command(message: &Value) -> String {
    let command = message["command"].as_str().unwrap_or_default();
    let output = match message["output"].as_str().unwrap_or_default() {
        "" => "(no output)".to_owned(),
        output => format!("```\n{output}\n```"),
    };
    let end = match &message["exitCode"] {
        _ if message["cancelled"] == true => "\n\n(command cancelled)".to_owned(),
        Value::Null => String::new(),
        code if code == 0 => String::new(),
        code => format!("\n\nCommand exited with code {code}"),
    };
    format!("Ran `{command}`\n{output}{end}")
}

/// Builds the body for these messages.
pub(crate) fn body(model: &str, messages: &[Value]) -> Value {
    let messages: Vec<Value> = messages.iter().map(to_llm).collect();
    let mut body = json!({
        "model": model, "messages": written(&messages), "stream": true, "stream_options": {"include_usage": true},
        "store": false, "max_completion_tokens": MAX_OUTPUT
    });
    let declared = tools::declared(&messages);
    if !declared.is_empty() {
        let function = |tool: &Value| {
            json!({"type": "function", "function": {"name": tool["name"], "description": tool["description"],
                "parameters": tool["parameters"]}})
        };
        body["tools"] = declared.iter().map(function).collect();
    }
    body
}

/// The messages in the provider's form.
fn written(messages: &[Value]) -> Vec<Value> {
    let mut out = Vec::new();
    if let Some(head) = system::current(messages) {
        let parts = [
            head["content"].as_str().unwrap_or_default().to_owned(),
            system::text(&head["sections"]),
        ];
        let text = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("\n\n");
        if !text.is_empty() {
            out.push(json!({"role": "system", "content": text}));
        }
    }
    for message in answered(messages) {
        match message["role"].as_str() {
            Some("user") => out.extend(user(&message)),
            Some("assistant") => out.extend(assistant(&message)),
            Some("toolResult") => out.push(tool(&message)),
            _ => {}
        }
    }
    out
}

/// The conversation without failed answers, and with a result for every call: an interrupted one gets a stand-in.
fn answered(messages: &[Value]) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut open: Vec<Value> = Vec::new();
    let close = |open: &mut Vec<Value>, out: &mut Vec<Value>| {
        for call in open.drain(..) {
            out.push(
                json!({"role": "toolResult", "toolCallId": call["id"], "toolName": call["name"],
                "content": [{"type": "text", "text": "No result provided"}], "isError": true}),
            );
        }
    };
    for message in messages {
        match message["role"].as_str() {
            Some("assistant") => {
                close(&mut open, &mut out);
                if message["stopReason"] == "error" || message["stopReason"] == "aborted" {
                    continue;
                }
                let calls = message["content"].as_array().into_iter().flatten();
                open.extend(calls.filter(|part| part["type"] == "toolCall").cloned());
            }
            Some("toolResult") => open.retain(|call| call["id"] != message["toolCallId"]),
            Some("user") => close(&mut open, &mut out),
            _ => continue,
        }
        out.push(message.clone());
    }
    close(&mut open, &mut out);
    out
}

fn user(message: &Value) -> Option<Value> {
    if let Value::String(text) = &message["content"] {
        return Some(json!({"role": "user", "content": text}));
    }
    let parts = parts(&message["content"], NO_USER_IMAGE);
    let written: Vec<Value> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .filter(|text| !text.is_empty())
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    (!written.is_empty()).then(|| json!({"role": "user", "content": written}))
}

fn assistant(message: &Value) -> Option<Value> {
    let parts: Vec<&Value> = message["content"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let text: String = parts
        .iter()
        .filter(|part| part["type"] == "text")
        .filter_map(|part| part["text"].as_str())
        .filter(|text| !text.trim().is_empty())
        .collect();
    let calls: Vec<Value> = parts
        .iter()
        .filter(|part| part["type"] == "toolCall")
        .map(|call| {
            json!({"id": call["id"], "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"].to_string()}})
        })
        .collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut written = json!({"role": "assistant", "content": if text.is_empty() { Value::Null } else { text.into() }});
    if !calls.is_empty() {
        written["tool_calls"] = Value::Array(calls);
    }
    Some(written)
}

fn tool(message: &Value) -> Value {
    let parts = parts(&message["content"], NO_TOOL_IMAGE);
    let text = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    let shown = if text.trim().is_empty() {
        "(no tool output)"
    } else {
        text.as_str()
    };
    json!({"role": "tool", "content": shown, "tool_call_id": message["toolCallId"]})
}

/// The parts of a content with a stand-in for each row of images; the modelled model has no eyes.
fn parts(content: &Value, stand_in: &str) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut after_image = false;
    for part in content.as_array().into_iter().flatten() {
        let is_image = part["type"] == "image";
        if !is_image {
            out.push(part.clone());
        } else if !after_image {
            out.push(json!({"type": "text", "text": stand_in}));
        }
        after_image = is_image || part["text"] == stand_in;
    }
    out
}

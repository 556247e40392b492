//! Checks 2 and 7: every call has one result, and what the model reads of it is the tool's own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Failure;
use super::failures::{call, text_of};
use crate::trace::{Event, Lane, Trace};

/// Check 2: every call that the model made ended once and gave one message to the model.
pub fn one_result_each(trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "2 one result a call";
    let made = trace
        .named(Lane::Model, "answer")
        .flat_map(|event| event.payload["calls"].as_array().into_iter().flatten())
        .filter_map(|call| call["id"].as_str());
    let mut failures = Vec::new();
    for id in made {
        let ended = trace
            .named(Lane::Host, "tool_execution_end")
            .filter(|event| call(event) == Some(id))
            .count();
        let messages = trace
            .named(Lane::Host, "message_end")
            .filter(|event| {
                event.payload["message"]["role"] == "toolResult"
                    && event.payload["message"]["toolCallId"] == id
            })
            .count();
        if ended != 1 {
            failures.push(Failure::new(
                CHECK,
                format!("call {id} ended {ended} times"),
            ));
        }
        if messages != 1 {
            failures.push(Failure::new(
                CHECK,
                format!("call {id} gave {messages} result messages"),
            ));
        }
    }
    failures
}

/// Check 7: the text of a graph tool's result is what the daemon sent, plus guidance that the hook gave for that call.
pub fn texts_are_the_tools_own(trace: &Trace) -> Vec<Failure> {
    let sent = sent_texts(trace);
    let guidance = guidance(trace);
    let mut failures = Vec::new();
    for event in trace.named(Lane::Host, "message_end") {
        let message = &event.payload["message"];
        let (Some(id), Some(tool)) = (message["toolCallId"].as_str(), message["toolName"].as_str())
        else {
            continue;
        };
        if !tool.starts_with("mcp__gortex__") {
            continue;
        }
        let read = text_of(message);
        let Some(own) = sent
            .iter()
            .find(|own| !own.is_empty() && read.starts_with(own.as_str()))
        else {
            continue;
        };
        let rest = read[own.len()..].trim();
        let allowed = guidance.get(id).map_or("", |text| text.trim());
        if !rest.is_empty() && (allowed.is_empty() || !rest.contains(allowed)) {
            let what = format!(
                "the model reads {rest:?} with the result of call {id}, which neither tool nor hook said"
            );
            failures.push(Failure::new("7 texts are the tool's own", what).at(trace, event));
        }
    }
    failures
}

/// The texts that the daemon sent, the longest first, so that one text that begins another does not hide it.
fn sent_texts(trace: &Trace) -> Vec<String> {
    let mut texts: Vec<String> = trace
        .named(Lane::Mcp, "send")
        .filter_map(|event| event.payload["text"].as_str().map(str::to_owned))
        .collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts
}

/// What the hook said about each call, by the call's id.
fn guidance(trace: &Trace) -> BTreeMap<String, String> {
    let mut asked: Option<&Event> = None;
    let mut found = BTreeMap::new();
    for event in trace.lane(Lane::Hook) {
        match (event.event.as_str(), asked) {
            ("ask", _) => asked = Some(event),
            ("answer", Some(ask)) => {
                let decision: Value = event.payload["stdout"]
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default();
                let id = ask
                    .cause
                    .as_deref()
                    .and_then(|cause| cause.strip_prefix("call "));
                if let (Some(id), Some(text)) = (id, decision["additional_context"].as_str()) {
                    found.insert(id.to_owned(), text.to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

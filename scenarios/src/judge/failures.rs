//! Checks 1 and 5: no handler failed, and no failure of the hook reached a call.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Failure;
use crate::trace::{Event, Lane, Trace};

/// Pi's text for a call whose `tool_call` handler threw something that is no error (pi-host.md 2).
const THREW: &str = "Extension failed, blocking execution:";

/// Check 1: no handler of ours threw or rejected.
pub fn no_handler_failed(trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "1 no handler failed";
    let reported = trace
        .named(Lane::Host, "extension_error")
        .filter(|event| is_ours(&event.payload["extensionPath"]));
    let threw = trace
        .named(Lane::Host, "tool_execution_end")
        .filter(|event| text_of(&event.payload["result"]).starts_with(THREW));
    let reported = reported.map(|event| {
        let what = format!(
            "{} threw: {}",
            event.payload["event"], event.payload["error"]
        );
        Failure::new(CHECK, what).at(trace, event)
    });
    let threw =
        threw.map(|event| Failure::new(CHECK, text_of(&event.payload["result"])).at(trace, event));
    reported.chain(threw).collect()
}

fn is_ours(path: &Value) -> bool {
    // Other extensions of a case are files of its own; the recorders too, and they must not fail either.
    path.as_str()
        .is_none_or(|path| path.contains("record-") || !path.contains("<case>"))
}

/// Check 5: a call for which the hook gave no valid decision ran, and its result is the tool's own.
pub fn no_hook_failure_changed_a_call(trace: &Trace) -> Vec<Failure> {
    let ran: BTreeSet<&str> = trace
        .named(Lane::Extension, "tool_result")
        .filter_map(call)
        .collect();
    let answers: Vec<&Event> = trace.named(Lane::Hook, "answer").collect();
    let asks = trace
        .named(Lane::Hook, "ask")
        .filter(|event| event.payload["envelope"]["event"] == "tool_call");
    let mut failures = Vec::new();
    for ask in asks {
        let Some(id) = ask
            .cause
            .as_deref()
            .and_then(|cause| cause.strip_prefix("call "))
        else {
            continue;
        };
        let answer = next_after(trace, ask, &answers);
        if answer.is_some_and(is_decision) || ran.contains(id) || stopped_otherwise(trace, id) {
            continue;
        }
        let what = format!("the hook failed on call {id}, and the call did not run");
        failures.push(Failure::new("5 no hook failure changed a call", what).at(trace, ask));
    }
    failures
}

/// Whether a printed answer is one that counts: exit code 0 and one JSON object.
fn is_decision(answer: &Event) -> bool {
    let stdout = answer.payload["stdout"].as_str().unwrap_or_default();
    answer.payload["exit"] == 0
        && serde_json::from_str::<Value>(stdout).is_ok_and(|decision| decision.is_object())
}

/// A call that another extension, the person or Pi itself stopped.
fn stopped_otherwise(trace: &Trace, id: &str) -> bool {
    let aborted = trace
        .named(Lane::Person, "send")
        .any(|event| event.payload["type"] != "prompt");
    let known = trace
        .named(Lane::Host, "tool_execution_end")
        .any(|event| call(event) == Some(id));
    aborted || !known
}

fn next_after<'a>(trace: &Trace, ask: &Event, answers: &[&'a Event]) -> Option<&'a Event> {
    let place = |event: &Event| {
        trace
            .events
            .iter()
            .position(|other| std::ptr::eq(other, event))
    };
    answers
        .iter()
        .find(|answer| place(answer) > place(ask))
        .copied()
}

/// The id of the call that an event is about.
pub fn call(event: &Event) -> Option<&str> {
    event.payload["toolCallId"].as_str()
}

/// The text of a result's content blocks, joined as a model reads them.
pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array();
    let texts: Vec<&str> = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

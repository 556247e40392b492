//! Check 2: every call that the model made has exactly one result, and every call that a script made one end.

use super::Failure;
use super::call::{id_of, person_left};
use crate::trace::{Lane, Trace};

/// Every call ended once, and gave one message to the model.
pub fn one_result_each(trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "2 one result a call";
    let answers = trace.named(Lane::Model, "answer");
    let made = answers.flat_map(|event| event.payload["calls"].as_array().into_iter().flatten());
    let left = person_left(trace);
    let mut failures = Vec::new();
    for id in made.filter_map(|call| call["id"].as_str()) {
        let ended = trace
            .named(Lane::Host, "tool_execution_end")
            .filter(|event| id_of(event) == Some(id))
            .count();
        let results = trace
            .named(Lane::Host, "message_end")
            .map(|event| &event.payload["message"]);
        let messages = results
            .filter(|message| message["role"] == "toolResult" && message["toolCallId"] == id)
            .count();
        if left && ended == 0 && messages == 0 {
            continue;
        }
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
    // Calls that a script makes give no message, but each ends once too.
    let started = trace.named(Lane::Host, "tool_execution_start");
    let nested = started.filter(|event| event.payload.get("parentToolCallId").is_some());
    for id in nested.filter_map(id_of) {
        let ends = trace.named(Lane::Host, "tool_execution_end");
        let ended = ends.filter(|event| id_of(event) == Some(id)).count();
        if ended != 1 && !(left && ended == 0) {
            failures.push(Failure::new(
                CHECK,
                format!("call {id} of a script ended {ended} times"),
            ));
        }
    }
    failures
}

//! Check 2: every call that the model made has exactly one result, and every call that a script made one end.

use super::Failure;
use super::call::{id_of, left_at};
use crate::trace::{Event, Lane, Trace};

/// Every call ended once, and gave one message to the model. A call of an answer that was aborted before it had arrived
/// was never made.
pub fn one_result_each(trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "2 one result a call";
    let answers = trace
        .named(Lane::Model, "answer")
        .filter(|answer| arrived(trace, answer));
    let batches = answers.map(|event| {
        let calls = event.payload["calls"].as_array().into_iter().flatten();
        calls
            .filter_map(|call| call["id"].as_str())
            .collect::<Vec<_>>()
    });
    let left = left_at(trace);
    // Nobody hears of what ends after the person has left; and the messages of a batch come when all of it has ended.
    let cut_off = |batch: &[&str]| {
        left.is_some_and(|at| {
            let ends = &trace.events[..at];
            let has_ended = |id: &&str| {
                ends.iter()
                    .any(|event| event.event == "tool_execution_end" && id_of(event) == Some(*id))
            };
            !batch.iter().all(has_ended)
        })
    };
    let mut failures = Vec::new();
    let made = batches.flat_map(|batch| {
        let cut_off = cut_off(&batch);
        batch.into_iter().map(move |id| (id, cut_off))
    });
    for (id, cut_off) in made {
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
        if cut_off && ended <= 1 && messages == 0 {
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
        if ended != 1 && !(left.is_some() && ended == 0) {
            failures.push(Failure::new(
                CHECK,
                format!("call {id} of a script ended {ended} times"),
            ));
        }
    }
    failures
}

/// Whether an answer came to its end: the message that it became was not aborted.
fn arrived(trace: &Trace, answer: &Event) -> bool {
    let mut after = trace
        .events
        .iter()
        .skip_while(|event| !std::ptr::eq(*event, answer))
        .filter(|event| event.lane == Lane::Host && event.event == "message_end")
        .map(|event| &event.payload["message"]);
    let message = after.find(|message| message["role"] == "assistant");
    message.is_none_or(|message| message["stopReason"] != "aborted")
}

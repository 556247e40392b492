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

/// Check 7: the text of a graph tool's result is what the daemon answered to that call, plus guidance that the hook gave
/// for it; the text of a call that the hook blocked is its reason.
pub fn texts_are_the_tools_own(trace: &Trace) -> Vec<Failure> {
    let mut answers = Answers::of(trace);
    let decisions = decisions(trace);
    let mut failures = Vec::new();
    for event in trace.named(Lane::Host, "message_end") {
        let message = &event.payload["message"];
        let Some(id) = message["toolCallId"].as_str() else {
            continue;
        };
        let decision = decisions.get(id).unwrap_or(&Value::Null);
        let read = text_of(message);
        let rest = match answers.take(trace, id) {
            Some(own) if own.len() > UNCUT => continue,
            Some(own) => match read.strip_prefix(own.as_str()) {
                Some(rest) => rest,
                None => &read,
            },
            None if decision["block"] == true && !ran(trace, id) => {
                let reason = decision["reason"].as_str().unwrap_or_default();
                if reason.is_empty() {
                    continue;
                } else {
                    read.strip_prefix(reason).unwrap_or(&read)
                }
            }
            // Pi's own tool, a lost server or an abort: the text is Pi's.
            None => continue,
        };
        let allowed = decision["additional_context"]
            .as_str()
            .unwrap_or_default()
            .trim();
        if !rest.trim().is_empty() && rest.trim() != allowed {
            let what = format!(
                "the model reads {rest:?} with the result of call {id}, which neither tool nor hook said"
            );
            failures.push(Failure::new("7 texts are the tool's own", what).at(trace, event));
        }
    }
    failures
}

/// Pi cuts longer texts (pi-host.md 4.8), in bytes.
const UNCUT: usize = 20_480;

fn ran(trace: &Trace, id: &str) -> bool {
    trace
        .named(Lane::Extension, "tool_result")
        .any(|event| call(event) == Some(id))
}

/// What the daemon answered, call by call.
struct Answers<'a> {
    /// Requests that were not yet given to a call, each with the text of its answer.
    left: Vec<(&'a Value, Option<String>)>,
}

impl<'a> Answers<'a> {
    fn of(trace: &'a Trace) -> Self {
        let lane: Vec<&Event> = trace.lane(Lane::Mcp).collect();
        let calls = lane
            .iter()
            .enumerate()
            .filter(|(_, event)| event.payload["method"] == "tools/call");
        let left = calls.map(|(at, asked)| {
            // Ids begin anew with each process.
            let same_process = lane[at..].iter().take_while(|event| event.event != "start");
            let answer = same_process
                .filter(|event| event.event == "send")
                .find(|event| event.payload["id"] == asked.payload["id"]);
            let text = answer.and_then(|answer| {
                let payload = &answer.payload;
                let said = payload["text"]
                    .as_str()
                    .or_else(|| payload["error"]["message"].as_str());
                said.filter(|text| !text.is_empty()).map(str::to_owned)
            });
            (&asked.payload["params"], text)
        });
        Self {
            left: left.collect(),
        }
    }

    /// The answer to a call, found by its tool and the arguments that it ran with.
    fn take(&mut self, trace: &Trace, id: &str) -> Option<String> {
        let call = trace
            .named(Lane::Extension, "tool_result")
            .find(|event| call(event) == Some(id))?;
        let tool = call.payload["toolName"]
            .as_str()?
            .strip_prefix("mcp__gortex__")?;
        let asked =
            |params: &Value| params["name"] == tool && params["arguments"] == call.payload["input"];
        let at = self.left.iter().position(|(params, _)| asked(params))?;
        self.left.remove(at).1
    }
}

/// What the hook decided about each call, by the call's id.
fn decisions(trace: &Trace) -> BTreeMap<String, Value> {
    let mut asked: Option<&Event> = None;
    let mut found = BTreeMap::new();
    for event in trace.lane(Lane::Hook) {
        match (event.event.as_str(), asked) {
            ("ask", _) => asked = Some(event),
            ("answer", Some(ask)) => {
                // What a hook that failed printed is no decision (H5).
                let stdout = event.payload["stdout"]
                    .as_str()
                    .filter(|_| event.payload["exit"] == 0);
                let decision = stdout.and_then(|text| {
                    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
                });
                let id = ask
                    .cause
                    .as_deref()
                    .and_then(|cause| cause.strip_prefix("call "));
                if let (Some(id), Some(decision)) = (id, decision) {
                    found.insert(id.to_owned(), decision);
                }
            }
            _ => {}
        }
    }
    found
}

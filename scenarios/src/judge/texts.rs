//! Check 7: what the model reads of a call is the tool's own, plus guidance for that very call.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Failure;
use super::call::{Call, text_of};
use crate::case::Case;
use crate::trace::{Event, Lane, Trace};

const CHECK: &str = "7 texts are the tool's own";

/// Pi cuts longer texts of a server (pi-host.md 4.8), in bytes.
const UNCUT: usize = 20_480;

/// Looks at each call that ran, three times: what the daemon answered against what the first recorder saw, what the first
/// saw against what the last saw, and that against the message in the history.
pub fn are_the_tools_own(case: &Case, trace: &Trace) -> Vec<Failure> {
    let mut answers = Answers::of(trace);
    let mut failures = Vec::new();
    let calls = Call::all(trace);
    for call in &calls {
        let (Some(first), Some(last)) = (call.result("first"), call.result("last")) else {
            continue;
        };
        let mut tell = |what: String| failures.push(Failure::new(CHECK, what).at(trace, last));
        if let Some(said) = answers.take(call, &first.payload["input"])
            && said.len() <= UNCUT
            && said != text_of(&first.payload)
        {
            tell(format!(
                "the daemon answered {said:?} to call {}, and Pi has {:?}",
                call.id,
                text_of(&first.payload)
            ));
        }
        if !others_patch(case)
            && let Some(what) = changed(call, &calls, first, last)
        {
            tell(what);
        }
        if let Some(message) = call.message()
            && text_of(message) != text_of(&last.payload)
        {
            tell(format!(
                "the model reads {:?} of call {}, and the handlers left {:?}",
                text_of(message),
                call.id,
                text_of(&last.payload)
            ));
        }
    }
    failures
}

/// What the adapter changed besides adding guidance and diffs.
fn changed(call: &Call<'_>, all: &[Call<'_>], first: &Event, last: &Event) -> Option<String> {
    let (before, after) = (&first.payload, &last.payload);
    let blocks = |payload: &Value| payload["content"].as_array().cloned().unwrap_or_default();
    let (own, shown) = (blocks(before), blocks(after));
    let rest = shown.strip_prefix(own.as_slice());
    let guidance = guidance(call, all);
    let right = match (rest, &guidance) {
        (Some([]), None) => true,
        (Some([block]), Some(guidance)) => block["text"]
            .as_str()
            .is_some_and(|text| text.trim() == guidance.trim()),
        _ => false,
    };
    if !right {
        return Some(format!(
            "{shown:?} stands in place of {own:?} and the guidance {guidance:?} of call {}",
            call.id
        ));
    }
    let same = |member: &str| before.get(member) == after.get(member);
    if let Some(member) = ["isError", "structuredContent"]
        .into_iter()
        .find(|member| !same(member))
    {
        return Some(format!("`{member}` of call {} was changed", call.id));
    }
    let ours = ["diffs", "diff", "patch", "firstChangedLine"];
    let kept = before["details"].as_object().into_iter().flatten();
    let lost = kept
        .filter(|(name, _)| !ours.contains(&name.as_str()))
        .find(|(name, value)| after["details"].get(name) != Some(value));
    lost.map(|(name, _)| format!("`details.{name}` of call {} was changed", call.id))
}

/// What has to stand behind a call's result: the guidance on it and, as the model never reads the result of a call that
/// a script makes, on the calls that it made, in the order in which it was given (H6). One that was blocked gives none.
fn guidance(call: &Call<'_>, all: &[Call<'_>]) -> Option<String> {
    if call.parent().is_some() {
        return None;
    }
    let about = |other: &&Call<'_>| other.id == call.id || other.parent() == Some(call.id);
    let mut given: Vec<_> = all
        .iter()
        .filter(about)
        .filter_map(|other| {
            let decision = other.decision();
            let text = decision.guidance().filter(|_| decision.block().is_none())?;
            Some((other.answered(), text.trim().to_owned()))
        })
        .collect();
    given.sort_by_key(|(answered, _)| *answered);
    let texts: Vec<String> = given.into_iter().map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Whether another extension of the case patches results too: then what stands between the recorders is not all ours.
fn others_patch(case: &Case) -> bool {
    case.host
        .extensions
        .iter()
        .flat_map(|extension| &extension.on)
        .any(|handler| handler.event == "tool_result")
}

/// What the daemon answered, call by call.
struct Answers<'a> {
    /// Requests that were not yet given to a call, each with the text of its answer.
    left: BTreeMap<usize, (&'a Value, Option<String>)>,
}

impl<'a> Answers<'a> {
    fn of(trace: &'a Trace) -> Self {
        let gortex = |event: &&Event| event.payload.get("server").is_none();
        let lane: Vec<&Event> = trace.lane(Lane::Mcp).filter(gortex).collect();
        let asked = lane
            .iter()
            .enumerate()
            .filter(|(_, event)| event.payload["method"] == "tools/call");
        let left = asked.map(|(at, asked)| {
            // Ids begin anew with each process.
            let same_process = lane[at..].iter().take_while(|event| event.event != "start");
            let mut sent = same_process.filter(|event| event.event == "send");
            let answer = sent.find(|event| event.payload["id"] == asked.payload["id"]);
            let text = answer.and_then(|answer| {
                let payload = &answer.payload;
                let said = payload["text"]
                    .as_str()
                    .or_else(|| payload["error"]["message"].as_str());
                said.filter(|text| !text.is_empty()).map(str::to_owned)
            });
            (at, (&asked.payload["params"], text))
        });
        Self {
            left: left.collect(),
        }
    }

    /// The answer to a call, found by its tool and the arguments that it ran with.
    fn take(&mut self, call: &Call<'_>, input: &Value) -> Option<String> {
        let tool = call.tool().strip_prefix("mcp__gortex__")?;
        let asked = |params: &Value| params["name"] == tool && params["arguments"] == *input;
        let at = *self.left.iter().find(|(_, (params, _))| asked(params))?.0;
        self.left.remove(&at)?.1
    }
}

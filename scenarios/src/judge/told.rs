//! Check 3: an instance tells each report once, and the briefing stands at most once on a branch.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Failure;
use super::call::text_of;
use crate::case::{Case, Mode};
use crate::trace::{Lane, Trace};

const CHECK: &str = "3 each report once";

/// How a report begins that speaks of what its instance met: that there are no graph tools, or not yet. Two instances on
/// one branch (a reload, a resumed session) may each have met it. All else is told of the daemon and stands once.
const MET: &str = "Gortex graph tools ";

/// Looks at what each instance told, and at the hidden messages of each recorded history, paragraph by paragraph.
pub fn each_report_once(case: &Case, trace: &Trace) -> Vec<Failure> {
    let mut failures = by_one_instance(case, trace);
    failures.extend(on_one_branch(trace));
    let twice = trace
        .named(Lane::Model, "request")
        .filter(|event| event.payload["toldTwice"] == true);
    failures.extend(twice.map(|event| {
        let what = "a message of the history stands in the system prompt too (B2)";
        Failure::new(CHECK, what).at(trace, event)
    }));
    failures
}

/// An instance ends with its `session_shutdown`: in one lane, so that the order is exact on the real host too.
fn by_one_instance(case: &Case, trace: &Trace) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut told = BTreeMap::new();
    for event in trace.lane(Lane::Extension) {
        match event.event.as_str() {
            "session_shutdown" => told.clear(),
            // A program that embeds Pi disposes of a session without a word to its extensions.
            "session_start" if case.host.mode == Mode::Embedded => told.clear(),
            "told" => {
                let mut here = BTreeMap::new();
                count(&event.payload, &mut here);
                count(&event.payload, &mut told);
                let again = told
                    .iter()
                    .filter(|(paragraph, times)| **times > 1 && here.contains_key(*paragraph));
                failures.extend(again.map(|(paragraph, times)| {
                    let what = format!("told {times} times by one instance: {paragraph:?}");
                    Failure::new(CHECK, what).at(trace, event)
                }));
            }
            _ => {}
        }
    }
    failures
}

fn on_one_branch(trace: &Trace) -> Vec<Failure> {
    let mut failures = Vec::new();
    for event in trace.named(Lane::Host, "history") {
        let none = Vec::new();
        let entries = event.payload["entries"].as_array().unwrap_or(&none);
        let mut most: BTreeMap<String, usize> = BTreeMap::new();
        for place in 1..=entries.len() {
            let mut told = BTreeMap::new();
            for entry in branch(entries, place).filter(|entry| entry["customType"] == "gortex") {
                count(entry, &mut told);
            }
            for (paragraph, times) in told {
                let known = most.entry(paragraph).or_default();
                *known = times.max(*known);
            }
        }
        let again = most
            .into_iter()
            .filter(|(paragraph, times)| *times > 1 && !paragraph.starts_with(MET));
        failures.extend(again.map(|(paragraph, times)| {
            let what = format!("told {times} times on one branch: {paragraph:?}");
            Failure::new(CHECK, what).at(trace, event)
        }));
    }
    failures
}

/// The entries from one place of a history back to its root. Each entry names its parent by its place, from 1, and a parent
/// comes before its children.
fn branch(entries: &[Value], place: usize) -> impl Iterator<Item = &Value> {
    std::iter::successors(Some(place), |&place| {
        let parent = entries.get(place - 1)?["after"].as_u64()?;
        usize::try_from(parent)
            .ok()
            .filter(|parent| (1..place).contains(parent))
    })
    .filter_map(|place| entries.get(place - 1))
}

/// Counts the paragraphs of a message.
fn count(message: &Value, told: &mut BTreeMap<String, usize>) {
    let content = message["content"]
        .as_str()
        .map_or_else(|| text_of(message), str::to_owned);
    let paragraphs = content.split("\n\n").map(str::trim);
    for paragraph in paragraphs.filter(|text| !text.is_empty()) {
        *told.entry(ageless(paragraph)).or_default() += 1;
    }
}

/// A paragraph without the daemon's age, which tells two briefings apart that say the same: `uptime 1m` or `3s elapsed`
/// in the first parentheses (wire.md, readiness lines).
fn ageless(paragraph: &str) -> String {
    let Some((before, rest)) = paragraph.split_once('(') else {
        return paragraph.to_owned();
    };
    let Some((inside, after)) = rest.split_once(')') else {
        return paragraph.to_owned();
    };
    let age = |part: &&str| part.starts_with("uptime ") || part.ends_with(" elapsed");
    let kept: Vec<&str> = inside.split(", ").filter(|part| !age(part)).collect();
    format!("{before}({}){after}", kept.join(", "))
}

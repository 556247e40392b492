//! Check 3: each report is told by at most one turn, and the briefing stands at most once on a branch.

use std::collections::BTreeMap;

use super::Failure;
use super::call::text_of;
use crate::trace::{Lane, Trace};

/// Looks at the hidden messages of each recorded history, paragraph by paragraph.
pub fn each_report_once(trace: &Trace) -> Vec<Failure> {
    let mut failures = Vec::new();
    for event in trace.named(Lane::Host, "history") {
        let mut told: BTreeMap<String, usize> = BTreeMap::new();
        let entries = event.payload["entries"].as_array().into_iter().flatten();
        for entry in entries.filter(|entry| entry["customType"] == "gortex") {
            let content = entry["content"]
                .as_str()
                .map_or_else(|| text_of(entry), str::to_owned);
            for paragraph in content
                .split("\n\n")
                .map(str::trim)
                .filter(|text| !text.is_empty())
            {
                *told.entry(ageless(paragraph)).or_default() += 1;
            }
        }
        for (paragraph, times) in told.into_iter().filter(|(_, times)| *times > 1) {
            let what = format!("told {times} times on one branch: {paragraph:?}");
            failures.push(Failure::new("3 each report once", what).at(trace, event));
        }
    }
    let twice = trace
        .named(Lane::Model, "request")
        .filter(|event| event.payload["toldTwice"] == true);
    failures.extend(twice.map(|event| {
        let what = "a message of the history stands in the system prompt too (B2)";
        Failure::new("3 each report once", what).at(trace, event)
    }));
    failures
}

/// A paragraph without the daemon's age, which tells two briefings apart that say the same (wire.md, readiness lines).
fn ageless(paragraph: &str) -> String {
    let age =
        |word: &str| word.ends_with([')', ',']) && word.starts_with(|c: char| c.is_ascii_digit());
    let words = paragraph
        .split(' ')
        .map(|word| if age(word) { "<age>" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

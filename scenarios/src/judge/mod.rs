//! Says whether a play holds: what every play is checked for, and what its case expects.
//!
//! The checks are those of the bench's description, by number; each looks only at the trace, so it holds for both hosts.

mod call;
mod calls;
mod diffs;
mod ends;
mod expectations;
mod handlers;
mod held;
mod script;
mod texts;
mod told;

use crate::case::Case;
use crate::trace::{Event, Trace};

/// Something that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which check: its number and name, or the place of the expectation in its case.
    pub check: String,
    /// What is wrong, in a sentence.
    pub what: String,
    /// Where in the trace, as an index of its events.
    pub at: Option<usize>,
}

impl Failure {
    fn new(check: &str, what: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            what: what.into(),
            at: None,
        }
    }

    fn at(mut self, trace: &Trace, event: &Event) -> Self {
        self.at = trace
            .events
            .iter()
            .position(|other| std::ptr::eq(other, event));
        self
    }
}

/// Lists what does not hold; empty when all does.
pub fn judge(case: &Case, trace: &Trace) -> Vec<Failure> {
    let checks = [
        handlers::none_failed(case, trace),
        calls::one_result_each(trace),
        told::each_report_once(case, trace),
        held::only_the_first_turn(trace),
        handlers::stopped_only_by_a_decision(case, trace),
        diffs::every_diff_is_true(trace),
        texts::are_the_tools_own(case, trace),
        ends::nothing_lives(case, trace),
        ends::nothing_was_written(case, trace),
        script::was_followed(case, trace),
    ];
    checks
        .into_iter()
        .flatten()
        .chain(expectations::unmet(case, trace))
        .collect()
}

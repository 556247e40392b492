//! Check 4: no turn is held past the caps, and no turn but an instance's first is held for tools.

use super::Failure;
use crate::trace::{Event, Lane, Trace};

/// How long a first turn waits for the session hook (R5), in milliseconds.
const SESSION_HOOK_MS: u64 = 15_000;

/// How long it then waits for a graph tool (R5).
const GRAPH_TOOL_MS: u64 = 12_000;

/// How long the hook may take for a briefing (H5).
const BRIEFING_MS: u64 = 10_000;

/// What lies between two looks at the tools, and what a real machine adds to that and to the time of any two events.
const SIM_SLACK_MS: u64 = 100;
const PI_SLACK_MS: u64 = 1_000;

/// Measures the time between the recorders that stand before and behind the adapter.
///
/// Each wait is bounded on its own: a first turn is released at the latest when the session hook has run or its cap is
/// over, plus the cap for tools, plus the time that the hook took for the briefing.
pub fn only_the_first_turn(trace: &Trace) -> Vec<Failure> {
    let slack = if trace.header.host == "sim" {
        SIM_SLACK_MS
    } else {
        PI_SLACK_MS
    };
    let mut failures = Vec::new();
    let mut first_turn = true;
    let mut started: Option<u64> = None;
    let mut entered: Option<&Event> = None;
    for event in trace.lane(Lane::Extension) {
        match (event.event.as_str(), event.payload["by"].as_str()) {
            ("session_shutdown", _) => (first_turn, started, entered) = (true, None, None),
            ("session_start", Some("last")) => started = Some(event.t),
            ("before_agent_start", Some("first")) => entered = Some(event),
            ("before_agent_start", Some("last")) => {
                let Some(before) = entered.take() else {
                    continue;
                };
                let cap = if first_turn {
                    first_turn_cap(trace, before.t, event.t, started)
                } else {
                    0
                };
                let held = event.t - before.t;
                if held > cap + slack {
                    let which = if first_turn {
                        "the first turn"
                    } else {
                        "a later turn"
                    };
                    let what = format!(
                        "{which} was held for {held} ms, and at most {} are right",
                        cap + slack
                    );
                    failures
                        .push(Failure::new("4 no turn held past its cap", what).at(trace, event));
                }
                first_turn = false;
            }
            _ => {}
        }
    }
    failures
}

/// The longest that a first turn which was entered and released at these times may have been held.
fn first_turn_cap(trace: &Trace, entered: u64, released: u64, started: Option<u64>) -> u64 {
    let until_hook = started
        .map_or(SESSION_HOOK_MS, |started| started.saturating_sub(entered))
        .min(SESSION_HOOK_MS);
    until_hook + GRAPH_TOOL_MS + briefing(trace, entered, released)
}

/// How long the hook took for the briefing within a turn: to its cap when it gave no answer.
fn briefing(trace: &Trace, entered: u64, released: u64) -> u64 {
    let within = |event: &&Event| (entered..=released).contains(&event.t);
    let asked = trace
        .named(Lane::Hook, "ask")
        .filter(within)
        .find(|event| event.payload["envelope"]["event"] == "session_start");
    let Some(asked) = asked else { return 0 };
    let mut answers = trace.named(Lane::Hook, "answer").filter(within);
    let answer = answers.find(|event| event.t >= asked.t && event.cause.is_none());
    answer.map_or(BRIEFING_MS, |answer| (answer.t - asked.t).min(BRIEFING_MS))
}

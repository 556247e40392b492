//! Check 4: no turn is held past the caps, and no turn but an instance's first is held for tools.

use super::Failure;
use crate::trace::{Event, Lane, Trace};

/// The longest that the adapter holds a first turn, in milliseconds: for the session hook, for a graph tool and for the
/// briefing, each to its cap (R5, H5).
const FIRST_MS: u64 = 15_000 + 12_000 + 10_000;

/// The longest that a later turn may take between the recorders around the adapter, in milliseconds. On the real host
/// that is the time of two events.
const LATER_MS: u64 = 250;

/// What a real machine may add.
const SLACK_MS: u64 = 1_000;

/// Measures the time between the recorders that stand before and behind the adapter.
pub fn only_the_first_turn(trace: &Trace) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut first_turn = true;
    let mut entered: Option<&Event> = None;
    for event in trace.lane(Lane::Extension) {
        match (event.event.as_str(), event.payload["by"].as_str()) {
            ("session_shutdown", _) => first_turn = true,
            ("before_agent_start", Some("first")) => entered = Some(event),
            ("before_agent_start", Some("last")) => {
                let Some(before) = entered.take() else {
                    continue;
                };
                let held = event.t - before.t;
                let cap = if first_turn {
                    FIRST_MS + SLACK_MS
                } else {
                    LATER_MS
                };
                if held > cap {
                    let which = if first_turn {
                        "the first turn"
                    } else {
                        "a later turn"
                    };
                    let what =
                        format!("{which} was held for {held} ms, and at most {cap} are right");
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

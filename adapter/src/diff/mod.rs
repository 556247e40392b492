//! Line diffs in the format of Pi's edit tool (E2, pi-host.md 13). Knows nothing of the rest of the adapter.
//!
//! [`Script`] finds the line edits, [`Script::display`] writes the numbered form that Pi's terminal draws and
//! [`Script::patch`] the unified one.
//!
//! The search is our own because its tie-breaks are part of the format: where lines repeat, several shortest scripts
//! exist, and only the one that npm's `diff` 8 picks equals what Pi shows. Of `a`, `b` made into `b`, `a`, Pi keeps `b`
//! (remove `a`, keep `b`, add `a`); the crate `similar`, which searches from both ends, keeps `a` (add `b`, keep `a`,
//! remove `b`). Of the first 1000 pairs that `pi-bench diffs` makes from seed 1, it keeps other lines in 338: a test
//! beside their generator counts them. It cannot serve the rest either: whether a pair has one shortest script or several
//! is known only once all of them were looked for, and one line that is doubled (`x` made into `x`, `x`) has two.
//! Cutting off what both texts end in is no short cut for the same reason: it can take away the line that Pi keeps.
//! `pi-bench diffs` compares with Pi's own functions, pair by pair.

mod display;
mod patch;
mod script;
mod search;

pub use display::DiffString;
pub use script::{Effort, Part, PartKind, Script};

/// Unchanged lines shown on each side of a change by Pi.
pub const CONTEXT_LINES: usize = 4;

/// The numbered diff of two texts, without a bound on the work.
#[must_use]
pub fn diff(old: &str, new: &str) -> DiffString {
    Script::between(old, new, &Effort::UNBOUNDED)
        .map(|script| script.display(CONTEXT_LINES))
        .unwrap_or_default()
}

/// The unified patch of two texts, without a bound on the work. `path` stands in both header lines as given.
#[must_use]
pub fn patch(path: &str, old: &str, new: &str) -> String {
    Script::between(old, new, &Effort::UNBOUNDED)
        .map(|script| script.patch(path, CONTEXT_LINES))
        .unwrap_or_default()
}

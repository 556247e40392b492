//! Line diffs in the format of Pi's edit tool (E2, pi-host.md 13). Knows nothing of the rest of the adapter.
//!
//! [`Script`] finds the line edits, [`Script::display`] writes the numbered form that Pi's terminal draws and
//! [`Script::patch`] the unified one.
//!
//! The search is our own because its tie-breaks are part of the format: where lines repeat, several shortest scripts
//! exist, and only the one that npm's `diff` 8 picks equals what Pi shows. The crate `similar` searches from both ends
//! and picks others, in about half of random pairs. It cannot serve the common case either: whether a pair has one
//! shortest script or several is known only once all of them were looked for, and a line that moves by its own length
//! is enough for a second one. Cutting off what both texts end in is no short cut for the same reason: it can take away
//! the line that Pi keeps. `pi-bench diffs` compares with Pi's own functions, pair by pair.

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

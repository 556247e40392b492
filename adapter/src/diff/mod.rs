//! Line diffs in the format of Pi's edit tool (E2, pi-host.md 13). Knows nothing of the rest of the adapter.
//!
//! [`Script`] finds the line edits, [`Script::display`] writes the numbered form that Pi's terminal draws and
//! [`Script::patch`] the unified one. The search is our own because its tie-breaks are part of the format: where lines
//! repeat, several shortest scripts exist, and only the one that npm's `diff` 8 picks equals what Pi stores. The
//! crate `similar` searches from both ends and picks others.

mod display;
mod patch;
mod script;

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

//! The tools on real files, and against what the real Pi did (data/diff-cases.json).

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where its script is not kept"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "JSON literals read better without a borrow"
)]

mod bench;
mod commands;
mod recorded;
mod searches;
mod texts;

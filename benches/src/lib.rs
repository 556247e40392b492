//! What the benches share: the texts that are compared, and what Criterion measured.

pub mod diff_inputs;
mod estimates;

pub use estimates::{Outcome, median};

//! What the benches share: the addon, the texts that are compared, and what Criterion measured.

mod addon;
pub mod diff_inputs;
mod estimates;

pub use addon::addon;
pub use estimates::{Outcome, median};

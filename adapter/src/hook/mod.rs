//! The hook bridge: what is asked, in whose words, and what an answer means.

mod decision;
mod envelope;
mod files;
mod pool;
mod translate;

pub use decision::Decision;
pub use envelope::Envelope;
pub(crate) use pool::Pool;
pub use translate::{ToolInput, Translated, graph_tool, translate};

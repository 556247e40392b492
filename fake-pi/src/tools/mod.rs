//! Pi's built-in tools: what they declare, what they answer, and how they fail (pi-host.md 13).

use std::path::PathBuf;
use std::sync::Arc;

use crate::tool::Tool;

/// The tools that are active in a new session; the others are listed only.
pub const ACTIVE: [&str; 4] = ["read", "bash", "edit", "write"];

/// What the tools are told once, for all their runs.
#[derive(Debug, Clone)]
pub struct ToolOptions {
    /// The user's home folder, for paths that start with `~`.
    pub home: PathBuf,
    /// Where the full output of commands is kept when the model reads only its end.
    pub temp_dir: PathBuf,
}

/// The built-in tools, in Pi's order.
#[must_use]
pub fn builtin(_options: &ToolOptions) -> Vec<Arc<dyn Tool>> {
    Vec::new()
}

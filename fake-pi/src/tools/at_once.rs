//! A built-in tool that does all its work in one go: what `read`, `edit`, `write`, `grep`, `find` and `ls` have in common.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::tool::{Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// The tool. `setting` is what it was told once, for all its runs.
pub(super) struct AtOnce<S> {
    pub(super) definition: fn() -> ToolDefinition,
    /// See [`Tool::registry_members`].
    pub(super) members: Value,
    pub(super) setting: S,
    pub(super) work: fn(&ToolRun, &S) -> Result<ToolOutput, ToolError>,
    /// See [`Tool::declares_output`].
    pub(super) declares_output: bool,
}

impl<S: Clone + Send + Sync + 'static> Tool for AtOnce<S> {
    fn definition(&self) -> ToolDefinition {
        (self.definition)()
    }

    fn registry_members(&self) -> Value {
        self.members.clone()
    }

    fn declares_output(&self) -> bool {
        self.declares_output
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let (work, setting) = (self.work, self.setting.clone());
        // Nothing happens before the host polls.
        Box::pin(async move { work(&run, &setting) })
    }
}

//! `powershell`: listed on every system, of use on Windows only.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::declare;
use super::reply::failure;
use crate::tool::{Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// The tool, as it is on other systems than Windows.
pub(super) struct PowerShell;

impl Tool for PowerShell {
    fn definition(&self) -> ToolDefinition {
        declare::powershell()
    }

    fn registry_members(&self) -> Value {
        declare::members(1)
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        // Pi announces every shell command before it looks for the shell. Nobody may listen.
        let _ = run.updates.send(json!({"content": []}));
        Box::pin(async { failure("The powershell tool is only available on Windows.") })
    }
}

//! `write`: a whole file.

use futures::future::BoxFuture;
use serde_json::Value;

use super::reply::{self, Folders, failure};
use super::{declare, errno, files};
use crate::tool::{Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// The tool.
pub(super) struct Write(pub(super) Folders);

impl Tool for Write {
    fn definition(&self) -> ToolDefinition {
        declare::write()
    }

    fn registry_members(&self) -> Value {
        declare::members(1)
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let folders = self.0.clone();
        Box::pin(async move { execute(&run, &folders) })
    }
}

fn execute(run: &ToolRun, folders: &Folders) -> Result<ToolOutput, ToolError> {
    let path = reply::path(&run.input)?;
    let absolute = files::resolve(path, &run.cwd, &folders.home);
    reply::check_abort(run)?;
    if let Some(folder) = absolute.parent()
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return failure(errno::message(&error, "mkdir", Some(folder)));
    }
    let Some(content) = run.input.get("content").and_then(Value::as_str) else {
        return failure(
            "The \"data\" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received \
             undefined",
        );
    };
    if let Err(error) = std::fs::write(&absolute, content) {
        return failure(errno::message(&error, "open", Some(&absolute)));
    }
    Ok(reply::text(format!("Successfully wrote to {path}")))
}

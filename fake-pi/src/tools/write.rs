//! `write`: a whole file.

use serde_json::Value;

use super::at_once::AtOnce;
use super::reply::{self, Folders, failure};
use super::{declare, errno, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};

/// The tool.
pub(super) fn tool(folders: Folders) -> impl Tool {
    AtOnce {
        definition: declare::write,
        members: declare::members(1),
        setting: folders,
        work: execute,
        declares_output: false,
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

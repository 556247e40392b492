//! Pi's built-in tools: what they declare, what they answer, and how they fail (pi-host.md 1.4, 9, 13).
//!
//! They work on real files and start real programs, on the spot: while one works, the simulated time stands still. Only
//! a `sleep` inside `bash` lets time pass (`shell`).
//!
//! | file | holds |
//! |---|---|
//! | `declare` | names, texts and parameters as the model sees them |
//! | `read`, `write`, `edit`, `bash`, `powershell`, `grep`, `find`, `ls` | one tool each |
//! | `at_once` | what all of them but the shells have in common |
//! | `matching`, `loose` | where the texts of an edit are in a file, to the letter or loosely |
//! | `line_ends` | line ends, kept apart while a file is edited |
//! | `line_diff`, `display` | which lines changed, and how a change is shown |
//! | `shell`, `search` | programs run on the spot |
//! | `truncation` | output cut to what the model may read |
//! | `output_file` | files that keep the rest |
//! | `files`, `errno` | paths and errors as Node has them |
//! | `reply` | results and arguments in common |

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::tool::Tool;

mod at_once;
mod bash;
mod declare;
mod display;
mod edit;
mod errno;
mod files;
mod find;
mod grep;
mod line_diff;
mod line_ends;
mod loose;
mod ls;
mod matching;
pub(crate) mod output_file;
mod powershell;
mod read;
mod reply;
mod search;
mod shell;
#[cfg(test)]
mod tests;
pub(crate) mod truncation;
mod write;

pub use search::SearchPrograms;
pub(crate) use shell::run_shell;

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

/// The built-in tools without search programs: `grep` and `find` fail as on an offline host that lacks them.
#[must_use]
pub fn builtin(options: &ToolOptions) -> Vec<Arc<dyn Tool>> {
    builtin_with(options, &SearchPrograms::default())
}

/// The built-in tools, in Pi's order.
#[must_use]
pub fn builtin_with(options: &ToolOptions, programs: &SearchPrograms) -> Vec<Arc<dyn Tool>> {
    let folders = reply::Folders {
        home: options.home.clone(),
        temp_dir: options.temp_dir.clone(),
    };
    let searching = |program: &Option<PathBuf>| search::Searching {
        home: options.home.clone(),
        program: program.clone(),
    };
    vec![
        Arc::new(read::tool(folders.clone())),
        Arc::new(bash::Bash(folders.clone())),
        Arc::new(powershell::PowerShell),
        Arc::new(edit::tool(folders.clone())),
        Arc::new(write::tool(folders.clone())),
        Arc::new(grep::tool(searching(&programs.ripgrep))),
        Arc::new(find::tool(searching(&programs.fd))),
        Arc::new(ls::tool(folders)),
    ]
}

/// The arguments of a built-in tool as Pi reads them before it checks them. Only `edit` takes other forms than it
/// declares.
#[must_use]
pub fn prepare(tool: &str, input: Value) -> Value {
    if tool == "edit" {
        edit::prepare(input)
    } else {
        input
    }
}

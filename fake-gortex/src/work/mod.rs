//! What the tools really do: `edit` edits, `read` reads, `search` looks for fixed text. The rest says its name.

mod arguments;
mod edit;
mod look;
mod paths;

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Map, Value};

use crate::script::{Becomes, FileChange};

pub(crate) use arguments::flatten;

/// Runs a tool by its current or its earlier name on arguments that were flattened, and gives its text; an error is the
/// tool's own, for the model to read.
pub(crate) fn perform(
    root: &Path,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<String, String> {
    match tool {
        "edit" => edit::edit(root, arguments, arguments::text(arguments, &["operation"])),
        "edit_file" => edit::edit(root, arguments, Some("file")),
        "write_file" => edit::edit(root, arguments, Some("write")),
        "edit_symbol" => edit::edit(root, arguments, Some("symbol")),
        "batch_edit" => edit::edit(root, arguments, Some("batch")),
        "read" | "read_file" => look::read(root, arguments),
        "search" | "search_text" | "search_symbols" => look::search(root, arguments),
        _ => Ok(format!("{tool}: done, nothing scripted")),
    }
}

/// Makes of a file what a rule of the script says.
pub(crate) fn put(root: &Path, change: &FileChange) -> Result<(), String> {
    let path = &change.path;
    let file = paths::resolve(root, path)?;
    if let (Some(content), None) = (&change.content, change.becomes) {
        return paths::write(&file, content);
    }
    let done = std::fs::remove_file(&file).and_then(|()| match change.becomes {
        None => Ok(()),
        Some(Becomes::Folder) => std::fs::create_dir(&file),
        Some(Becomes::Loop) => symlink(file.file_name().unwrap_or_default(), &file),
    });
    done.map_err(|error| format!("{path}: {error}"))
}

//! `ls`: the entries of a folder.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::{Map, Value};

use super::at_once::AtOnce;
use super::reply::{self, Folders, failure};
use super::truncation::{self, NO_LIMIT};
use super::{declare, errno, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};

/// Entries listed when the call sets no limit.
const DEFAULT_LIMIT: usize = 500;

/// Signs in the order of Unicode's root collation, which Node sorts names by; digits and letters come after them.
const SIGNS: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// The tool.
pub(super) fn tool(folders: Folders) -> impl Tool {
    AtOnce {
        definition: declare::ls,
        members: Value::Null,
        setting: folders,
        work: execute,
        declares_output: false,
    }
}

fn execute(run: &ToolRun, folders: &Folders) -> Result<ToolOutput, ToolError> {
    reply::check_abort(run)?;
    let path = run
        .input
        .get("path")
        .and_then(Value::as_str)
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    let folder = files::resolve(path, &run.cwd, &folders.home);
    let limit = reply::limit(&run.input, DEFAULT_LIMIT);
    if !folder.exists() {
        return failure(format!("Path not found: {}", folder.display()));
    }
    if !folder.is_dir() {
        return failure(format!("Not a directory: {}", folder.display()));
    }
    let entries = names(&folder).map_err(ToolError)?;
    // Entries that cannot be looked at, such as dangling links, are left out.
    let mut shown = entries.iter().filter_map(|name| {
        let metadata = std::fs::metadata(folder.join(name)).ok()?;
        Some(if metadata.is_dir() {
            format!("{name}/")
        } else {
            name.clone()
        })
    });
    let listed: Vec<String> = shown.by_ref().take(limit).collect();
    if listed.is_empty() {
        return Ok(reply::text("(empty directory)"));
    }
    let is_limit_reached =
        listed.len() == limit && limit < entries.len() && has_more(&entries, &listed);
    let cut = truncation::head(&listed.join("\n"), NO_LIMIT);
    let mut notices = Vec::new();
    let mut details = Map::new();
    if is_limit_reached {
        notices.push(format!(
            "{limit} entries limit reached. Use limit={} for more",
            limit * 2
        ));
        details.insert("entryLimitReached".into(), limit.into());
    }
    if cut.cut_by.is_some() {
        notices.push("50.0KB limit reached".into());
        details.insert("truncation".into(), cut.to_json());
    }
    Ok(with_notices(cut.content, &notices, details))
}

/// Whether entries are left behind the last one listed, whatever they are: Pi stops at the next name, looked at or not.
fn has_more(entries: &[String], listed: &[String]) -> bool {
    let last = listed.last().map(|name| name.trim_end_matches('/'));
    entries.last().map(String::as_str) != last
}

/// A result with what was left out in brackets behind it.
pub(super) fn with_notices(
    content: String,
    notices: &[String],
    details: Map<String, Value>,
) -> ToolOutput {
    let text = if notices.is_empty() {
        content
    } else {
        format!("{content}\n\n[{}]", notices.join(". "))
    };
    let details = (!details.is_empty()).then_some(Value::Object(details));
    ToolOutput {
        details,
        ..reply::text(text)
    }
}

/// The names in a folder, sorted as Node sorts them without regard to case.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let failure = |error| {
        format!(
            "Cannot read directory: {}",
            errno::message(&error, "scandir", Some(folder))
        )
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failure)? {
        names.push(
            entry
                .map_err(failure)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    // The folder's own order is the file system's; names that differ in case only need a fixed one.
    names.sort();
    names.sort_by(|left, right| collated(left, right));
    Ok(names)
}

/// Compares as the root collation does for plain names: signs, digits, letters. Other scripts go by code point.
fn collated(left: &str, right: &str) -> Ordering {
    let keys = |text: &str| -> Vec<(u8, u32)> { text.to_lowercase().chars().map(key).collect() };
    keys(left).cmp(&keys(right))
}

fn key(character: char) -> (u8, u32) {
    if let Some(place) = SIGNS.chars().position(|sign| sign == character) {
        return (0, u32::try_from(place).unwrap_or(u32::MAX));
    }
    (
        u8::from(!character.is_ascii_digit()) + 1,
        u32::from(character),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_as_node_sorts_them() {
        let mut names = [
            "a.ts", "a-b.ts", "ab.ts", "a_b.ts", "a1", "a10", "a2", ".git", ".a", "README", "src",
        ]
        .map(str::to_owned);
        names.sort_by(|left, right| collated(left, right));
        let expected = [
            ".a", ".git", "a_b.ts", "a-b.ts", "a.ts", "a1", "a10", "a2", "ab.ts", "README", "src",
        ];
        assert_eq!(names, expected);
    }
}

//! `find`: files whose path fits a glob.

use std::path::Path;

use serde_json::{Map, Value};

use super::at_once::AtOnce;
use super::ls::with_notices;
use super::reply::{self, failure};
use super::search::{Searching, search};
use super::truncation::{self, MAX_BYTES, NO_LIMIT};
use super::{declare, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};

/// Files listed when the call sets no limit.
const DEFAULT_LIMIT: usize = 1000;

/// The tool.
pub(super) fn tool(searching: Searching) -> impl Tool {
    AtOnce {
        definition: declare::find,
        members: Value::Null,
        setting: searching,
        work: execute,
        declares_output: false,
    }
}

fn execute(run: &ToolRun, searching: &Searching) -> Result<ToolOutput, ToolError> {
    reply::check_abort(run)?;
    let path = run
        .input
        .get("path")
        .and_then(Value::as_str)
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    let folder = files::resolve(path, &run.cwd, &searching.home);
    let limit = reply::limit(&run.input, DEFAULT_LIMIT);
    let Some(program) = searching.program.as_deref() else {
        return failure("fd is not available and could not be downloaded");
    };
    let pattern = run
        .input
        .get("pattern")
        .and_then(Value::as_str)
        .unwrap_or("undefined");
    let args = arguments(pattern, &folder, limit);
    let mut found: Vec<String> = Vec::new();
    let (mut count, mut bytes, mut has_more) = (0, 0, false);
    let searched = search(program, &args, &run.cwd, |line| {
        let line = line.trim();
        if line.is_empty() {
            return true;
        }
        if count == limit {
            has_more = true;
            return true;
        }
        let name = relative(line, &folder);
        count += 1;
        // Beyond the limit of bytes files only count.
        let size = name.len() + 1;
        if bytes <= MAX_BYTES + 1 {
            found.push(name);
        }
        bytes += size;
        true
    });
    let searched = searched.map_err(|error| ToolError(format!("Failed to run fd: {error}")))?;
    if count == 0 && searched.code != Some(0) {
        let code = searched
            .code
            .map_or_else(|| "null".to_owned(), |code| code.to_string());
        return failure(match searched.errors.as_str() {
            "" => format!("fd exited with code {code}"),
            errors => errors.to_owned(),
        });
    }
    if count == 0 {
        return Ok(reply::text("No files found matching pattern"));
    }
    let mut cut = truncation::head(&found.join("\n"), NO_LIMIT);
    cut.total_lines = count;
    cut.total_bytes = bytes - 1;
    let mut notices = Vec::new();
    let mut details = Map::new();
    if has_more {
        notices.push(format!(
            "{limit} results limit reached. Use limit={} for more, or refine pattern",
            limit.saturating_mul(2)
        ));
        details.insert("resultLimitReached".into(), limit.into());
    }
    if cut.cut_by.is_some() {
        notices.push("50.0KB limit reached".into());
        details.insert("truncation".into(), cut.to_json());
    }
    Ok(with_notices(cut.content, &notices, details))
}

/// fd's arguments: a pattern with a slash is matched against whole paths, from the search folder on.
fn arguments(pattern: &str, folder: &Path, limit: usize) -> Vec<String> {
    let mut args: Vec<String> = ["--color=never", "--hidden"].map(str::to_owned).into();
    if !folder
        .ancestors()
        .any(|folder| folder.join(".git").exists())
    {
        args.push("--no-require-git".into());
    }
    let mut pattern = pattern;
    while let Some(shorter) = pattern.strip_prefix("./") {
        pattern = shorter;
    }
    args.extend([
        "--glob".into(),
        "--max-results".into(),
        limit.saturating_add(1).to_string(),
    ]);
    let mut wanted = pattern.to_owned();
    if pattern.contains('/') {
        args.push("--full-path".into());
        if !pattern.starts_with('/') {
            let root = escaped(folder.to_string_lossy().trim_end_matches('/'));
            wanted = format!("{root}/{pattern}");
            // fd would judge by the folder's letters too whether case matters.
            if pattern == pattern.to_lowercase() {
                args.push("--ignore-case".into());
            }
        }
    }
    args.extend(["--".into(), wanted, folder.to_string_lossy().into_owned()]);
    args
}

/// A path as a glob that matches only itself.
fn escaped(path: &str) -> String {
    let mut result = String::new();
    for character in path.chars() {
        if "\\*?[]{}".contains(character) {
            result.push('\\');
        }
        result.push(character);
    }
    result
}

/// A result relative to the search folder.
fn relative(line: &str, folder: &Path) -> String {
    let path = Path::new(line)
        .strip_prefix(folder)
        .map(|path| path.to_string_lossy().into_owned());
    let path = path.unwrap_or_else(|_| line.to_owned());
    if line.ends_with('/') && !path.ends_with('/') {
        format!("{path}/")
    } else {
        path
    }
}

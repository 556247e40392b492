//! `grep`: lines that match a pattern.

use std::path::Path;

use serde_json::{Map, Value};

use super::at_once::AtOnce;
use super::ls::with_notices;
use super::reply::{self, failure};
use super::search::{Searching, search};
use super::truncation::{self, MAX_BYTES, NO_LIMIT};
use super::{declare, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};
use crate::utf16;

/// Matches shown when the call sets no limit.
const DEFAULT_LIMIT: usize = 100;

/// UTF-16 units of a line that are shown.
const MAX_LINE_UNITS: usize = 500;

/// The tool.
pub(super) fn tool(searching: Searching) -> impl Tool {
    AtOnce {
        definition: declare::grep,
        members: Value::Null,
        setting: searching,
        work: execute,
        declares_output: false,
    }
}

fn execute(run: &ToolRun, searching: &Searching) -> Result<ToolOutput, ToolError> {
    reply::check_abort(run)?;
    let Some(program) = searching.program.as_deref() else {
        return failure("ripgrep (rg) is not available and could not be downloaded");
    };
    let text = |key: &str| {
        run.input
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let path = files::resolve(text("path").unwrap_or("."), &run.cwd, &searching.home);
    let Ok(metadata) = std::fs::metadata(&path) else {
        return failure(format!("Path not found: {}", path.display()));
    };
    let context = reply::number(&run.input, "context").filter(|context| *context >= 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is meant"
    )]
    let context = context.map_or(0, |context| (context as u64).min(NO_LIMIT as u64));
    let mut args: Vec<String> = [
        "--no-config",
        "--json",
        "--line-number",
        "--color=never",
        "--hidden",
    ]
    .map(str::to_owned)
    .into();
    let is_set = |key: &str| run.input.get(key).and_then(Value::as_bool) == Some(true);
    if is_set("ignoreCase") {
        args.push("--ignore-case".into());
    }
    if is_set("literal") {
        args.push("--fixed-strings".into());
    }
    if let Some(glob) = text("glob") {
        args.extend(["--glob".into(), without_here(glob)]);
    }
    if context > 0 {
        args.extend(["--context".into(), context.to_string()]);
    }
    let pattern = run
        .input
        .get("pattern")
        .and_then(Value::as_str)
        .unwrap_or("undefined");
    let target = if metadata.is_dir() {
        ".".into()
    } else {
        path.to_string_lossy().into_owned()
    };
    args.extend(["--".into(), pattern.to_owned(), target]);
    let cwd = if metadata.is_dir() { &path } else { &run.cwd };
    let mut matches = Matches::new(
        reply::limit(&run.input, DEFAULT_LIMIT),
        context,
        metadata.is_dir(),
    );
    let searched = search(program, &args, cwd, |line| matches.take(line));
    let searched =
        searched.map_err(|error| ToolError(format!("Failed to run ripgrep: {error}")))?;
    let is_failed = !matches.is_done && !matches!(searched.code, Some(0 | 1));
    if is_failed {
        let code = searched
            .code
            .map_or_else(|| "null".to_owned(), |code| code.to_string());
        return failure(match searched.errors.as_str() {
            "" => format!("ripgrep exited with code {code}"),
            errors => errors.to_owned(),
        });
    }
    Ok(matches.into_output())
}

/// A glob without the leading `./` that ripgrep never matches.
fn without_here(glob: &str) -> String {
    let (negation, mut rest) = match glob.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => ("", glob),
    };
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    format!("{negation}{rest}")
}

/// The lines found so far.
struct Matches {
    limit: usize,
    context: u64,
    is_folder: bool,
    lines: Vec<String>,
    /// Bytes of all lines, the ones not kept included, with a newline each.
    bytes: usize,
    line_count: usize,
    count: usize,
    last_file: String,
    /// Last line of the context behind the last match that the limit allows.
    context_end: u64,
    has_more: bool,
    is_any_line_cut: bool,
    is_done: bool,
}

impl Matches {
    fn new(limit: usize, context: u64, is_folder: bool) -> Self {
        Self {
            limit,
            context,
            is_folder,
            lines: Vec::new(),
            bytes: 0,
            line_count: 0,
            count: 0,
            last_file: String::new(),
            context_end: 0,
            has_more: false,
            is_any_line_cut: false,
            is_done: false,
        }
    }

    /// Takes one event of ripgrep; tells whether to go on.
    fn take(&mut self, line: &str) -> bool {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let is_match = event["type"] == "match";
        if !is_match && event["type"] != "context" {
            return true;
        }
        let data = &event["data"];
        let (Some(file), Some(number)) =
            (data["path"]["text"].as_str(), data["line_number"].as_u64())
        else {
            return true;
        };
        let text = data["lines"]["text"].as_str().unwrap_or_default();
        if self.count < self.limit {
            self.push(file, number, text, is_match);
            if is_match {
                self.count += 1;
                self.context_end = number.saturating_add(self.context);
            }
            return true;
        }
        // The limit is reached: what follows is context of the last match, or proof that there is more.
        let is_context = file == self.last_file && number <= self.context_end;
        if is_context {
            self.push(file, number, text, false);
        }
        self.has_more |= is_match;
        self.is_done = self.has_more && !(is_context && number < self.context_end);
        !self.is_done
    }

    fn push(&mut self, file: &str, number: u64, text: &str, is_match: bool) {
        file.clone_into(&mut self.last_file);
        let name = if self.is_folder {
            file.strip_prefix("./").unwrap_or(file).to_owned()
        } else {
            Path::new(file)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let shown = utf16::head(text, MAX_LINE_UNITS);
        let cut = if shown.len() < text.len() {
            "... [truncated]"
        } else {
            ""
        };
        self.is_any_line_cut |= !cut.is_empty();
        let sign = if is_match { ':' } else { '-' };
        let line = format!("{name}{sign}{number}{sign} {shown}{cut}");
        // Beyond the limit of bytes lines only count.
        let size = line.len() + 1;
        if self.bytes <= MAX_BYTES + 1 {
            self.lines.push(line);
        }
        self.bytes += size;
        self.line_count += 1;
    }

    fn into_output(self) -> ToolOutput {
        if self.count == 0 {
            return reply::text("No matches found");
        }
        let mut cut = truncation::head(&self.lines.join("\n"), NO_LIMIT);
        cut.total_lines = self.line_count;
        cut.total_bytes = self.bytes - 1;
        let mut notices = Vec::new();
        let mut details = Map::new();
        if self.has_more {
            let limit = self.limit;
            notices.push(format!(
                "{limit} matches limit reached. Use limit={} for more, or refine pattern",
                limit.saturating_mul(2)
            ));
            details.insert("matchLimitReached".into(), limit.into());
        }
        if cut.cut_by.is_some() {
            notices.push("50.0KB limit reached".into());
            details.insert("truncation".into(), cut.to_json());
        }
        if self.is_any_line_cut {
            notices.push(format!(
                "Some lines truncated to {MAX_LINE_UNITS} chars. Use read tool to see full lines"
            ));
            details.insert("linesTruncated".into(), true.into());
        }
        with_notices(cut.content, &notices, details)
    }
}

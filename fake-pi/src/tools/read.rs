//! `read`: the lines of a file.

use serde_json::{Value, json};

use super::at_once::AtOnce;
use super::reply::{self, Folders, failure};
use super::truncation::{self, CutBy, MAX_BYTES, MAX_LINES, size_text};
use super::{declare, errno, files};
use crate::tool::{Tool, ToolError, ToolOutput, ToolRun};

/// The tool. Images are read as text: the simulated host resizes and shows none.
pub(super) fn tool(folders: Folders) -> impl Tool {
    AtOnce {
        definition: declare::read,
        members: declare::members(1),
        setting: folders,
        work: execute,
        declares_output: true,
    }
}

fn execute(run: &ToolRun, folders: &Folders) -> Result<ToolOutput, ToolError> {
    reply::check_abort(run)?;
    let path = reply::path(&run.input)?;
    let absolute = files::resolve_existing(path, &run.cwd, &folders.home);
    if let Err(error) = files::check_access(&absolute, false) {
        return failure(errno::message(&error, "access", Some(&absolute)));
    }
    let bytes = files::read(&absolute).map_err(ToolError)?;
    let content = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = content.split('\n').collect();
    let start = start_line(&run.input);
    if start >= lines.len() {
        let offset = run.input.get("offset").cloned().unwrap_or_default();
        return failure(format!(
            "Offset {offset} is beyond end of file ({} lines total)",
            lines.len()
        ));
    }
    let end = end_line(&run.input, start, lines.len());
    let cut = truncation::head(&lines[start..end.max(start)].join("\n"), MAX_LINES);
    let (first, total) = (start + 1, lines.len());
    let limit = size_text(MAX_BYTES);
    let mut details = None;
    let text = if cut.is_first_line_too_long {
        details = Some(json!({"truncation": cut.to_json()}));
        let size = size_text(lines[start].len());
        format!(
            "[Line {first} is {size}, exceeds {limit} limit. Use bash: sed -n '{first}p' {path} | head -c {MAX_BYTES}]"
        )
    } else if let Some(by) = cut.cut_by {
        details = Some(json!({"truncation": cut.to_json()}));
        let last = start + cut.output_lines;
        let reason = if by == CutBy::Bytes {
            format!(" ({limit} limit)")
        } else {
            String::new()
        };
        let next = last + 1;
        format!(
            "{}\n\n[Showing lines {first}-{last} of {total}{reason}. Use offset={next} to continue.]",
            cut.content
        )
    } else if reply::number(&run.input, "limit").is_some() && end < total {
        let (left, next) = (total - end, end + 1);
        format!(
            "{}\n\n[{left} more lines in file. Use offset={next} to continue.]",
            cut.content
        )
    } else {
        cut.content
    };
    Ok(ToolOutput {
        details,
        structured_content: Some(text.clone().into()),
        ..reply::text(text)
    })
}

/// Index of the first line wanted.
fn start_line(input: &Value) -> usize {
    let offset = reply::number(input, "offset").unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is meant"
    )]
    let start = (offset - 1.0).max(0.0) as usize;
    start
}

/// Index behind the last line wanted. A negative limit counts from the end, as JavaScript's slices do.
fn end_line(input: &Value, start: usize, total: usize) -> usize {
    let Some(limit) = reply::number(input, "limit") else {
        return total;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a file has far less than 2^53 lines"
    )]
    let (start, count) = (start as f64, total as f64);
    let end = start + limit;
    let end = if end < 0.0 {
        (count + end).max(0.0)
    } else {
        end
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is meant"
    )]
    let end = end as usize;
    end.min(total)
}

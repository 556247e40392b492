//! The result of a call in the form that the model reads, and that scripts get (pi-host.md 4.8).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::block;
use crate::tool::{ToolError, ToolOutput};
use crate::tools::output_file;

/// Bytes of text that the model reads at most; beyond them the middle is cut out.
const MAX_BYTES: usize = 20 * 1024;

/// What the conversion depends on.
#[derive(Debug, Clone)]
pub struct ResultOptions {
    /// Where texts that were cut, and binary resources, are kept.
    pub temp_dir: PathBuf,
    /// Whether resource links can be read with `read_mcp_resource`.
    pub has_readable_resources: bool,
}

/// Converts the answer to `tools/call`.
///
/// # Errors
/// `Invalid MCP tools/call result` for an answer that is none, or JavaScript's own complaint about a block that is none.
pub fn convert(
    server: &str,
    tool: &str,
    answer: Value,
    options: &ResultOptions,
) -> Result<ToolOutput, ToolError> {
    let invalid = || ToolError("Invalid MCP tools/call result".into());
    let Value::Object(mut result) = answer else {
        return Err(invalid());
    };
    let blocks = match result.get("content") {
        None => Vec::new(),
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(_) => return Err(invalid()),
    };
    let is_error = result.get("isError").is_some_and(crate::instance::truthy);
    let mut content = Vec::new();
    for block in &blocks {
        content.push(block::convert(server, block, options).map_err(ToolError)?);
    }
    if let (true, Some(structured)) = (blocks.is_empty(), result.get("structuredContent")) {
        // A JSON value always has a text.
        let text = serde_json::to_string_pretty(structured).unwrap_or_default();
        content.push(block::text(text));
    }
    if is_error && joined_text(&content).is_empty() {
        content.push(block::text(format!(
            "MCP tool {server}/{tool} returned an error"
        )));
    }
    let mut details = json!({"server": server, "tool": tool});
    let content = limited(content, &options.temp_dir, &mut details);
    result.entry("content").or_insert_with(|| json!([]));
    result.shift_remove("_meta");
    Ok(ToolOutput {
        terminate: false,
        content,
        details: Some(details),
        structured_content: Some(Value::Object(result)),
        is_error,
    })
}

/// Content within the limit: longer text is cut, and `details` tells where all of it is kept.
pub(crate) fn limited(content: Vec<Value>, temp_dir: &Path, details: &mut Value) -> Vec<Value> {
    let Some(cut) = cut(&content, temp_dir) else {
        return content;
    };
    if let Some(path) = cut.full_output {
        details["fullOutputPath"] = path.into();
    }
    let images = content.into_iter().filter(|block| block["type"] == "image");
    std::iter::once(block::text(cut.text))
        .chain(images)
        .collect()
}

/// All text blocks as one text.
fn joined_text(content: &[Value]) -> String {
    let texts = content.iter().filter(|block| block["type"] == "text");
    texts
        .map(|block| block["text"].as_str().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A text that was too long.
struct Cut {
    text: String,
    full_output: Option<String>,
}

/// Cuts the text of `content` if it exceeds the limit, keeping the whole in a file.
fn cut(content: &[Value], temp_dir: &Path) -> Option<Cut> {
    let full = joined_text(content);
    if full.len() <= MAX_BYTES {
        return None;
    }
    let is_boundary = |at: &usize| full.is_char_boundary(*at);
    let head_end = (0..=MAX_BYTES / 2).rev().find(is_boundary).unwrap_or(0);
    let tail_start = (full.len() - MAX_BYTES / 2..full.len())
        .find(is_boundary)
        .unwrap_or(full.len());
    let (head, tail) = (&full[..head_end], &full[tail_start..]);
    let removed = full[head.len()..full.len() - tail.len()].chars().count();
    let lines = full.split('\n').count() - usize::from(full.ends_with('\n'));
    let tokens = full.len().div_ceil(4);
    let (place, full_output) = match output_file::save(temp_dir, "pi-mcp", ".txt", full.as_bytes())
    {
        Ok(path) => (
            format!("[Full output: {path} (read it with offset/limit)]"),
            Some(path),
        ),
        Err(reason) => (format!("[Could not save the full output: {reason}]"), None),
    };
    let text = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n\
         {head}…{removed} chars truncated…{tail}\n\n{place}"
    );
    Some(Cut { text, full_output })
}

//! What the model reads of a script: its output, laid out, and cut when it is too long (pi-host.md 10).

use std::path::Path;

use serde_json::{Value, json};

use crate::tools::output_file;
use crate::utf16::{head, tail, units};

/// Tokens of output that the model reads when the script does not say how many.
const MOST_TOKENS: u64 = 10_000;

/// UTF-16 units that Pi counts as one token.
const UNITS_A_TOKEN: usize = 4;

/// One piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Of `text()`, or the value that the script returned.
    Text(String),
    /// Of `console`.
    Console(String),
}

/// The text of a value as scripts print it.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The pieces as one text, each on lines of its own: several texts are numbered, and what `console` said follows them.
/// `error` is the last. None when there is nothing.
pub(super) fn laid_out(pieces: &[Piece], error: Option<&str>) -> Option<String> {
    let texts = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Text(_)));
    let (total, mut number) = (texts.count(), 0);
    let mut items = Vec::new();
    let mut console = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) if total > 1 => {
                number += 1;
                items.push(format!("==> text {number}/{total} <==\n{text}"));
            }
            Piece::Text(text) => items.push(text.clone()),
            Piece::Console(line) => console.push(line.as_str()),
        }
    }
    if !console.is_empty() {
        let lines = console.join("\n");
        items.push(format!("<console_output>\n{lines}\n</console_output>"));
    }
    if let Some(error) = error {
        items.push(format!("Script error:\n{error}"));
    }
    if items.is_empty() {
        return None;
    }
    let mut joined = String::new();
    for item in items {
        if !joined.is_empty() && !joined.ends_with('\n') {
            joined.push('\n');
        }
        joined.push_str(&item);
    }
    Some(joined)
}

/// A text within the budget, and the file that keeps the whole when it was cut.
pub(super) fn cut(
    text: String,
    most_tokens: Option<u64>,
    folder: &Path,
) -> (String, Option<String>) {
    let budget = most_tokens.unwrap_or(MOST_TOKENS);
    let budget = usize::try_from(budget)
        .unwrap_or(usize::MAX)
        .saturating_mul(UNITS_A_TOKEN);
    let length = units(&text);
    if length <= budget {
        return (text, None);
    }
    let (first, last) = (head(&text, budget / 2), tail(&text, budget - budget / 2));
    let (tokens, lines) = (length.div_ceil(UNITS_A_TOKEN), text.split('\n').count());
    let removed = (length - budget).div_ceil(UNITS_A_TOKEN);
    let (place, file) = match output_file::save(folder, "pi-codemode", ".txt", text.as_bytes()) {
        Ok(path) => (
            format!("[Full output: {path} (read with offset/limit)]"),
            Some(path),
        ),
        Err(reason) => (format!("[Could not save the full output: {reason}]"), None),
    };
    let shown = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n\
         {first}…{removed} tokens truncated…{last}\n\n{place}"
    );
    (shown, file)
}

/// The block that every result begins with.
pub(super) fn header(completed: bool, seconds: f64) -> Value {
    let how = if completed { "completed" } else { "failed" };
    json!({"type": "text", "text": format!("Script {how}\nWall time {seconds:.1} seconds\nOutput:\n")})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_texts_are_numbered_and_the_console_comes_last() {
        // Recorded from Pi 1.6.0.
        let pieces = [
            Piece::Console("log 1".into()),
            Piece::Text("hello".into()),
            Piece::Text("{\"a\":1}".into()),
        ];
        assert_eq!(
            laid_out(&pieces, None).as_deref(),
            Some(
                "==> text 1/2 <==\nhello\n==> text 2/2 <==\n{\"a\":1}\n<console_output>\nlog 1\n</console_output>"
            )
        );
        assert_eq!(laid_out(&[], None), None);
        assert_eq!(
            laid_out(&[Piece::Text("before\n".into())], Some("Error: x")).as_deref(),
            Some("before\nScript error:\nError: x")
        );
    }

    #[test]
    fn output_over_the_budget_keeps_both_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        // Recorded from Pi 1.6.0, but for the file's digits.
        let (text, file) = cut("x".repeat(100), Some(10), folder.path());
        let file = file.expect("a file");
        assert_eq!(
            text,
            format!(
                "Warning: truncated output (original token count: 25)\nTotal output lines: 1\n\n{0}…15 tokens \
                 truncated…{0}\n\n[Full output: {file} (read with offset/limit)]",
                "x".repeat(20)
            )
        );
        assert_eq!(std::fs::read_to_string(file).ok(), Some("x".repeat(100)));
        assert_eq!(cut("xx".into(), None, folder.path()), ("xx".into(), None));
    }
}

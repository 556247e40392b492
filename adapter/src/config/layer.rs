//! One configuration file, read under bounds: a repository that was only cloned may have written it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Map;

use crate::edits::{FileText, read_regular};
use crate::line::one_line;
use crate::texts;

/// The most that a configuration file may weigh, in bytes. A larger one is malformed.
const MAX_BYTES: u64 = 64 * 1024;

/// A value of a layer, before its type is known.
pub(super) enum Value<'a> {
    /// Of an environment variable, never empty.
    Variable(&'a str),
    /// Of a file.
    Json(&'a serde_json::Value),
}

impl<'a> Value<'a> {
    /// The value as text.
    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Self::Variable(text) => Some(text),
            Self::Json(value) => value.as_str(),
        }
    }
}

/// A value as a switch: JSON's own booleans, or the words of C4.
pub(super) fn switch(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Json(value) => value.as_bool(),
        Value::Variable(word) => match word.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        },
    }
}

/// A file's keys, or what is wrong with it.
#[derive(Default)]
pub(super) struct FileLayer {
    path: PathBuf,
    keys: Map<String, serde_json::Value>,
    /// The line of each key, from 1.
    lines: BTreeMap<String, usize>,
    problem: Option<String>,
}

impl FileLayer {
    /// Reads a file. A missing one is an empty layer, and so is one with a problem (C3).
    pub(super) fn read(path: &Path) -> Self {
        let mut layer = Self {
            path: path.to_path_buf(),
            ..Self::default()
        };
        match read_regular(path, MAX_BYTES) {
            Ok(FileText::Text(text)) => {
                let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
                match serde_json::from_str::<Map<_, _>>(text) {
                    Ok(keys) => {
                        layer.keys = keys;
                        layer.lines = key_lines(text);
                    }
                    Err(error) => layer.problem = Some(texts::bad_file(&layer.line(error.line()))),
                }
            }
            Ok(FileText::Absent) => {}
            Ok(FileText::LeftOut(_)) | Err(_) => {
                layer.problem = Some(texts::bad_file(&layer.shown()));
            }
        }
        layer
    }

    pub(super) fn get(&self, key: &str) -> Option<&serde_json::Value> {
        self.keys.get(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    pub(super) fn problem(&self) -> Option<String> {
        self.problem.clone()
    }

    /// File, line and key, for the user.
    pub(super) fn place(&self, key: &str) -> String {
        let line = self.lines.get(key).copied().unwrap_or(1);
        format!("{}, key {}", self.line(line), one_line(key, 40))
    }

    fn line(&self, line: usize) -> String {
        format!("{} line {line}", self.shown())
    }

    fn shown(&self) -> String {
        one_line(&self.path.to_string_lossy(), 300)
    }
}

/// The line, from 1, of each key of a valid document's outermost object; its last, as that one counts. Reads the text
/// once, however many keys it has.
fn key_lines(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let (mut line, mut depth) = (1, 0_usize);
    let mut rest = text.char_indices();
    while let Some((start, letter)) = rest.next() {
        match letter {
            '\n' => line += 1,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let mut escaped = false;
                let end = rest.by_ref().find(|(_, letter)| {
                    let ends = *letter == '"' && !escaped;
                    escaped = *letter == '\\' && !escaped;
                    ends
                });
                let Some((end, _)) = end else { break };
                let is_key = depth == 1 && text[end + 1..].trim_start().starts_with(':');
                if is_key && let Ok(key) = serde_json::from_str(&text[start..=end]) {
                    found.insert(key, line);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c3_a_key_is_found_on_its_own_line() {
        let text = "{\n  \"enforce\": {\"bin\": 1},\n  \"x\": \"bin\",\n  \"b\\u0069n\": \"a\\\"}\",\n  \"enforce\": 3\n}";
        let lines = [("bin", 4), ("enforce", 5), ("x", 3)];
        assert_eq!(
            key_lines(text),
            lines.map(|(key, line)| (key.to_owned(), line)).into()
        );
    }

    #[test]
    fn c4_switches_take_words_in_any_case_from_variables_only() {
        let words = [
            "1", "TRUE", "Yes", "on", "0", "false", "NO", "Off", "maybe", "2",
        ];
        let read = words.map(|word| switch(&Value::Variable(word)));
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(read, [yes, yes, yes, yes, no, no, no, no, None, None]);
        assert_eq!(switch(&Value::Json(&serde_json::json!("true"))), None);
        assert_eq!(switch(&Value::Json(&serde_json::json!(false))), no);
    }
}

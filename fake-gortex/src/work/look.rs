//! The tools `read` and `search`: a file's text, and lines that hold a fixed text.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{arguments, paths};

/// How many files one search looks into, how many entries of folders it looks at, and how many lines it tells.
const FILES: usize = 2000;
const ENTRIES: usize = 20_000;
const HITS: usize = 100;
/// How much text one search reads, in bytes.
const TEXT: usize = 64 << 20;
/// Folders that hold no source.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Gives the text of the file that the arguments name.
///
/// # Errors
/// When none is named, it is not there, or it is not readable text.
pub(super) fn read(root: &Path, arguments: &Map<String, Value>) -> Result<String, String> {
    let path = arguments::path(arguments)?;
    let file = paths::resolve(root, path)?;
    paths::read(&file)?.ok_or_else(|| format!("{path}: no such file"))
}

/// Gives the lines that hold the text of the arguments, as `path:line: text`, in the order of the paths.
///
/// # Errors
/// When no text is given.
pub(super) fn search(root: &Path, arguments: &Map<String, Value>) -> Result<String, String> {
    let query = arguments::text(arguments, &["query", "pattern", "text", "name"])
        .ok_or("no query given")?;
    let mut hits = Vec::new();
    let mut text_left = TEXT;
    for file in files(root) {
        // A file that cannot be read as text holds no text.
        let Ok(Some(text)) = paths::read(&file) else {
            continue;
        };
        let Some(left) = text_left.checked_sub(text.len()) else {
            break;
        };
        text_left = left;
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        for (index, line) in text.lines().enumerate() {
            if line.contains(query) {
                hits.push(format!("{name}:{}: {}", index + 1, line.trim()));
            }
        }
        if hits.len() >= HITS {
            hits.truncate(HITS);
            break;
        }
    }
    Ok(if hits.is_empty() {
        format!("nothing found for {query}")
    } else {
        hits.join("\n")
    })
}

/// The regular files below a folder, sorted, without following links.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    let mut entries_left = ENTRIES;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten().take(entries_left) {
            entries_left -= 1;
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_file() {
                found.push(entry.path());
            } else if kind.is_dir() && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    found.truncate(FILES);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn finds_lines_in_the_order_of_the_paths() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path();
        fs::create_dir_all(root.join("b/target")).expect("folders");
        fs::write(root.join("b/x"), "no\n  a.b \n").expect("file");
        fs::write(root.join("b/target/y"), "a.b").expect("file");
        fs::write(root.join("a"), "a.b\nacb").expect("file");
        fs::write(root.join("binary"), [0xff, 0xfe]).expect("file");
        let ask = |query: &str| {
            let arguments = json!({ "query": query });
            search(root, arguments.as_object().expect("object"))
        };
        assert_eq!(ask("a.b"), Ok("a:1: a.b\nb/x:2: a.b".to_owned()));
        assert_eq!(ask("zzz"), Ok("nothing found for zzz".to_owned()));
        assert!(ask("").is_err());
    }
}

//! Which tests cite which ids.
//!
//! A Rust test cites ids by its name: the words before the first that is none, as in `r5_o01_a_turn_waits`. A TypeScript
//! test cites those that the first line of its file names in brackets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::table::is_known;

/// A test that cites ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CitedTest {
    /// Its file, relative to the workspace, and its name.
    pub name: String,
    /// The ids, all of them known.
    pub ids: Vec<String>,
}

/// Where tests of the adapter stand, relative to the workspace.
const FOLDERS: [&str; 6] = [
    "adapter/src",
    "adapter/tests",
    "adapter/node/src",
    "adapter/node/tests",
    "adapter/package/test",
    "scenarios/tests",
];

/// The largest file that is looked at, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Lists the tests below `workspace` that cite ids, in order of their names. A folder that is not there has none.
///
/// # Errors
/// When a folder or file that is there cannot be read.
pub fn cited_tests(workspace: &Path) -> io::Result<Vec<CitedTest>> {
    let mut tests = Vec::new();
    for folder in FOLDERS.map(|folder| workspace.join(folder)) {
        let mut files = Vec::new();
        if folder.is_dir() {
            find(&folder, &mut files)?;
        }
        for file in files {
            let shown = file.strip_prefix(workspace).unwrap_or(&file).display();
            let text = fs::read_to_string(&file)?;
            let cited = match file.extension().and_then(|ending| ending.to_str()) {
                Some("rs") => of_rust(&text),
                _ => of_typescript(&text),
            };
            tests.extend(cited.into_iter().map(|(name, ids)| CitedTest {
                name: format!("{shown} {name}"),
                ids,
            }));
        }
    }
    tests.sort();
    Ok(tests)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, about) = (entry.path(), entry.metadata()?);
        let name = entry.file_name().to_string_lossy().into_owned();
        if about.is_dir() {
            find(&path, files)?;
        } else if about.is_file()
            && about.len() <= LARGEST
            && (name.ends_with(".rs") || name.ends_with(".test.ts"))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// The tests of a Rust file: functions below an attribute that makes them one.
fn of_rust(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
            is_test = false;
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            let words = name.split('_').map(str::to_ascii_uppercase);
            let ids: Vec<String> = words.take_while(|word| is_known(word)).collect();
            if !ids.is_empty() {
                found.push((name.to_owned(), ids));
            }
        }
    }
    found
}

/// The tests of a TypeScript file, each with the ids of its first line.
fn of_typescript(text: &str) -> Vec<(String, Vec<String>)> {
    let first = text.lines().next().unwrap_or_default();
    let words = first.split(|letter: char| !letter.is_ascii_alphanumeric());
    let ids: Vec<String> = words
        .filter(|word| is_known(word))
        .map(str::to_owned)
        .collect();
    if ids.is_empty() {
        return Vec::new();
    }
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("test(\"")?.split('"').next());
    names.map(|name| (name.to_owned(), ids.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rust_test_cites_by_the_beginning_of_its_name() {
        let text = "#[test]\nfn r5_o01_waits() {}\n#[tokio::test(start_paused = true)]\n#[cfg(unix)]\nasync fn h9_e2e() {}\n\
                    #[test]\nfn plain() {}\nfn c1_no_test() {}\n#[test]\nfn x9_h1_no_id_first() {}\n";
        let ids = |ids: &[&str]| ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            of_rust(text),
            [
                ("r5_o01_waits".to_owned(), ids(&["R5", "O01"])),
                ("h9_e2e".to_owned(), ids(&["H9"]))
            ]
        );
    }

    #[test]
    fn a_typescript_test_cites_by_the_first_line_of_its_file() {
        let text = "/** What is said (F2, O12, X1). */\ntest(\"it is told\", () => {});\n  test(\"nested\", 1);\n";
        let found = of_typescript(text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, ["F2", "O12"]);
        assert!(of_typescript("/** Nothing. */\ntest(\"F2\", 1);\n").is_empty());
    }
}

//! The tool `edit`: replaces text, writes files, does a batch as a whole or not at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{arguments, paths};

/// The keys of the text to be replaced, by the names of `edit` and of a symbol's edit.
const OLD: [&str; 2] = ["old_string", "old_source"];
const NEW: [&str; 2] = ["new_string", "new_source"];

/// What an edit has come to so far: the new text of each file, nothing written yet.
#[derive(Default)]
struct Plan {
    texts: BTreeMap<PathBuf, String>,
    told: Vec<String>,
}

/// Does one `edit` call and tells what became of it.
///
/// # Errors
/// When a file, a text or an argument is not there or not as it must be; then nothing was written, unless the disk
/// refused in the middle of several files.
pub(super) fn edit(
    root: &Path,
    arguments: &Map<String, Value>,
    operation: Option<&str>,
) -> Result<String, String> {
    let mut plan = Plan::default();
    match operation.or_else(|| shape(arguments)) {
        Some("batch") => {
            let items = arguments::items(arguments, &["changes", "edits"])?;
            if items.is_empty() {
                return Err("a batch needs changes".to_owned());
            }
            for item in &items {
                let operation = arguments::text(item, &["operation"]).or_else(|| shape(item));
                plan.add(root, item, operation)?;
            }
        }
        operation => plan.add(root, arguments, operation)?,
    }
    let dry = arguments::flag(arguments, "dry_run");
    if !dry {
        for (file, text) in &plan.texts {
            paths::write(file, text)?;
        }
    }
    let told = plan.told.join("\n");
    Ok(if dry {
        format!("dry run, nothing written\n{told}")
    } else {
        told
    })
}

/// The operation that arguments without one amount to.
fn shape(arguments: &Map<String, Value>) -> Option<&'static str> {
    if arguments.contains_key("content") {
        Some("write")
    } else if arguments.contains_key("changes") {
        Some("batch")
    } else {
        OLD.iter()
            .chain(&["edits"])
            .any(|key| arguments.contains_key(*key))
            .then_some("file")
    }
}

impl Plan {
    fn add(
        &mut self,
        root: &Path,
        arguments: &Map<String, Value>,
        operation: Option<&str>,
    ) -> Result<(), String> {
        match operation {
            Some("write") => self.write(root, arguments),
            // A symbol is edited as its file is: by the text that stands there.
            Some("file" | "symbol") => self.replace(root, arguments),
            Some(other) => Err(format!("unknown operation: {other}")),
            None => Err("no operation given".to_owned()),
        }
    }

    fn write(&mut self, root: &Path, arguments: &Map<String, Value>) -> Result<(), String> {
        let path = arguments::path(arguments)?;
        let content = arguments
            .get("content")
            .and_then(Value::as_str)
            .ok_or_else(|| format!("{path}: no content given"))?;
        self.texts
            .insert(paths::resolve(root, path)?, content.to_owned());
        self.told
            .push(format!("wrote {path}: {} bytes", content.len()));
        Ok(())
    }

    fn replace(&mut self, root: &Path, arguments: &Map<String, Value>) -> Result<(), String> {
        let path = arguments::path(arguments)?;
        let file = paths::resolve(root, path)?;
        let mut text = match self.texts.get(&file) {
            Some(text) => text.clone(),
            None => paths::read(&file)?.ok_or_else(|| format!("{path}: no such file"))?,
        };
        let mut steps = arguments::items(arguments, &["edits"])?;
        if steps.is_empty() {
            steps.push(arguments.clone());
        }
        let mut count = 0;
        for step in &steps {
            count +=
                one_replacement(&mut text, step).map_err(|error| format!("{path}: {error}"))?;
        }
        self.texts.insert(file, text);
        let s = if count == 1 { "" } else { "s" };
        self.told
            .push(format!("edited {path}: {count} replacement{s}"));
        Ok(())
    }
}

/// Replaces one text in another and tells how often. Without `replace_all` the text must stand there exactly once.
fn one_replacement(text: &mut String, step: &Map<String, Value>) -> Result<usize, String> {
    let old = arguments::text(step, &OLD).ok_or("no text to replace given")?;
    let new = NEW
        .iter()
        .find_map(|key| step.get(*key).and_then(Value::as_str))
        .ok_or("no new text given")?;
    let count = text.matches(old).count();
    match count {
        0 => return Err("the text to replace is not there".to_owned()),
        1 => {}
        _ if arguments::flag(step, "replace_all") => {}
        _ => return Err(format!("the text to replace is there {count} times")),
    }
    let growth = new.len().saturating_sub(old.len()).saturating_mul(count);
    if text.len().saturating_add(growth) as u64 > paths::LIMIT {
        return Err("the new text is too large".to_owned());
    }
    *text = text.replace(old, new);
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{flatten, perform};
    use serde_json::json;
    use std::fs;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("folder");
            fs::write(folder.path().join("a"), "one\ntwo\ntwo\n").expect("file");
            fs::write(folder.path().join("b"), "three\n").expect("file");
            Self(folder)
        }
        fn call(&self, tool: &str, arguments: &Value) -> Result<String, String> {
            let arguments = flatten(arguments.as_object().expect("object"));
            perform(self.0.path(), tool, &arguments)
        }
        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.0.path().join(name)).expect("text")
        }
    }

    #[test]
    fn replaces_text_that_stands_once() {
        let repository = Repository::new();
        let edit = |old: &str| json!({ "operation": "file", "path": "a", "old_string": old, "new_string": "1" });
        assert_eq!(
            repository.call("edit", &edit("one")),
            Ok("edited a: 1 replacement".to_owned())
        );
        assert_eq!(repository.text("a"), "1\ntwo\ntwo\n");
        assert!(repository.call("edit", &edit("two")).is_err());
        assert!(repository.call("edit", &edit("none")).is_err());
        assert!(repository.call("edit", &edit("")).is_err());
        assert_eq!(repository.text("a"), "1\ntwo\ntwo\n");
        let all = json!({ "arguments": { "operation": "file", "old_string": "two", "new_string": "" },
            "target": { "file": "a" }, "options": { "replace_all": true } });
        assert_eq!(
            repository.call("edit", &all),
            Ok("edited a: 2 replacements".to_owned())
        );
        assert_eq!(repository.text("a"), "1\n\n\n");
    }

    #[test]
    fn a_list_of_edits_works_on_what_the_one_before_left() {
        let repository = Repository::new();
        let edits = json!({ "path": "a", "edits": [
            { "old_string": "one", "new_string": "1" }, { "old_string": "1", "new_string": "I" }] });
        assert_eq!(
            repository.call("edit", &edits),
            Ok("edited a: 2 replacements".to_owned())
        );
        assert_eq!(repository.text("a"), "I\ntwo\ntwo\n");
    }

    #[test]
    fn a_batch_is_done_as_a_whole_or_not_at_all() {
        let repository = Repository::new();
        let batch = |last: &str| {
            json!({ "operation": "batch", "changes": json!([
                { "path": "a", "old_string": "one", "new_string": "1" },
                { "file": "new/c", "content": "" },
                { "file_path": "b", "old_string": last, "new_string": "3" },
            ]).to_string() })
        };
        assert!(repository.call("edit", &batch("none")).is_err());
        assert_eq!(repository.text("a"), "one\ntwo\ntwo\n");
        assert!(!repository.0.path().join("new").exists());
        let told = repository.call("edit", &batch("three")).expect("batch");
        assert_eq!(
            told,
            "edited a: 1 replacement\nwrote new/c: 0 bytes\nedited b: 1 replacement"
        );
        assert_eq!(repository.text("a"), "1\ntwo\ntwo\n");
        assert_eq!(repository.text("b"), "3\n");
        assert_eq!(repository.text("new/c"), "");
    }

    #[test]
    fn a_dry_run_writes_nothing() {
        let repository = Repository::new();
        let write = json!({ "operation": "write", "path": "c", "content": "x", "dry_run": true });
        let told = repository.call("edit", &write).expect("dry run");
        assert!(told.starts_with("dry run"), "{told}");
        assert!(!repository.0.path().join("c").exists());
    }

    #[test]
    fn the_earlier_names_do_the_same() {
        let repository = Repository::new();
        let old = json!({ "path": "a", "old_string": "one", "new_string": "1" });
        repository.call("edit_file", &old).expect("edit_file");
        let symbol = json!({ "id": "b::f", "old_source": "three", "new_source": "3" });
        repository
            .call("edit_symbol", &symbol)
            .expect("edit_symbol");
        let write = json!({ "path": "c", "content": "x" });
        repository.call("write_file", &write).expect("write_file");
        let batch = json!({ "edits": [{ "path": "c", "old_string": "x", "new_string": "y" }] });
        repository.call("batch_edit", &batch).expect("batch_edit");
        assert_eq!(repository.text("a"), "1\ntwo\ntwo\n");
        assert_eq!(repository.text("b"), "3\n");
        assert_eq!(repository.text("c"), "y");
    }

    #[test]
    fn odd_arguments_are_errors() {
        let repository = Repository::new();
        for odd in [
            json!({}),
            json!({ "operation": 3 }),
            json!({ "operation": "melt", "path": "a" }),
            json!({ "operation": "file" }),
            json!({ "operation": "file", "path": "a" }),
            json!({ "operation": "file", "path": "a", "old_string": "one" }),
            json!({ "operation": "write", "path": "a", "content": 3 }),
            json!({ "operation": "write", "path": "../out", "content": "" }),
            json!({ "operation": "batch" }),
            json!({ "operation": "batch", "changes": {} }),
        ] {
            assert!(repository.call("edit", &odd).is_err(), "{odd}");
        }
    }
}

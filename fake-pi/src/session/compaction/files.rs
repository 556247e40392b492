//! The files that Pi's own tools read and changed in what a summary sums up.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Paths as calls named them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Files {
    read: BTreeSet<String>,
    changed: BTreeSet<String>,
}

impl Files {
    /// The files that an earlier compaction of Pi's own named; an extension's has details of its own.
    pub(crate) fn of_compaction(entry: &Value) -> Self {
        let mut files = Self::default();
        files.take_up(entry);
        files
    }

    /// Takes up what a summary of Pi's own named.
    pub(crate) fn take_up(&mut self, entry: &Value) {
        if entry["fromHook"] == true {
            return;
        }
        let names = |member: &str| {
            let names = entry["details"][member].as_array().into_iter().flatten();
            let names = names.filter_map(|name| name.as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        self.read.extend(names("readFiles"));
        self.changed.extend(names("modifiedFiles"));
    }

    /// Notes the calls of an assistant message, and those that a script's result holds.
    pub(crate) fn note(&mut self, message: &Value) {
        let calls = match message["role"].as_str() {
            Some("assistant") => &message["content"],
            Some("toolResult") => &message["nestedCalls"]["calls"],
            _ => return,
        };
        for call in calls.as_array().into_iter().flatten() {
            let Some(path) = call["arguments"]["path"]
                .as_str()
                .filter(|path| !path.is_empty())
            else {
                continue;
            };
            match call["name"].as_str() {
                Some("read") => drop(self.read.insert(path.to_owned())),
                Some("write" | "edit") => drop(self.changed.insert(path.to_owned())),
                _ => {}
            }
        }
    }

    fn only_read(&self) -> Vec<&String> {
        self.read.difference(&self.changed).collect()
    }

    /// The details of a summary.
    pub(crate) fn details(&self) -> Value {
        json!({"readFiles": self.only_read(), "modifiedFiles": self.changed})
    }

    /// What is put behind a summary.
    pub(crate) fn written(&self) -> String {
        let list = |tag: &str, names: Vec<&String>| {
            let lines: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            match lines.as_slice() {
                [] => String::new(),
                lines => format!("\n\n<{tag}>\n{}\n</{tag}>", lines.join("\n")),
            }
        };
        list("read-files", self.only_read())
            + &list("modified-files", self.changed.iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_is_not_listed_as_read() {
        let mut files = Files::default();
        let call = |name: &str, path: &str| json!({"type": "toolCall", "name": name, "arguments": {"path": path}});
        files.note(&json!({"role": "assistant", "content": [call("read", "a"), call("read", "b"), call("edit", "b"),
            call("bash", "c")]}));
        assert_eq!(
            files.written(),
            "\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nb\n</modified-files>"
        );
        assert_eq!(
            files.details(),
            json!({"readFiles": ["a"], "modifiedFiles": ["b"]})
        );
        assert_eq!(Files::default().written(), "");
    }
}

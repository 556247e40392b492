//! Which calls write files, and which files (wire.md "Which calls write files, and which").

use serde_json::{Map, Value};

use crate::hook::graph_tool;

/// What a call may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// The files that it names, as it names them, each once and in order. `diffs` says whether they are Gortex's to
    /// show: Pi draws its own edits itself.
    Files {
        /// As the call spells them.
        paths: Vec<String>,
        /// Whether the result gets diffs of them.
        diffs: bool,
    },
    /// Files that it does not name: a shell command, a refactoring.
    Unnamed,
}

/// Arguments whose members count as if they stood at the top.
const CONTAINERS: [&str; 6] = [
    "arguments",
    "options",
    "source",
    "context",
    "guard",
    "output",
];
/// Arguments that name a file.
const PATH_KEYS: [&str; 5] = ["path", "file", "file_path", "source", "destination"];
/// Arguments that name a symbol, as `<path>::<name>`.
const SYMBOL_KEYS: [&str; 3] = ["id", "symbol", "symbol_id"];
/// Arguments that list the items of a batch.
const BATCH_KEYS: [&str; 2] = ["changes", "edits"];
/// Containers within containers that are opened.
const MAX_DEPTH: usize = 4;
/// Files of one call that are looked at.
const MAX_FILES: usize = 256;
/// The longest path that is taken for one, in bytes.
const MAX_PATH: usize = 4096;

/// Reads a call's arguments.
#[must_use]
pub fn named_writes(tool: &str, input: &Value) -> Writes {
    let top = Scope::of(input);
    let Some(bare) = graph_tool(tool) else {
        return match tool {
            "bash" | "powershell" => Writes::Unnamed,
            "edit" | "write" => Writes::Files {
                paths: top.string("path").map(str::to_owned).into_iter().collect(),
                diffs: false,
            },
            _ => Writes::Nothing,
        };
    };
    let names_files = match bare {
        "edit" => matches!(
            top.string("operation"),
            Some("file" | "symbol" | "write" | "batch")
        ),
        "edit_file" | "write_file" | "edit_symbol" | "batch_edit" => true,
        "refactor" | "change" | "rename_symbol" => false,
        _ => return Writes::Nothing,
    };
    if top
        .first("dry_run")
        .is_some_and(|value| value == &Value::Bool(true) || value == "true")
    {
        Writes::Nothing
    } else if names_files {
        let mut paths = Vec::new();
        top.collect(&mut paths);
        for key in BATCH_KEYS {
            for item in top.batch(key) {
                Scope::of(&item).collect(&mut paths);
            }
        }
        Writes::Files { paths, diffs: true }
    } else {
        Writes::Unnamed
    }
}

/// An object with its containers opened, outermost first.
struct Scope<'a>(Vec<&'a Map<String, Value>>);

impl<'a> Scope<'a> {
    fn of(input: &'a Value) -> Self {
        let mut scope = Self(Vec::new());
        let mut level: Vec<&Map<_, _>> = input.as_object().into_iter().collect();
        for _ in 0..MAX_DEPTH {
            let open = |object: &&'a Map<String, Value>| -> Vec<&'a Map<String, Value>> {
                CONTAINERS
                    .iter()
                    .filter_map(|key| object.get(*key)?.as_object())
                    .collect()
            };
            let next = level.iter().flat_map(open).collect();
            scope.0.append(&mut level);
            level = next;
        }
        scope
    }

    /// The outermost value of a key.
    fn first(&self, key: &str) -> Option<&'a Value> {
        self.0.iter().find_map(|object| object.get(key))
    }

    /// The outermost text of a key: a container of the same name (`source`) is no text.
    fn string(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find_map(|object| object.get(key)?.as_str())
            .filter(|text| !text.is_empty())
    }

    fn batch(&self, key: &str) -> Vec<Value> {
        match self.first(key) {
            Some(Value::Array(items)) => items.iter().take(MAX_FILES).cloned().collect(),
            Some(Value::String(text)) => {
                let mut items: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
                items.truncate(MAX_FILES);
                items
            }
            _ => Vec::new(),
        }
    }

    fn collect(&self, paths: &mut Vec<String>) {
        let target = self.first("target").and_then(Value::as_object);
        let in_target = |key: &str| target?.get(key)?.as_str();
        let files = PATH_KEYS
            .iter()
            .filter_map(|key| self.string(key))
            .chain(in_target("file"));
        let symbols = SYMBOL_KEYS
            .iter()
            .filter_map(|key| self.string(key))
            .chain(in_target("symbol"));
        let of_symbols = symbols
            .filter_map(|symbol| symbol.split_once("::"))
            .map(|(path, _)| path);
        for path in files.chain(of_symbols) {
            let usable = !path.is_empty() && path.len() <= MAX_PATH && paths.len() < MAX_FILES;
            if usable && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(tool: &str, input: &Value) -> Vec<String> {
        match named_writes(tool, input) {
            Writes::Files { paths, diffs: true } => paths,
            other => panic!("{tool} {input}: {other:?}"),
        }
    }

    #[test]
    fn e1_paths_stand_at_the_top_in_containers_and_in_the_target() {
        let inputs = [
            json!({"operation": "file", "path": "a"}),
            json!({"operation": "file", "target": {"file": "a"}}),
            json!({"operation": "symbol", "target": {"symbol": "a::f"}}),
            json!({"operation": "symbol", "symbol_id": "a::f::g"}),
            json!({"arguments": {"operation": "write", "options": {"file_path": "a"}}}),
            json!({"operation": "write", "source": {"path": "a"}, "context": {"path": "b"}}),
        ];
        for input in &inputs {
            assert_eq!(files("mcp__gortex__edit", input), ["a"], "{input}");
        }
        let moved = json!({"operation": "file", "source": "a", "destination": "b"});
        assert_eq!(files("mcp__gortex__edit", &moved), ["a", "b"]);
        let both = json!({"operation": "file", "path": "top", "arguments": {"path": "inner"}});
        assert_eq!(files("mcp__gortex__edit", &both), ["top"]);
    }

    #[test]
    fn e1_a_batch_is_a_list_or_the_text_of_one() {
        let list = json!([{"path": "a"}, {"target": {"symbol": "b::f"}}, {"arguments": {"file": "c"}}, 7, {"path": "a"}]);
        let inputs = [
            json!({"operation": "batch", "changes": list}),
            json!({"operation": "batch", "edits": list.to_string()}),
            json!({"operation": "batch", "options": {"changes": list}}),
        ];
        for input in &inputs {
            assert_eq!(
                files("mcp__gortex__edit", input),
                ["a", "b", "c"],
                "{input}"
            );
        }
        assert_eq!(
            files("mcp__gortex__batch_edit", &json!({"edits": "not a list"})),
            [""; 0]
        );
    }

    #[test]
    fn e2_dry_runs_and_readers_write_nothing() {
        let calls = [
            (
                "mcp__gortex__edit",
                json!({"operation": "file", "path": "a", "dry_run": true}),
            ),
            (
                "mcp__gortex__edit_file",
                json!({"path": "a", "guard": {"dry_run": true}}),
            ),
            ("mcp__gortex__read", json!({"path": "a"})),
            ("read", json!({"path": "a"})),
        ];
        for (tool, input) in calls {
            assert_eq!(named_writes(tool, &input), Writes::Nothing, "{tool}");
        }
    }

    #[test]
    fn e3_e4_pis_own_writers_count() {
        let paths = vec!["a".to_owned()];
        assert_eq!(
            named_writes("edit", &json!({"path": "a"})),
            Writes::Files {
                paths: paths.clone(),
                diffs: false
            }
        );
        assert_eq!(
            named_writes("write", &json!({"path": "a"})),
            Writes::Files {
                paths,
                diffs: false
            }
        );
        for tool in ["bash", "mcp__gortex__refactor", "mcp__gortex__change"] {
            assert_eq!(
                named_writes(tool, &json!({"path": "a"})),
                Writes::Unnamed,
                "{tool}"
            );
        }
    }

    #[test]
    fn e1_hostile_arguments_are_bounded() {
        let many: Vec<Value> = (0..5000)
            .map(|item| json!({"path": format!("f{item}")}))
            .collect();
        assert_eq!(
            files("mcp__gortex__batch_edit", &json!({"edits": many})).len(),
            MAX_FILES
        );
        let mut deep = json!({"path": "a"});
        for _ in 0..100 {
            deep = json!({"arguments": deep});
        }
        assert_eq!(files("mcp__gortex__edit_file", &deep), [""; 0]);
        assert_eq!(
            files("mcp__gortex__edit_file", &json!({"path": "x".repeat(5000)})),
            [""; 0]
        );
    }
}

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
/// Members that say what a call writes, besides those that name files.
const OTHER_KEYS: [&str; 3] = ["operation", "dry_run", "target"];
/// Files of one call that are looked at.
const MAX_FILES: usize = 256;
/// The longest path that is taken for one, in bytes.
const MAX_PATH: usize = 4096;
/// The longest text that is read as the list of a batch, in bytes.
const MAX_LIST: usize = 1024 * 1024;

/// Reads a call's arguments.
///
/// A call that may write files which cannot be read from them is [`Writes::Unnamed`]: were it to claim only what was
/// understood, a parallel call would show the rest as its own (E3, E4).
#[must_use]
pub fn named_writes(tool: &str, input: &Value) -> Writes {
    let Some(bare) = graph_tool(tool) else {
        return match tool {
            "bash" | "powershell" => Writes::Unnamed,
            "edit" | "write" => pis_own(input),
            _ => Writes::Nothing,
        };
    };
    let top = Scope::of(input);
    let names_files = match bare {
        "edit" => matches!(
            top.string("operation"),
            Some("file" | "symbol" | "write" | "batch")
        ),
        "edit_file" | "write_file" | "edit_symbol" | "batch_edit" => true,
        "refactor" | "change" | "rename_symbol" => false,
        _ => return Writes::Nothing,
    };
    // Gortex takes nothing else for it, the text "true" included.
    if top.first("dry_run") == Some(&Value::Bool(true)) {
        return Writes::Nothing;
    }
    let mut paths = Vec::new();
    let all = names_files && top.collect(&mut paths) && top.collect_batches(&mut paths);
    if all && !paths.is_empty() {
        Writes::Files { paths, diffs: true }
    } else {
        Writes::Unnamed
    }
}

/// What Pi's own `edit` or `write` writes. It takes a `file:` URL too, whose spelling of a path is not read here.
fn pis_own(input: &Value) -> Writes {
    let path = input.get("path").and_then(Value::as_str);
    let is_url = |path: &str| path.strip_prefix('@').unwrap_or(path).starts_with("file:");
    match path.filter(|path| is_usable(path) && !is_url(path)) {
        Some(path) => Writes::Files {
            paths: vec![path.to_owned()],
            diffs: false,
        },
        None => Writes::Unnamed,
    }
}

fn is_usable(path: &str) -> bool {
    !path.is_empty() && path.len() <= MAX_PATH
}

/// An object and its containers, the object first.
struct Scope<'a> {
    objects: Vec<&'a Map<String, Value>>,
    /// Whether a container within a container may hold more. Gortex is known to open one level (wire.md); whether it
    /// opens more is not, so what lies deeper is neither used nor passed over.
    hidden: bool,
}

impl<'a> Scope<'a> {
    fn of(input: &'a Value) -> Self {
        let mut objects: Vec<&Map<_, _>> = input.as_object().into_iter().collect();
        let containers: Vec<_> = objects.iter().flat_map(|top| containers_of(top)).collect();
        let matters = |inner: &Map<String, Value>| {
            let telling = [&PATH_KEYS[..], &SYMBOL_KEYS, &BATCH_KEYS, &OTHER_KEYS].concat();
            telling.iter().any(|key| inner.contains_key(*key))
                || containers_of(inner).next().is_some()
        };
        let hidden = containers
            .iter()
            .flat_map(|container| containers_of(container))
            .any(matters);
        objects.extend(containers);
        Self { objects, hidden }
    }

    /// The value of a key: the top's, else that of the first container that has it.
    fn first(&self, key: &str) -> Option<&'a Value> {
        self.objects.iter().find_map(|object| object.get(key))
    }

    /// The text of a key: a container of the same name (`source`) is no text.
    fn string(&self, key: &str) -> Option<&'a str> {
        self.objects
            .iter()
            .find_map(|object| object.get(key)?.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Adds the files that are named here. False where there may be more.
    fn collect(&self, paths: &mut Vec<String>) -> bool {
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
        let mut all = !self.hidden;
        for path in files.chain(of_symbols).filter(|path| !path.is_empty()) {
            if paths.iter().any(|known| known == path) {
                continue;
            }
            if is_usable(path) && paths.len() < MAX_FILES {
                paths.push(path.to_owned());
            } else {
                all = false;
            }
        }
        all
    }

    /// Adds the files of the batches. False where there may be more.
    fn collect_batches(&self, paths: &mut Vec<String>) -> bool {
        let beside = !paths.is_empty();
        BATCH_KEYS
            .iter()
            .filter_map(|key| self.first(key))
            .all(|list| match list {
                Value::Null => true,
                Value::Array(items) => collect_items(items, beside, paths),
                Value::String(text) if text.len() <= MAX_LIST => {
                    serde_json::from_str::<Vec<Value>>(text)
                        .is_ok_and(|items| collect_items(&items, beside, paths))
                }
                _ => false,
            })
    }
}

/// Adds the files of a batch's items. An item that names none has to have one `beside` it: then it is one of several
/// replacements in that file.
fn collect_items(items: &[Value], beside: bool, paths: &mut Vec<String>) -> bool {
    items.len() <= MAX_FILES
        && items.iter().all(|item| {
            let mut own = Vec::new();
            let all = Scope::of(item).collect(&mut own);
            let named = beside || !own.is_empty();
            for path in own {
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
            all && named && paths.len() <= MAX_FILES
        })
}

fn containers_of(object: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    CONTAINERS
        .iter()
        .filter_map(|key| object.get(*key)?.as_object())
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
            json!({"arguments": {"operation": "write"}, "options": {"file_path": "a"}}),
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
        let list = json!([{"path": "a"}, {"target": {"symbol": "b::f"}}, {"arguments": {"file": "c"}}, {"path": "a"}]);
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
        let steps = json!({"operation": "file", "path": "a", "edits": [{"old_string": "x"}, {"old_string": "y"}]});
        assert_eq!(files("mcp__gortex__edit", &steps), ["a"]);
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
    fn e4_files_that_cannot_be_read_make_an_unnamed_writer() {
        let many: Vec<Value> = (0..=MAX_FILES)
            .map(|item| json!({"path": format!("f{item}")}))
            .collect();
        let mut deep = json!({"path": "b"});
        for _ in 0..100 {
            deep = json!({"arguments": deep});
        }
        let inputs = [
            json!({}),
            json!("text"),
            json!({"path": ""}),
            json!({"path": "x".repeat(MAX_PATH + 1)}),
            json!({"path": "a", "file": "x".repeat(MAX_PATH + 1)}),
            json!({"id": "no separator"}),
            json!({"edits": many}),
            json!({"path": "a", "edits": many}),
            json!({"edits": Value::from(many.clone()).to_string()}),
            json!({"path": "a", "edits": "not a list"}),
            json!({"path": "a", "changes": {"path": "b"}}),
            json!({"path": "a", "changes": format!("[{}]", " ".repeat(MAX_LIST))}),
            json!({"edits": [{"path": "a"}, {"old_string": "x"}]}),
            json!({"edits": [{"path": "a"}, 7]}),
            json!({"edits": [{"path": "a"}, deep]}),
            json!({"path": "a", "options": {"guard": {"path": "b"}}}),
            json!({"path": "a", "options": deep}),
        ];
        for input in &inputs {
            assert_eq!(
                named_writes("mcp__gortex__edit_file", input),
                Writes::Unnamed,
                "{input}"
            );
        }
        let full = Value::from(&many[..MAX_FILES]);
        assert_eq!(
            files("mcp__gortex__edit_file", &json!({"edits": full})).len(),
            MAX_FILES
        );
        // What lies deeper and names nothing hides nothing.
        let harmless = json!({"path": "a", "options": {"context": {"lines": 3}}});
        assert_eq!(files("mcp__gortex__edit_file", &harmless), ["a"]);
        for path in ["", "file:///a", "@file:///a"] {
            assert_eq!(
                named_writes("write", &json!({"path": path})),
                Writes::Unnamed,
                "{path}"
            );
        }
    }

    #[test]
    fn e4_only_the_switch_itself_makes_a_dry_run() {
        for dry_run in [json!("true"), json!(1), json!(false)] {
            let input = json!({"path": "a", "dry_run": dry_run, "guard": {"dry_run": true}});
            assert_eq!(files("mcp__gortex__edit_file", &input), ["a"], "{input}");
        }
    }
}

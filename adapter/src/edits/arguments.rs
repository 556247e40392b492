//! Which calls write files, and which files (wire.md "Which calls write files, and which").

use serde_json::Value;

use super::scope::{Found, MAX_PATH, Scope};
use crate::hook::graph_tool;

/// What a call may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    Nothing,
    /// The files that it names.
    Files(NamedFiles),
    /// Files that it does not name: a shell command, a refactoring.
    Unnamed,
    /// What a tool does that is not known: most write nothing, some any file.
    Unknown,
}

/// The files that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// As the call spells them, each once and in order.
    pub paths: Vec<String>,
    /// Longer readings of its symbols' ids: `::` may stand in a path. They count where there is such a file.
    pub cuts: Vec<String>,
    /// Whether it names more than these, so many that the rest is not looked at.
    pub more: bool,
    /// Whether they are Gortex's to show: Pi draws its own edits itself.
    pub diffs: bool,
}

/// Graph tools that write files. All others read.
const GRAPH_WRITERS: [&str; 8] = [
    "edit",
    "edit_file",
    "write_file",
    "edit_symbol",
    "batch_edit",
    "refactor",
    "change",
    "rename_symbol",
];
/// Tools of Pi's own that write nothing themselves. What a codemode script calls is seen call by call.
const READERS: [&str; 9] = [
    "read",
    "grep",
    "find",
    "ls",
    "codemode",
    "tool_search",
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
];

/// What a tool may write, where its name alone tells; `None` where its arguments do. One that is not known, of another
/// extension or another server, may write (E4).
#[must_use]
pub fn writes_by_name(tool: &str) -> Option<Writes> {
    match (graph_tool(tool), tool) {
        (Some(bare), _) => (!GRAPH_WRITERS.contains(&bare)).then_some(Writes::Nothing),
        (None, "edit" | "write") => None,
        (None, "bash" | "powershell") => Some(Writes::Unnamed),
        (None, _) if READERS.contains(&tool) => Some(Writes::Nothing),
        (None, _) => Some(Writes::Unknown),
    }
}

/// Reads a call's arguments, which takes a while where they are large.
///
/// A call that may write files which cannot be read from them is [`Writes::Unnamed`]: were it to claim only what was
/// understood, a parallel call would show the rest as its own (E3, E4).
#[must_use]
pub fn named_writes(tool: &str, input: &Value) -> Writes {
    if let Some(known) = writes_by_name(tool) {
        return known;
    }
    let Some(bare) = graph_tool(tool) else {
        return pis_own(input);
    };
    let Some(top) = input.as_object().map(Scope::of) else {
        return Writes::Unnamed;
    };
    // Gortex takes nothing else for it, the text "true" included.
    let dry_run = top.first("dry_run") == Some(&Value::Bool(true));
    let names_files = match bare {
        "edit" => matches!(
            top.string("operation"),
            Some("file" | "symbol" | "write" | "batch")
        ),
        "refactor" | "change" | "rename_symbol" => false,
        _ => true,
    };
    let mut found = Found::default();
    if dry_run {
        Writes::Nothing
    } else if names_files && top.read(&mut found) {
        Writes::Files(found.into_files())
    } else {
        Writes::Unnamed
    }
}

/// What Pi's own `edit` or `write` writes. It takes a `file:` URL too, whose spelling of a path is not read here.
fn pis_own(input: &Value) -> Writes {
    let path = input.get("path").and_then(Value::as_str);
    let is_url = |path: &str| path.strip_prefix('@').unwrap_or(path).starts_with("file:");
    let is_usable = |path: &&str| !path.is_empty() && path.len() <= MAX_PATH && !is_url(path);
    match path.filter(is_usable) {
        Some(path) => Writes::Files(NamedFiles {
            paths: vec![path.to_owned()],
            ..NamedFiles::default()
        }),
        None => Writes::Unnamed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn files(tool: &str, input: &Value) -> Vec<String> {
        match named_writes(tool, input) {
            Writes::Files(named) if named.diffs && !named.more => named.paths,
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
    fn e1_every_key_counts_in_every_container_and_every_item() {
        let path = ["path", "file", "file_path", "source", "destination"];
        let symbol = ["id", "symbol", "symbol_id"];
        let mut namers = vec![
            json!({"target": {"file": "a"}}),
            json!({"target": {"symbol": "a::f"}}),
        ];
        namers.extend(path.map(|key| json!({key: "a"})));
        namers.extend(symbol.map(|key| json!({key: "a::f"})));
        let containers = [
            "arguments",
            "options",
            "source",
            "context",
            "guard",
            "output",
        ];
        for namer in namers {
            let mut places = vec![namer.clone()];
            places.extend(containers.map(|container| json!({container: namer})));
            for place in places {
                let lists = ["changes", "edits"].map(|list| {
                    let items = json!([place]);
                    [
                        json!({list: items}),
                        json!({list: items.to_string()}),
                        json!({"options": {list: items}}),
                    ]
                });
                for input in lists.as_flattened().iter().chain([&place]) {
                    assert_eq!(files("mcp__gortex__edit_file", input), ["a"], "{input}");
                }
            }
        }
    }

    #[test]
    fn e1_a_list_within_an_item_and_one_below_nothing_are_read() {
        let inputs = [
            json!({"edits": [{"path": "a", "edits": [{"path": "b"}]}]}),
            json!({"path": "a", "edits": null, "arguments": {"edits": [{"path": "b"}]}}),
        ];
        for input in &inputs {
            assert_eq!(
                files("mcp__gortex__batch_edit", input),
                ["a", "b"],
                "{input}"
            );
        }
    }

    #[test]
    fn e4_files_are_counted_and_not_the_replacements_in_them() {
        let read = |edits: Value| {
            let input = json!({"path": "f0", "edits": edits});
            match named_writes("mcp__gortex__edit_file", &input) {
                Writes::Files(named) => (named.paths.len(), named.more),
                other => panic!("{other:?}"),
            }
        };
        let steps = |count| (0..count).map(|step| json!({"old_string": step.to_string()}));
        assert_eq!(read(steps(1000).collect()), (1, false));
        let paths = |count| (0..count).map(|file| json!({"path": format!("f{file}")}));
        assert_eq!(read(paths(256).chain(paths(256)).collect()), (256, false));
        assert_eq!(read(paths(257).collect()), (256, true));
        let text = Value::from_iter(paths(257)).to_string();
        assert_eq!(read(text.into()), (256, true));
    }

    #[test]
    fn e3_a_path_may_hold_what_ends_it_in_a_symbol() {
        let input = json!({"id": "a::b.rs::x", "symbol_id": "c::f"});
        match named_writes("mcp__gortex__edit_symbol", &input) {
            Writes::Files(named) => {
                assert_eq!(named.paths, ["a", "c"]);
                assert_eq!(named.cuts, ["a::b.rs"]);
            }
            other => panic!("{other:?}"),
        }
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
            ("codemode", json!({"code": "write"})),
            ("tool_search", json!({"query": "write"})),
            ("read_mcp_resource", json!({"uri": "a"})),
        ];
        for (tool, input) in calls {
            assert_eq!(named_writes(tool, &input), Writes::Nothing, "{tool}");
        }
    }

    #[test]
    fn e3_e4_pis_own_writers_count() {
        let pis = Writes::Files(NamedFiles {
            paths: vec!["a".to_owned()],
            ..NamedFiles::default()
        });
        for tool in ["edit", "write"] {
            assert_eq!(named_writes(tool, &json!({"path": "a"})), pis, "{tool}");
        }
        // So does whatever a tool of another extension or another server may do.
        let others = [
            "apply_patch",
            "mcp__fs__write_file",
            "mcp__gortex2__edit",
            "mcp__gortex__",
        ];
        let commands = [
            "bash",
            "powershell",
            "mcp__gortex__refactor",
            "mcp__gortex__change",
        ];
        let commands = commands.map(|tool| (tool, Writes::Unnamed));
        let others = others.map(|tool| (tool, Writes::Unknown));
        for (tool, writes) in commands.into_iter().chain(others) {
            assert_eq!(named_writes(tool, &json!({"path": "a"})), writes, "{tool}");
        }
    }

    #[test]
    fn e4_files_that_cannot_be_read_make_an_unnamed_writer() {
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
            json!({"path": "a", "edits": "not a list"}),
            json!({"path": "a", "changes": {"path": "b"}}),
            json!({"path": "a", "changes": format!("[{}]", " ".repeat(1024 * 1024))}),
            json!({"edits": [{"path": "a"}, {"old_string": "x"}]}),
            json!({"edits": [{"path": "a"}, 7]}),
            json!({"edits": [{"path": "a"}, deep]}),
            json!({"path": "a", "options": {"guard": {"path": "b"}}}),
            json!({"path": "a", "options": deep}),
            // Of an unexpected kind.
            json!({"path": "a", "file": ["b"]}),
            json!({"path": "a", "symbol": {"name": "b::f"}}),
            json!({"path": "a", "id": 7}),
            json!({"path": "a", "target": "b"}),
            json!({"path": "a", "target": ["b"]}),
            json!({"path": "a", "target": {"file": ["b"]}}),
            json!({"path": "a", "target": {"path": "b"}}),
            json!({"path": "a", "target": {"options": {"path": "b"}}}),
            json!({"path": "a", "arguments": "{\"file\": \"b\"}"}),
            json!({"path": "a", "options": " [{\"file\": \"b\"}]"}),
            json!({"path": "a", "options": [{"file": "b"}]}),
            json!({"path": "a", "source": "{\"file\": \"b\"}"}),
            json!({"path": "a", "changes": ["b"]}),
            // Something empty above something filled.
            json!({"path": "", "file": "a", "options": {"path": "b"}}),
            json!({"path": "a", "target": {}, "options": {"target": {"file": "b"}}}),
            json!({"path": "a", "edits": [], "options": {"edits": [{"path": "b"}]}}),
            // A list in a list in a list.
            json!({"edits": [{"path": "a", "edits": [{"path": "b", "edits": [{"path": "c"}]}]}]}),
            // A symbol of which only the destination of its move is named.
            json!({"symbol": "f", "destination": "b"}),
            json!({"symbol": "::f", "path": ""}),
        ];
        for input in &inputs {
            assert_eq!(
                named_writes("mcp__gortex__edit_file", input),
                Writes::Unnamed,
                "{input}"
            );
        }
        // What names nothing hides nothing: settings, and members that a model fills in for the sake of form.
        let harmless = [
            json!({"path": "a", "options": {"context": {"lines": 3}}}),
            json!({"path": "a", "context": 3, "output": "compact", "options": null}),
            json!({"path": "a", "id": "", "target": {"file": "", "symbol": ""}, "changes": "", "edits": []}),
            json!({"path": "a", "symbol": "f", "target": {"lines": [1, 2]}}),
            json!({"path": null, "options": {"path": "a"}}),
            json!({"edits": [{"path": "a", "edits": [{"old_string": "x"}, {"old_string": "y"}]}]}),
        ];
        for input in &harmless {
            assert_eq!(files("mcp__gortex__edit_file", input), ["a"], "{input}");
        }
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

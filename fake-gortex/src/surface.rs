//! The tools that `gortex mcp` lists for Pi, and how `GORTEX_TOOLS` narrows them.

use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The names of the current surface (wire.md, "Tool surface"), in the order in which they are listed.
pub const TOOLS: [&str; 21] = [
    "analyze",
    "ask",
    "capabilities",
    "change",
    "edit",
    "explore",
    "overlay",
    "pr",
    "publish_review",
    "read",
    "recall",
    "refactor",
    "relations",
    "remember",
    "response",
    "review",
    "search",
    "session",
    "trace",
    "workspace",
    "workspace_admin",
];

/// Presets and their aliases. Each stands for the whole scripted surface here: what a preset leaves out is Gortex's own
/// business and no case of ours turns on it.
const PRESETS: [&str; 23] = [
    "full",
    "all",
    "core",
    "default",
    "classic",
    "agent",
    "coding-agent",
    "facade-v1",
    "compact",
    "facade",
    "agent-v2",
    "readonly",
    "read-only",
    "read_only",
    "edit",
    "editor",
    "edit-harness",
    "nav",
    "navigate",
    "explore",
    "localization",
    "locate",
    "find",
];

/// The names that are listed: the scripted ones, else [`TOOLS`], seen through the value of `GORTEX_TOOLS`.
pub(crate) fn listed(scripted: Option<&[String]>, spec: Option<&str>) -> Vec<String> {
    let all: Vec<String> = scripted.map_or_else(
        || TOOLS.iter().map(|&name| name.to_owned()).collect(),
        <[String]>::to_vec,
    );
    let tokens: Vec<&str> = spec
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|token| !token.is_empty())
        .collect();
    let bare: Vec<&str> = tokens
        .iter()
        .copied()
        .filter(|token| !token.starts_with(['+', '-']))
        .collect();
    let (mut names, added): (Vec<String>, &[&str]) = match bare.split_first() {
        None => (all, &[]),
        Some((first, rest)) if PRESETS.contains(first) => (all, rest),
        Some(_) => (
            all.into_iter()
                .filter(|name| bare.contains(&name.as_str()))
                .collect(),
            &[],
        ),
    };
    let plus = tokens.iter().filter_map(|token| token.strip_prefix('+'));
    for name in added.iter().copied().chain(plus) {
        add(&mut names, name);
    }
    for gone in tokens.iter().filter_map(|token| token.strip_prefix('-')) {
        names.retain(|name| name != gone);
    }
    names
}

/// Lists one more tool, once.
pub(crate) fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// A tool as it is listed: any object will do as its input, since Gortex takes its arguments in many shapes. `entry` has
/// scripted members that stand in the place of the usual ones; one that is no member of a tool is an error.
pub(crate) fn tool(
    name: &str,
    entry: Option<&Map<String, Value>>,
) -> Result<Tool, serde_json::Error> {
    let mut schema: JsonObject = Map::new();
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
    schema.insert("properties".to_owned(), properties(name));
    schema.insert("additionalProperties".to_owned(), Value::Bool(true));
    let usual = Tool::new(name.to_owned(), describe(name), Arc::new(schema));
    let Some(entry) = entry else {
        return Ok(usual);
    };
    let mut whole = serde_json::to_value(usual)?;
    for (key, value) in entry {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole)
}

fn properties(name: &str) -> Value {
    match name {
        "edit" => json!({
            "operation": { "type": "string" }, "path": { "type": "string" },
            "old_string": { "type": "string" }, "new_string": { "type": "string" },
            "content": { "type": "string" }, "changes": {}, "dry_run": { "type": "boolean" },
        }),
        "read" => json!({ "path": { "type": "string" } }),
        "search" => json!({ "query": { "type": "string" } }),
        _ => json!({}),
    }
}

fn describe(name: &str) -> String {
    let known = match name {
        "analyze" => "Runs an analysis over the code graph",
        "ask" => "Answers a question about the code",
        "capabilities" => "Tells what this daemon can do",
        "change" => "Plans and applies a change across files",
        "edit" => "Edits files of the repository",
        "explore" => "Walks the graph from a starting point",
        "overlay" => "Shows unsaved buffers to the graph",
        "pr" => "Looks at a pull request",
        "publish_review" => "Publishes a review",
        "read" => "Reads a file or a symbol",
        "recall" => "Recalls notes of earlier sessions",
        "refactor" => "Renames or moves a symbol everywhere",
        "relations" => "Lists what a symbol relates to",
        "remember" => "Keeps a note for later sessions",
        "response" => "Fetches the rest of a long answer",
        "review" => "Reviews a change",
        "search" => "Finds text and symbols",
        "session" => "Tells about this session",
        "trace" => "Follows a call path",
        "workspace" => "Tells about the indexed repositories",
        "workspace_admin" => "Adds and removes repositories",
        _ => return format!("The Gortex tool {name}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_keeps_the_surface_and_takes_changes() {
        assert_eq!(listed(None, None).len(), 21);
        assert_eq!(listed(None, Some("")).len(), 21);
        let names = listed(None, Some("core, +tools_search, -pr, edit_file"));
        assert_eq!(names.len(), 22);
        assert!(
            names.contains(&"edit_file".to_owned()) && names.contains(&"tools_search".to_owned())
        );
        assert!(!names.contains(&"pr".to_owned()));
    }

    #[test]
    fn a_first_word_that_is_no_preset_makes_an_exact_list() {
        assert_eq!(listed(None, Some("search,read")), ["read", "search"]);
        assert_eq!(listed(None, Some("serch")), Vec::<String>::new());
        assert_eq!(listed(None, Some("-pr,search,+pr")), ["search"]);
    }

    #[test]
    fn a_scripted_surface_replaces_the_usual_one() {
        let own = ["a".to_owned(), "b".to_owned()];
        assert_eq!(listed(Some(&own), None), ["a", "b"]);
        assert_eq!(listed(Some(&[]), None), Vec::<String>::new());
    }
}

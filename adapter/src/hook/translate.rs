//! From Pi's names of tools and arguments to Gortex's (H2, wire.md "Translation of Pi's tools").

use serde_json::{Map, Value};

/// A call in the words of Gortex's classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The tool's name there.
    pub tool_name: String,
    /// The input, with canonical keys added.
    pub tool_input: Map<String, Value>,
    /// Whether the call goes to Gortex itself.
    pub is_gortex_tool: bool,
}

/// Arguments that may name a file, best first.
const FILE_KEYS: [&str; 5] = ["file_path", "path", "file", "filepath", "absolute_path"];
/// Arguments that may hold a search pattern, best first.
const PATTERN_KEYS: [&str; 5] = ["pattern", "glob", "query", "regex", "name"];
/// Arguments that may hold a shell command, best first.
const COMMAND_KEYS: [&str; 3] = ["command", "cmd", "script"];

/// The bare name of a graph tool (`mcp__gortex__<tool>`), or `None` for any other.
#[must_use]
pub fn graph_tool(name: &str) -> Option<&str> {
    name.strip_prefix("mcp__gortex__")
        .filter(|bare| !bare.is_empty())
}

/// Translates a call. A graph tool keeps its input, so that Gortex's `read` never passes for Pi's.
#[must_use]
pub fn translate(name: &str, input: &Value) -> Translated {
    let mut tool_input = input.as_object().cloned().unwrap_or_default();
    if let Some(bare) = graph_tool(name) {
        return Translated {
            tool_name: bare.to_owned(),
            tool_input,
            is_gortex_tool: true,
        };
    }
    let tool_name = match name {
        "read" => "Read",
        "grep" => "Grep",
        "find" | "ls" => "Glob",
        "bash" | "powershell" => "Bash",
        "edit" => "Edit",
        "write" => "Write",
        other => other,
    };
    let file = first_string(&tool_input, &FILE_KEYS);
    let pattern = first_string(&tool_input, &PATTERN_KEYS)
        .or_else(|| file.clone().filter(|_| tool_name == "Glob"));
    let command = first_string(&tool_input, &COMMAND_KEYS);
    for (key, value) in [
        ("file_path", file),
        ("pattern", pattern),
        ("command", command),
    ] {
        if let Some(value) = value {
            tool_input.insert(key.to_owned(), Value::String(value));
        }
    }
    Translated {
        tool_name: tool_name.to_owned(),
        tool_input,
        is_gortex_tool: false,
    }
}

fn first_string(input: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter()
        .filter_map(|key| input.get(*key)?.as_str())
        .find(|value| !value.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn h2_pis_tools_get_gortex_names() {
        let names = [
            "read",
            "grep",
            "find",
            "ls",
            "bash",
            "powershell",
            "edit",
            "write",
            "codemode",
        ];
        let translated = names.map(|name| translate(name, &json!({})).tool_name);
        assert_eq!(
            translated,
            [
                "Read", "Grep", "Glob", "Glob", "Bash", "Bash", "Edit", "Write", "codemode"
            ]
        );
    }

    #[test]
    fn h2_input_keeps_its_keys_and_gains_canonical_ones() {
        let read = translate("read", &json!({"path": "a.rs", "offset": 3}));
        assert_eq!(
            Value::Object(read.tool_input),
            json!({"path": "a.rs", "offset": 3, "file_path": "a.rs"})
        );
        // The first string that is not empty counts, whatever stands before it.
        let odd = translate(
            "grep",
            &json!({"file_path": 7, "path": "", "file": "b", "regex": "x", "cmd": "c"}),
        );
        assert_eq!(odd.tool_input["file_path"], "b");
        assert_eq!(odd.tool_input["pattern"], "x");
        assert_eq!(odd.tool_input["command"], "c");
        assert_eq!(odd.tool_input["cmd"], "c");
    }

    #[test]
    fn h2_a_glob_without_pattern_takes_the_path() {
        assert_eq!(
            translate("ls", &json!({"path": "src"})).tool_input["pattern"],
            "src"
        );
        assert_eq!(
            translate("find", &json!({"path": "src", "pattern": "*.rs"})).tool_input["pattern"],
            "*.rs"
        );
        assert!(
            !translate("read", &json!({"path": "src"}))
                .tool_input
                .contains_key("pattern")
        );
    }

    #[test]
    fn h2_graph_tools_go_bare_flagged_and_untouched() {
        let call = translate("mcp__gortex__read", &json!({"path": "a.rs"}));
        assert_eq!(
            (call.tool_name.as_str(), call.is_gortex_tool),
            ("read", true)
        );
        assert_eq!(Value::Object(call.tool_input), json!({"path": "a.rs"}));
        assert_eq!(graph_tool("mcp__gortex2__read"), None);
        assert_eq!(graph_tool("mcp__gortex__"), None);
    }

    #[test]
    fn h2_an_input_that_is_no_object_becomes_an_empty_one() {
        assert!(translate("read", &json!("a.rs")).tool_input.is_empty());
    }
}

//! From Pi's names of tools and arguments to Gortex's (H2, wire.md "Translation of Pi's tools").

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// A call in the words of Gortex's classifier. It borrows what the host gave: an input may weigh megabytes.
#[derive(Clone, Copy, Debug)]
pub struct Translated<'a> {
    /// The tool's name there.
    pub tool_name: &'a str,
    /// The input, with canonical keys added.
    pub tool_input: ToolInput<'a>,
    /// Whether the call goes to Gortex itself.
    pub is_gortex_tool: bool,
}

/// An input as the host gave it, with canonical keys laid over it as it is serialised: one that is there already keeps its
/// place and gets the canonical value, another is appended. An input that is no object counts as an empty one.
#[derive(Clone, Copy, Debug)]
pub struct ToolInput<'a> {
    given: Option<&'a Map<String, Value>>,
    /// The value of each of [`CANONICAL_KEYS`], where there is one.
    canonical: [Option<&'a str>; 3],
}

impl Serialize for ToolInput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = self.given.into_iter().flatten();
        let mut canonical = self.canonical;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in given {
            let at = CANONICAL_KEYS.iter().position(|canonical| canonical == key);
            match at.and_then(|at| canonical[at].take()) {
                Some(text) => map.serialize_entry(key, text)?,
                None => map.serialize_entry(key, value)?,
            }
        }
        for (key, text) in CANONICAL_KEYS.into_iter().zip(canonical) {
            if let Some(text) = text {
                map.serialize_entry(key, text)?;
            }
        }
        map.end()
    }
}

/// What Gortex's classifier reads, in the order in which they are appended.
const CANONICAL_KEYS: [&str; 3] = ["file_path", "pattern", "command"];
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
pub fn translate<'a>(name: &'a str, input: &'a Value) -> Translated<'a> {
    let given = input.as_object();
    if let Some(bare) = graph_tool(name) {
        return Translated {
            tool_name: bare,
            tool_input: ToolInput {
                given,
                canonical: [None; 3],
            },
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
    let first_string = |keys: &[&str]| {
        let mut values = keys.iter().filter_map(|key| given?.get(*key)?.as_str());
        values.find(|value| !value.is_empty())
    };
    let file = first_string(&FILE_KEYS);
    let pattern = first_string(&PATTERN_KEYS).or(file.filter(|_| tool_name == "Glob"));
    let command = first_string(&COMMAND_KEYS);
    Translated {
        tool_name,
        tool_input: ToolInput {
            given,
            canonical: [file, pattern, command],
        },
        is_gortex_tool: false,
    }
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
        let input = json!({});
        let translated = names.map(|name| translate(name, &input).tool_name);
        assert_eq!(
            translated,
            [
                "Read", "Grep", "Glob", "Glob", "Bash", "Bash", "Edit", "Write", "codemode"
            ]
        );
    }

    /// The input as the hook gets it.
    fn sent(name: &str, input: &Value) -> Value {
        serde_json::to_value(translate(name, input).tool_input).expect("an object")
    }

    #[test]
    fn h2_input_keeps_its_keys_and_gains_canonical_ones() {
        assert_eq!(
            sent("read", &json!({"path": "a.rs", "offset": 3})),
            json!({"path": "a.rs", "offset": 3, "file_path": "a.rs"})
        );
        // The first string that is not empty counts, whatever stands before it.
        let odd = sent(
            "grep",
            &json!({"file_path": 7, "path": "", "file": "b", "regex": "x", "cmd": "c"}),
        );
        assert_eq!(odd["file_path"], "b");
        assert_eq!(odd["pattern"], "x");
        assert_eq!(odd["command"], "c");
        assert_eq!(odd["cmd"], "c");
    }

    #[test]
    fn h2_a_glob_without_pattern_takes_the_path() {
        let pattern = |name, input| sent(name, &input).get("pattern").cloned();
        assert_eq!(pattern("ls", json!({"path": "src"})), Some(json!("src")));
        assert_eq!(
            pattern("find", json!({"path": "src", "pattern": "*.rs"})),
            Some(json!("*.rs"))
        );
        assert_eq!(pattern("read", json!({"path": "src"})), None);
    }

    #[test]
    fn h2_graph_tools_go_bare_flagged_and_untouched() {
        let input = json!({"path": "a.rs"});
        let call = translate("mcp__gortex__read", &input);
        assert_eq!((call.tool_name, call.is_gortex_tool), ("read", true));
        assert_eq!(sent("mcp__gortex__read", &input), input);
        assert_eq!(graph_tool("mcp__gortex2__read"), None);
        assert_eq!(graph_tool("mcp__gortex__"), None);
    }

    #[test]
    fn h2_an_input_that_is_no_object_becomes_an_empty_one() {
        assert_eq!(sent("read", &json!("a.rs")), json!({}));
    }
}

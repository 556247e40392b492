//! What the built-in tools declare: names and parameters are Pi's (pi-host.md 13), the descriptions are ours.
//!
//! Pi's own descriptions are prose for a model. The scripted model reads none, so they are not rebuilt, and a comparison
//! with the real Pi leaves descriptions of built-in tools out.

use serde_json::{Value, json};

use crate::tool::{Execution, Exposure, ToolDefinition};

/// A built-in tool's definition.
fn definition(name: &str, description: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        exposure: Exposure::Direct,
        execution: Execution::Parallel,
        source: format!("builtin:{name}"),
    }
}

/// An object schema in the form that Pi's schema library writes.
fn object(required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object"});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = properties;
    schema
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str) -> Value {
    json!({"type": "number", "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// The registry members that Pi's own tools have besides their declaration: so many guidelines for the prompt, whose text
/// is not modelled, and the wish that a provider keeps to the schema.
pub(super) fn members(guidelines: usize) -> Value {
    let guidelines = vec!["<guideline>"; guidelines];
    json!({"promptGuidelines": guidelines, "constrainedSampling": {"type": "json_schema", "strict": "prefer"}})
}

pub(super) fn read() -> ToolDefinition {
    let parameters = json!({
        "path": text("The file."),
        "offset": number("First line, counted from 1."),
        "limit": number("How many lines."),
    });
    definition(
        "read",
        "Gives the text of a file.",
        object(&["path"], parameters),
    )
}

pub(super) fn bash() -> ToolDefinition {
    shell("bash")
}

pub(super) fn powershell() -> ToolDefinition {
    shell("powershell")
}

fn shell(name: &str) -> ToolDefinition {
    let parameters = json!({
        "command": text("What the shell runs."),
        "timeout": number("Seconds after which it is stopped."),
    });
    definition(
        name,
        "Runs a command in the project folder.",
        object(&["command"], parameters),
    )
}

pub(super) fn edit() -> ToolDefinition {
    let replacement = json!({
        "oldText": text("What stands there now, once in the file."),
        "newText": text("What shall stand there."),
    });
    let parameters = json!({
        "path": text("The file."),
        "edits": {
            "type": "array",
            "items": object(&["oldText", "newText"], replacement),
            "description": "Replacements, all against the text as it is before the call.",
        },
    });
    definition(
        "edit",
        "Replaces texts in a file.",
        object(&["path", "edits"], parameters),
    )
}

pub(super) fn write() -> ToolDefinition {
    let parameters = json!({ "path": text("The file."), "content": text("Its whole new text.") });
    definition(
        "write",
        "Writes a file, new or not.",
        object(&["path", "content"], parameters),
    )
}

pub(super) fn grep() -> ToolDefinition {
    let parameters = json!({
        "pattern": text("A regular expression, or a text with `literal`."),
        "path": text("Where to look."),
        "glob": text("Which files."),
        "ignoreCase": flag("Whether upper and lower case are the same."),
        "literal": flag("Whether the pattern is a plain text."),
        "context": number("Lines to show around a match."),
        "limit": number("The most matches."),
    });
    definition(
        "grep",
        "Finds lines in files.",
        object(&["pattern"], parameters),
    )
}

pub(super) fn find() -> ToolDefinition {
    let parameters = json!({
        "pattern": text("A glob."),
        "path": text("Where to look."),
        "limit": number("The most files."),
    });
    definition(
        "find",
        "Finds files by name.",
        object(&["pattern"], parameters),
    )
}

pub(super) fn ls() -> ToolDefinition {
    let parameters = json!({ "path": text("The folder."), "limit": number("The most entries.") });
    definition("ls", "Lists a folder.", object(&[], parameters))
}

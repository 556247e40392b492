//! What a declared tool says of how scripts call it.

use serde_json::{Value, json};

use crate::tool::ToolDefinition;

/// A tool's description while scripts can be run (pi-host.md 10). `output` is the schema of the structured content that an
/// MCP server declared.
///
/// The descriptions of Pi's own tools are not modelled, so only those of servers' tools are told.
pub(crate) fn described(tool: &ToolDefinition, output: &Value) -> String {
    if !tool.name.starts_with("mcp__") {
        return tool.description.clone();
    }
    let result = json!({"type": "object", "required": ["content"],
        "properties": {"content": {"type": "array"}, "structuredContent": output, "isError": {"type": "boolean"}}});
    let fields = fields(&result, 1).unwrap_or_default();
    format!(
        "{}\n\nCodemode: `tools.{}(args)` resolves to `{fields}`.",
        tool.description.trim(),
        tool.name
    )
}

/// The members of an object's schema, and theirs to a depth. References are not followed.
fn fields(schema: &Value, depth: usize) -> Option<String> {
    let properties = schema["properties"]
        .as_object()
        .filter(|_| schema["type"] == "object")?;
    let required = schema["required"].as_array();
    let field = |(name, inner): (&String, &Value)| {
        let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
        let mark = if is_required { "" } else { "?" };
        let shown = match inner.get("const") {
            Some(value) => Some(value.to_string()),
            None if depth > 0 => fields(inner, depth - 1),
            None => None,
        };
        let shown = shown.map_or_else(String::new, |shown| format!(": {shown}"));
        format!("{name}{mark}{shown}")
    };
    let all: Vec<String> = properties.iter().map(field).collect();
    Some(format!("{{ {} }}", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Execution, Exposure};

    #[test]
    fn a_servers_tool_says_what_it_resolves_to() {
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: "Finds.".into(),
            parameters: json!({}),
            exposure: Exposure::Direct,
            execution: Execution::Parallel,
            source: String::new(),
        };
        assert_eq!(
            described(&tool("mcp__s__a"), &Value::Null),
            "Finds.\n\nCodemode: `tools.mcp__s__a(args)` resolves to `{ content, structuredContent?, isError? }`."
        );
        let output = json!({"type": "object", "properties": {"hits": {"type": "number"}}});
        assert!(described(&tool("mcp__s__a"), &output).contains("structuredContent?: { hits? }"));
        assert_eq!(described(&tool("read"), &Value::Null), "Finds.");
    }
}

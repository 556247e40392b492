//! The tools that a server lists (pi-host.md 4.1, 4.3, 12).

use serde_json::{Map, Value, json};

use super::config::McpExposure;
use crate::tool::{Execution, ToolDefinition};

/// Where an MCP tool comes from, as `sourceInfo.path` says it.
pub const SOURCE: &str = "builtin:mcp";

/// One tool of a server's list.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// Its name on the server.
    pub name: String,
    /// The whole entry as the server sent it.
    pub entry: Map<String, Value>,
}

impl McpTool {
    /// The tool as the registry lists it, under the name that was assigned to it (`naming`).
    #[must_use]
    pub fn definition(
        &self,
        server: &str,
        assigned: &str,
        exposure: McpExposure,
    ) -> ToolDefinition {
        ToolDefinition {
            name: assigned.to_owned(),
            description: self.description(server),
            parameters: self.parameters(),
            exposure: exposure.tool_exposure(),
            execution: Execution::Parallel,
            source: SOURCE.to_owned(),
        }
    }

    /// The boolean hints of the tool's annotations, if there are any; anything else in them is dropped.
    #[must_use]
    pub fn annotations(&self) -> Option<Value> {
        let given = self.entry.get("annotations")?;
        let hints = [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ];
        let kept: Map<String, Value> = hints
            .into_iter()
            .filter_map(|hint| {
                Some((
                    hint.to_owned(),
                    given.get(hint).filter(|value| value.is_boolean())?.clone(),
                ))
            })
            .collect();
        (!kept.is_empty()).then_some(Value::Object(kept))
    }

    /// The description, else the title, else a text that names the tool.
    fn description(&self, server: &str) -> String {
        let own = self
            .entry
            .get("description")
            .and_then(Value::as_str)
            .map(str::trim);
        let title = self
            .entry
            .get("title")
            .filter(|title| !title.is_null())
            .or_else(|| {
                self.entry
                    .get("annotations")
                    .and_then(|annotations| annotations.get("title"))
            })
            .and_then(Value::as_str);
        let given = [own, title]
            .into_iter()
            .flatten()
            .find(|text| !text.is_empty());
        given.map_or_else(
            || format!("MCP tool {} from server {server}", self.name),
            str::to_owned,
        )
    }

    /// The input schema as an object schema with `properties`, since some providers insist on them.
    fn parameters(&self) -> Value {
        let mut schema = self
            .entry
            .get("inputSchema")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        if schema.get("type").is_none_or(Value::is_null) {
            schema.insert("type".into(), json!("object"));
        }
        schema.entry("properties").or_insert_with(|| json!({}));
        Value::Object(schema)
    }
}

/// One page of a tool list.
#[derive(Debug, PartialEq)]
pub(super) struct Page {
    pub(super) tools: Vec<McpTool>,
    pub(super) next_cursor: Option<String>,
}

/// Checks one answer to `tools/list`. One bad entry fails the whole list.
pub(super) fn page(answer: Value) -> Result<Page, String> {
    let Value::Object(mut answer) = answer else {
        return Err("Invalid MCP tools/list result".into());
    };
    let Some(Value::Array(entries)) = answer.remove("tools") else {
        return Err("Invalid MCP tools/list result".into());
    };
    let tools: Option<Vec<McpTool>> = entries
        .into_iter()
        .map(|entry| {
            let Value::Object(entry) = entry else {
                return None;
            };
            let name = entry.get("name")?.as_str()?.to_owned();
            entry
                .get("inputSchema")?
                .is_object()
                .then_some(McpTool { name, entry })
        })
        .collect();
    let tools = tools.ok_or("Invalid entry in MCP tools/list result")?;
    // Some servers end the list with an empty cursor instead of none.
    let next_cursor = match answer.remove("nextCursor") {
        None | Some(Value::Null) => None,
        Some(Value::String(cursor)) => Some(cursor).filter(|cursor| !cursor.is_empty()),
        Some(_) => return Err("Invalid MCP tools/list cursor".into()),
    };
    Ok(Page { tools, next_cursor })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(entry: &Value) -> McpTool {
        let mut tools = page(json!({"tools": [entry]}))
            .map(|page| page.tools)
            .unwrap_or_default();
        tools.remove(0)
    }

    #[test]
    fn a_bad_entry_fails_the_list() {
        let invalid = Err("Invalid entry in MCP tools/list result".to_owned());
        assert_eq!(
            page(json!({"tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}]})),
            invalid
        );
        assert_eq!(page(json!({"tools": [5]})), invalid);
        assert_eq!(
            page(json!({"tools": [{"name": 5, "inputSchema": {}}]})),
            invalid
        );
        assert_eq!(
            page(json!({"tools": {}})),
            Err("Invalid MCP tools/list result".into())
        );
        assert_eq!(
            page(Value::Null),
            Err("Invalid MCP tools/list result".into())
        );
        assert_eq!(
            page(json!({"tools": [], "nextCursor": 5})),
            Err("Invalid MCP tools/list cursor".into())
        );
    }

    #[test]
    fn an_empty_cursor_is_the_end() {
        for cursor in [json!(""), Value::Null] {
            let page = page(json!({"tools": [], "nextCursor": cursor}));
            assert_eq!(
                page,
                Ok(Page {
                    tools: vec![],
                    next_cursor: None
                })
            );
        }
        assert_eq!(
            page(json!({"tools": [], "nextCursor": "x"})).map(|page| page.next_cursor),
            Ok(Some("x".into()))
        );
    }

    #[test]
    fn a_definition_fills_what_is_missing() {
        let bare =
            tool(&json!({"name": "a", "description": "  ", "inputSchema": {"required": []}}));
        let definition = bare.definition("s", "mcp__s__a", McpExposure::Codemode);
        assert_eq!(definition.description, "MCP tool a from server s");
        assert_eq!(
            definition.parameters.to_string(),
            r#"{"required":[],"type":"object","properties":{}}"#
        );
        assert_eq!(definition.exposure, crate::tool::Exposure::Deferred);
        let titled = tool(
            &json!({"name": "a", "annotations": {"title": "T", "readOnlyHint": true, "openWorldHint": 1},
            "inputSchema": {"type": "object"}}),
        );
        assert_eq!(
            titled.definition("s", "n", McpExposure::Direct).description,
            "T"
        );
        assert_eq!(titled.annotations(), Some(json!({"readOnlyHint": true})));
        assert_eq!(bare.annotations(), None);
    }
}

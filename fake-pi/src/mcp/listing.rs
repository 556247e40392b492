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

/// A list that a server gives page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Its tools.
    Tools,
    /// Its resources.
    Resources,
    /// Its templates of resources.
    Templates,
}

impl Listing {
    /// The method that asks for it.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member that the items stand under.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member that an item of resources is found by.
    #[must_use]
    pub fn address(self) -> &'static str {
        match self {
            Self::Tools => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    fn fits(self, item: &Map<String, Value>) -> bool {
        let has_address = item.get(self.address()).is_some_and(Value::is_string);
        has_address
            && match self {
                Self::Tools => item.get("inputSchema").is_some_and(Value::is_object),
                // Without a name it is called by its address.
                Self::Resources | Self::Templates => item.get("name").is_none_or(Value::is_string),
            }
    }
}

/// One page of a list.
#[derive(Debug, PartialEq)]
pub struct Page {
    /// Its items as the server sent them.
    pub items: Vec<Map<String, Value>>,
    /// Where the next one begins.
    pub next_cursor: Option<String>,
}

/// Checks one page. One bad entry fails the whole list.
///
/// # Errors
/// Pi's text of what is wrong with it.
pub fn page(listing: Listing, answer: Value) -> Result<Page, String> {
    let method = listing.method();
    let invalid = || format!("Invalid MCP {method} result");
    let Value::Object(mut answer) = answer else {
        return Err(invalid());
    };
    let Some(Value::Array(entries)) = answer.remove(listing.key()) else {
        return Err(invalid());
    };
    let items: Option<Vec<Map<String, Value>>> = entries
        .into_iter()
        .map(|entry| match entry {
            Value::Object(entry) if listing.fits(&entry) => Some(entry),
            _ => None,
        })
        .collect();
    let items = items.ok_or_else(|| format!("Invalid entry in MCP {method} result"))?;
    // `""` is taken for the end of the list too.
    let next_cursor = match answer.remove("nextCursor") {
        None | Some(Value::Null) => None,
        Some(Value::String(cursor)) => Some(cursor).filter(|cursor| !cursor.is_empty()),
        Some(_) => return Err(format!("Invalid MCP {method} cursor")),
    };
    Ok(Page { items, next_cursor })
}

impl McpTool {
    /// The tool of an entry that passed [`page`].
    pub(super) fn of(entry: Map<String, Value>) -> Self {
        let name = entry.get("name").and_then(Value::as_str);
        Self {
            name: name.unwrap_or_default().to_owned(),
            entry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(entry: &Value) -> McpTool {
        let mut tools = page(Listing::Tools, json!({"tools": [entry]}))
            .map(|page| page.items)
            .unwrap_or_default();
        McpTool::of(tools.remove(0))
    }

    #[test]
    fn a_bad_entry_fails_the_list() {
        let invalid = Err("Invalid entry in MCP tools/list result".to_owned());
        assert_eq!(
            page(
                Listing::Tools,
                json!({"tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}]})
            ),
            invalid
        );
        assert_eq!(page(Listing::Tools, json!({"tools": [5]})), invalid);
        assert_eq!(
            page(
                Listing::Tools,
                json!({"tools": [{"name": 5, "inputSchema": {}}]})
            ),
            invalid
        );
        assert_eq!(
            page(Listing::Tools, json!({"tools": {}})),
            Err("Invalid MCP tools/list result".into())
        );
        assert_eq!(
            page(Listing::Tools, Value::Null),
            Err("Invalid MCP tools/list result".into())
        );
        assert_eq!(
            page(Listing::Tools, json!({"tools": [], "nextCursor": 5})),
            Err("Invalid MCP tools/list cursor".into())
        );
    }

    #[test]
    fn resources_need_an_address_but_no_name() {
        let listed = |item: Value| page(Listing::Resources, json!({"resources": [item]})).is_ok();
        assert!(listed(json!({"uri": "a"})) && listed(json!({"uri": "a", "name": "b"})));
        assert!(!listed(json!({"name": "b"})) && !listed(json!({"uri": "a", "name": 5})));
        assert_eq!(
            page(Listing::Templates, json!({})),
            Err("Invalid MCP resources/templates/list result".into())
        );
    }

    #[test]
    fn an_empty_cursor_is_the_end() {
        for cursor in [json!(""), Value::Null] {
            let page = page(Listing::Tools, json!({"tools": [], "nextCursor": cursor}));
            assert_eq!(
                page,
                Ok(Page {
                    items: vec![],
                    next_cursor: None
                })
            );
        }
        assert_eq!(
            page(Listing::Tools, json!({"tools": [], "nextCursor": "x"}))
                .map(|page| page.next_cursor),
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

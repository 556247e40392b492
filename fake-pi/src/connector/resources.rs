//! The three tools by which resources of all servers are reached (pi-host.md 15; seen on 1.6.0, case `mcp/resources`).

use std::sync::{Arc, Weak};

use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::manager::{Manager, Server};
use crate::extension::lock;
use crate::mcp::failure::Cause;
use crate::mcp::listing::{self, Listing, Page, SOURCE};
use crate::mcp::result::{ResultOptions, limited};
use crate::mcp::{McpExposure, resources};
use crate::tool::{Execution, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// One of the three.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    List(Listing),
    Read,
}

const KINDS: [Kind; 3] = [
    Kind::List(Listing::Resources),
    Kind::List(Listing::Templates),
    Kind::Read,
];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::List(Listing::Templates) => "list_mcp_resource_templates",
            Self::List(_) => "list_mcp_resources",
            Self::Read => "read_mcp_resource",
        }
    }

    fn parameters(self) -> Value {
        let second = if self == Self::Read { "uri" } else { "cursor" };
        let mut parameters = json!({
            "type": "object",
            "properties": { "server": {"type": "string"}, second: {"type": "string"} },
            "additionalProperties": false,
        });
        if self == Self::Read {
            parameters["required"] = json!(["server", "uri"]);
        }
        parameters
    }
}

/// Whether a tool is one of the three: such a call waits for every server.
pub(super) fn is_one(tool: &str) -> bool {
    KINDS.iter().any(|kind| tool == kind.name())
}

struct ResourceTool {
    kind: Kind,
    exposure: McpExposure,
    manager: Weak<Manager>,
}

impl Tool for ResourceTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.kind.name().to_owned(),
            // A text of Pi's own.
            description: format!("<{}>", self.kind.name()),
            parameters: self.kind.parameters(),
            exposure: self.exposure.tool_exposure(),
            execution: Execution::Parallel,
            source: SOURCE.to_owned(),
        }
    }

    fn registry_members(&self) -> Value {
        json!({"annotations": {"readOnlyHint": true}})
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let (kind, manager) = (self.kind, self.manager.upgrade());
        Box::pin(async move {
            let manager = manager.ok_or_else(|| ToolError("MCP connection closed".into()))?;
            let done = match kind {
                Kind::List(listing) => manager.list_resources(kind, listing, &run).await,
                Kind::Read => manager.read_resource(&run).await,
            };
            done.map_err(ToolError)
        })
    }
}

impl Manager {
    /// Who can be asked for resources: each server that is switched on, shows itself and said at its start that it has some.
    fn with_resources(&self) -> Vec<(Arc<Server>, Arc<Link>)> {
        let servers = self.servers().into_iter();
        servers
            .filter(|server| server.config.enabled && server.config.exposure != McpExposure::Hidden)
            .filter_map(|server| Some((server.link()?, server)))
            .filter(|(link, _)| link.has_resources())
            .map(|(link, server)| (server, link))
            .collect()
    }

    /// Puts the three tools where the most open of those servers stands, or out of sight when nobody can be asked.
    pub(super) fn offer_resource_tools(self: &Arc<Self>) {
        let servers = self.with_resources();
        let reached = |exposure: &McpExposure| {
            servers
                .iter()
                .any(|(server, _)| server.config.exposure == *exposure)
        };
        let widest = [
            McpExposure::Direct,
            McpExposure::Codemode,
            McpExposure::Deferred,
        ]
        .into_iter()
        .find(reached)
        .unwrap_or(McpExposure::Hidden);
        let before = {
            let mut inner = lock(&self.inner);
            let before = inner.resource_exposure;
            if before == Some(widest) || (before.is_none() && widest == McpExposure::Hidden) {
                return;
            }
            inner.resource_exposure = Some(widest);
            before
        };
        for kind in KINDS {
            self.register(Arc::new(ResourceTool {
                kind,
                exposure: widest,
                manager: Arc::downgrade(self),
            }));
        }
        if before == Some(McpExposure::Direct)
            && let Ok(mut active) = self.pi.get_active_tools()
        {
            active.retain(|name| KINDS.iter().all(|kind| name != kind.name()));
            // A replaced session declares nothing.
            let _ = self.pi.set_active_tools(&active);
        }
    }

    fn find_with_resources(&self, name: &str) -> Result<Arc<Link>, String> {
        let servers = self.with_resources();
        let found = servers
            .iter()
            .find(|(server, _)| server.config.name == name);
        if let Some((_, link)) = found {
            return Ok(link.clone());
        }
        let names: Vec<&str> = servers
            .iter()
            .map(|(server, _)| server.config.name.as_str())
            .collect();
        let others = if names.is_empty() {
            String::new()
        } else {
            format!(". Servers with resources: {}", names.join(", "))
        };
        Err(format!("MCP server \"{name}\" has no resources{others}"))
    }

    async fn list_resources(
        &self,
        kind: Kind,
        listing: Listing,
        run: &ToolRun,
    ) -> Result<ToolOutput, String> {
        let server = argument(&run.input, "server")?;
        let cursor = argument(&run.input, "cursor")?;
        let told = |server: &str, items: &[Map<String, Value>]| -> Vec<Value> {
            let items = items.iter();
            items
                .filter_map(|item| resources::listed(server, listing, item))
                .collect()
        };
        let payload = match &server {
            Some(name) => {
                let link = self.find_with_resources(name)?;
                let page = one_page(&link, listing, cursor, &run.abort).await?;
                let mut payload = json!({"server": name, listing.key(): told(name, &page.items)});
                if let Some(next) = page.next_cursor {
                    payload["nextCursor"] = next.into();
                }
                payload
            }
            None if cursor.is_some() => {
                return Err("cursor can only be used when a server is specified".into());
            }
            None => {
                let mut servers = self.with_resources();
                servers.sort_by(|(one, _), (other, _)| one.config.name.cmp(&other.config.name));
                let lists = servers
                    .iter()
                    .map(|(_, link)| all(link, listing, &run.abort));
                let (mut items, mut errors) = (Vec::new(), Vec::new());
                for (listed, (server, _)) in join_all(lists).await.into_iter().zip(&servers) {
                    let name = &server.config.name;
                    match listed {
                        Ok(listed) => items.extend(told(name, &listed)),
                        Err(error) => errors.push(json!({"server": name, "error": error})),
                    }
                }
                let mut payload = json!({ listing.key(): items });
                if !errors.is_empty() {
                    payload["errors"] = errors.into();
                }
                payload
            }
        };
        let mut details = json!({"server": server.unwrap_or_default(), "tool": kind.name()});
        let content = vec![json!({"type": "text", "text": payload.to_string()})];
        let content = limited(content, &self.host.options.temp_dir, &mut details);
        Ok(ToolOutput {
            content,
            details: Some(details),
            structured_content: Some(payload),
            is_error: false,
            terminate: false,
        })
    }

    async fn read_resource(&self, run: &ToolRun) -> Result<ToolOutput, String> {
        let server = argument(&run.input, "server")?.ok_or("server must be provided")?;
        let uri = argument(&run.input, "uri")?.ok_or("uri must be provided")?;
        let link = self.find_with_resources(&server)?;
        let answer = link.run(true, |connection| {
            let params = json!({"uri": uri});
            connection.request("resources/read", Some(params), run.abort.clone())
        });
        let mut contents = resources::contents(&answer.await?)?;
        let options = ResultOptions {
            temp_dir: self.host.options.temp_dir.clone(),
            has_readable_resources: false,
        };
        let content = resources::shown(&server, &uri, &contents, &options)?;
        let mut details = json!({"server": server, "tool": Kind::Read.name()});
        let content = limited(content, &options.temp_dir, &mut details);
        for one in &mut contents {
            one.shift_remove("_meta");
        }
        Ok(ToolOutput {
            content,
            details: Some(details),
            structured_content: Some(json!({"server": server, "uri": uri, "contents": contents})),
            is_error: false,
            terminate: false,
        })
    }
}

/// A text among the arguments; blank is none.
fn argument(input: &Value, key: &str) -> Result<Option<String>, String> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }
        Some(_) => Err(format!("{key} must be a string")),
    }
}

/// One page of a server's list. Who knows no templates has none.
async fn one_page(
    link: &Link,
    listing: Listing,
    cursor: Option<String>,
    abort: &CancellationToken,
) -> Result<Page, String> {
    let run = link.run(true, |connection| {
        let params = cursor.as_ref().map(|cursor| json!({"cursor": cursor}));
        let asked = connection.request(listing.method(), params, abort.clone());
        Box::pin(async move {
            match asked.await {
                Err(failure)
                    if failure.cause == Cause::UnknownMethod && listing == Listing::Templates =>
                {
                    Ok(json!({ listing.key(): [] }))
                }
                answered => answered,
            }
        })
    });
    listing::page(listing, run.await?)
}

/// All of a server's list.
async fn all(
    link: &Link,
    listing: Listing,
    abort: &CancellationToken,
) -> Result<Vec<Map<String, Value>>, String> {
    let run = link.run(true, |connection| {
        let asked = connection.list(listing, abort.clone());
        Box::pin(async move {
            match asked.await {
                Err(failure)
                    if failure.cause == Cause::UnknownMethod && listing == Listing::Templates =>
                {
                    Ok(Vec::new())
                }
                listed => listed,
            }
        })
    });
    run.await
}

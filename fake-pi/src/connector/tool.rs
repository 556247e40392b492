//! A server's tools in the registry: their names, what they do when called, and how they are withdrawn (pi-host.md 4.7).

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::link::Link;
use super::manager::Manager;
use crate::mcp::{McpExposure, naming};
use crate::tool::{Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};
use crate::version::Difference;

/// One tool of a server, as it was listed when it was registered.
#[derive(Clone)]
pub(super) struct ServerTool {
    definition: ToolDefinition,
    members: Value,
    server: String,
    tool: String,
    manager: Weak<Manager>,
}

impl ServerTool {
    /// The same tool, reached by nobody: tools cannot be unregistered.
    pub(super) fn hidden(&self) -> Self {
        let mut hidden = self.clone();
        hidden.definition.exposure = Exposure::Hidden;
        hidden
    }

    pub(super) fn name(&self) -> &str {
        &self.definition.name
    }

    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// The link that serves a call right now.
    fn link(&self) -> Result<Arc<Link>, String> {
        let disabled = || format!("MCP server \"{}\" is disabled.", self.server);
        let manager = self.manager.upgrade().ok_or_else(disabled)?;
        let server = manager
            .server(&self.server)
            .filter(|server| server.config.enabled)
            .ok_or_else(disabled)?;
        let link = server
            .link()
            .ok_or_else(|| format!("MCP server \"{}\" is still starting.", self.server))?;
        // Only from 1.3.0 on is a tool that was withdrawn meanwhile refused (see the difference).
        let withdrawn =
            link.withdrew(&self.tool) && !manager.host.does(Difference::CallsWithdrawnTools);
        if server.config.exposure_of(&self.tool) == McpExposure::Hidden || withdrawn {
            return Err(format!(
                "MCP tool \"{}/{}\" is no longer available.",
                self.server, self.tool
            ));
        }
        Ok(link)
    }
}

impl Tool for ServerTool {
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    fn registry_members(&self) -> Value {
        self.members.clone()
    }

    fn declares_output(&self) -> bool {
        true
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let tool = self.clone();
        Box::pin(async move {
            let link = tool.link().map_err(ToolError)?;
            let called = link.run(false, |connection| {
                let (input, abort) = (run.input.clone(), run.abort.clone());
                connection.call(&tool.tool, input, abort, run.updates.clone())
            });
            called.await.map_err(ToolError)
        })
    }
}

impl Manager {
    /// Registers what a server offers now, and hides what it offered before.
    pub(super) fn offer_tools(self: &Arc<Self>, link: &Arc<Link>) {
        let name = &link.config.name;
        let Some(server) = self.server(name).filter(|server| server.is_linked(link)) else {
            return;
        };
        let offered = link.tools();
        let names = offered
            .iter()
            .map(|tool| tool.name.as_str())
            .collect::<Vec<_>>();
        let assigned = self.assign_names(name, &names);
        let mut namespace = json!({"name": naming::namespace(name), "aliases": [name]});
        if let Some(description) = server
            .config
            .description
            .as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            namespace["description"] = description.into();
        }
        if let Some(instructions) = link.instructions() {
            namespace["instructions"] = instructions.into();
        }
        let mut current = Vec::new();
        for (tool, assigned) in offered.iter().zip(assigned) {
            let mut members = Map::new();
            members.insert("namespace".to_owned(), namespace.clone());
            if let Some(annotations) = tool.annotations() {
                members.insert("annotations".to_owned(), annotations);
            }
            current.push(ServerTool {
                definition: tool.definition(name, &assigned, server.config.exposure_of(&tool.name)),
                members: Value::Object(members),
                server: name.clone(),
                tool: tool.name.clone(),
                manager: Arc::downgrade(self),
            });
        }
        let previous = self.replace_tools(name, current.clone());
        for tool in &current {
            self.register(Arc::new(tool.clone()));
        }
        for tool in previous {
            if !current.iter().any(|kept| kept.name() == tool.name()) {
                self.register(Arc::new(tool.hidden()));
            }
        }
        self.offer_resource_tools();
    }

    /// Makes a server's tools unreachable.
    pub(super) fn hide_tools(self: &Arc<Self>, server: &str) {
        for tool in self.replace_tools(server, Vec::new()) {
            self.register(Arc::new(tool.hidden()));
        }
        self.offer_resource_tools();
    }
}

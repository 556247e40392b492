//! How servers and the run meet: what waits for a server, and how the model learns of those it cannot call directly
//! (pi-host.md 4.3, 4.5).

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::manager::{Manager, Ready};
use super::section::{self, SECTION};
use crate::extension::{Event, lock};
use crate::instance::Ctx;
use crate::mcp::McpExposure;

/// How long the first prompt waits for servers with declared tools (pi-host.md 4.5).
const STARTUP_WAIT: Duration = Duration::from_secs(10);
impl Manager {
    /// Holds the first prompt for servers whose tools are to be declared in it.
    pub(super) async fn wait_for_direct(&self, ctx: &Ctx) {
        let ready: Vec<Ready> = {
            let mut inner = lock(&self.inner);
            if std::mem::replace(&mut inner.waited, true) {
                return;
            }
            let direct = inner.servers.iter().filter(|server| {
                server.config.enabled
                    && section::exposures(&server.config).contains(&McpExposure::Direct)
            });
            direct.filter_map(|server| server.ready()).collect()
        };
        if ready.is_empty() || timeout(STARTUP_WAIT, join_all(ready)).await.is_ok() {
            return;
        }
        let text = "MCP servers are still connecting; their tools become available once connected.";
        // A session that was replaced meanwhile has nobody to tell.
        let _ = ctx.notify(text, Some("info"));
    }

    /// Lists the servers whose tools are not declared in the run's prompt.
    pub(super) fn list_servers(&self, event: &Event) {
        let servers: Vec<_> = self
            .servers()
            .iter()
            .map(|server| {
                (
                    server.config.clone(),
                    server.link().and_then(|link| link.instructions()),
                )
            })
            .collect();
        let text = section::render(&servers);
        event.edit("systemPromptOptions", |options| {
            let Some(sections) = options.get_mut("sections").and_then(Value::as_object_mut) else {
                return;
            };
            match text {
                Some(text) => drop(sections.insert(SECTION.to_owned(), text.into())),
                None => drop(sections.shift_remove(SECTION)),
            }
        });
    }

    /// Holds a call to a server that is just being connected, until it is or the run is aborted.
    pub(super) async fn wait_for_owner(&self, event: &Event, ctx: &Ctx) {
        let called = event.get("toolName").unwrap_or_default();
        let owner = {
            let inner = lock(&self.inner);
            let mut tools = inner.tools.values().flatten();
            tools
                .find(|tool| called == tool.name())
                .map(|tool| tool.server().to_owned())
        };
        let abort = ctx.signal().ok().flatten().unwrap_or_default();
        // A server that is connected anew while the call waits is waited for too.
        let mut seen: Option<Ready> = None;
        while let Some(ready) = owner
            .as_deref()
            .and_then(|name| self.server(name))
            .and_then(|server| server.ready())
        {
            if abort.is_cancelled() || seen.as_ref().is_some_and(|known| known.ptr_eq(&ready)) {
                return;
            }
            tokio::select! {
                biased;
                () = abort.cancelled() => return,
                () = ready.clone() => seen = Some(ready),
            }
        }
    }

    /// Declares the tool through which undeclared ones are reached, or says once that nothing reaches them.
    pub(super) fn activate_reaching(&self, ctx: &Ctx) {
        let (needs, auto) = {
            let inner = lock(&self.inner);
            let enabled = inner.servers.iter().filter(|server| server.config.enabled);
            let needs: Vec<McpExposure> = enabled
                .flat_map(|server| section::exposures(&server.config))
                .collect();
            (needs, inner.auto_enable_codemode)
        };
        let (by_script, by_search) = (
            needs.contains(&McpExposure::Codemode),
            needs.contains(&McpExposure::Deferred),
        );
        if !by_script && !by_search {
            return;
        }
        let Ok(mut active) = self.pi.get_active_tools() else {
            return;
        };
        let before = active.len();
        for (needed, name) in [(by_script && auto, "codemode"), (by_search, "tool_search")] {
            if needed && !active.iter().any(|known| known == name) {
                active.push(name.to_owned());
            }
        }
        if active.len() > before {
            // Checked to be current just above.
            let _ = self.pi.set_active_tools(&active);
        }
        if active
            .iter()
            .any(|name| name == "codemode" || name == "tool_search")
        {
            return;
        }
        if !std::mem::replace(&mut lock(&self.inner).warned_unreachable, true) {
            let text = "MCP tools are only reachable from the codemode or tool_search tool, but neither is active \
                        (autoEnableCodemode is false); they cannot be called.";
            // As above.
            let _ = ctx.notify(text, Some("warning"));
        }
    }
}

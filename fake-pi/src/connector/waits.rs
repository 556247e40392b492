//! How servers and the run meet: what waits for a server, and how the model learns of those it cannot call directly
//! (pi-host.md 4.3, 4.5).

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::manager::{Manager, Ready};
use super::resources;
use super::section::{self, SECTION};
use crate::extension::{Event, lock};
use crate::fault::Fault;
use crate::instance::Ctx;
use crate::mcp::{McpExposure, naming};
use crate::{codemode, tool_search};

/// How long the first prompt waits for servers with declared tools (pi-host.md 4.5).
const STARTUP_WAIT: Duration = Duration::from_secs(10);

/// The globals by which a script looks for tools: it may then call any.
const LOOKS_FOR_TOOLS: [&str; 4] = [
    "searchTools",
    "describeNamespace",
    "describeTool",
    "ALL_TOOLS",
];

/// The servers that a call may reach.
enum Reached {
    All,
    /// The owner of one tool, if it has any.
    One(Option<String>),
    /// Those whose namespace stands in one of these words.
    Named(Vec<String>),
}

impl Reached {
    fn by_script(code: &str) -> Self {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let words = code.split(|character| !is_part(character));
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if words
            .iter()
            .any(|word| LOOKS_FOR_TOOLS.contains(&word.as_str()))
        {
            Self::All
        } else {
            Self::Named(words)
        }
    }

    fn includes(&self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(owner) => owner.as_deref() == Some(server),
            Self::Named(words) => {
                let namespace = naming::namespace(server);
                words.iter().any(|word| word.contains(&namespace))
            }
        }
    }
}

impl Manager {
    /// Holds the first prompt for servers whose tools are to be declared in it.
    pub(super) async fn wait_for_direct(&self, ctx: &Ctx) {
        let ready: Vec<Ready> = {
            let mut inner = lock(&self.inner);
            if std::mem::replace(&mut inner.waited, true)
                || self.host.makes(Fault::SkipsTheFirstWait)
            {
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

    /// Holds a call that may reach servers which are just being connected, until they are or the run is aborted: a call
    /// of a server's own tool, a script that names servers or looks for tools, and a search.
    pub(super) async fn wait_for_reached(&self, event: &Event, ctx: &Ctx) {
        let called = event.get("toolName").unwrap_or_default();
        let reached = match called.as_str().unwrap_or_default() {
            codemode::NAME => {
                let input = event.get("input").unwrap_or_default();
                Reached::by_script(input["code"].as_str().unwrap_or_default())
            }
            tool_search::NAME => Reached::All,
            // The resources of all servers are reached by tools of nobody's own.
            tool if resources::is_one(tool) => Reached::All,
            tool => Reached::One(self.owner(tool)),
        };
        let abort = ctx.signal().ok().flatten().unwrap_or_default();
        // A server that is connected anew while the call waits is waited for too.
        let mut seen: Vec<Ready> = Vec::new();
        loop {
            let ready: Vec<Ready> = {
                let inner = lock(&self.inner);
                let servers = inner.servers.iter().filter(|server| {
                    server.config.enabled && reached.includes(&server.config.name)
                });
                servers.filter_map(|server| server.ready()).collect()
            };
            let is_known = |one: &Ready| seen.iter().any(|known| known.ptr_eq(one));
            if abort.is_cancelled() || ready.iter().all(is_known) {
                return;
            }
            tokio::select! {
                biased;
                () = abort.cancelled() => return,
                _ = join_all(ready.clone()) => seen = ready,
            }
        }
    }

    /// The server that offers a tool.
    fn owner(&self, tool: &str) -> Option<String> {
        let inner = lock(&self.inner);
        let mut tools = inner.tools.values().flatten();
        tools
            .find(|known| known.name() == tool)
            .map(|known| known.server().to_owned())
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
        for (needed, name) in [
            (by_script && auto, codemode::NAME),
            (by_search, tool_search::NAME),
        ] {
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
            .any(|name| name == codemode::NAME || name == tool_search::NAME)
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

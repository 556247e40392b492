//! What the MCP support says: the list of `/mcp`, the notice after the start, the answers of its words (pi-host.md 4.6).

use super::link::State;
use super::manager::{Manager, Server};
use crate::extension::Thrown;
use crate::instance::Ctx;

const USAGE: &str =
    "Usage: /mcp, /mcp login [server], /mcp logout [server], /mcp reconnect [server]";
const NO_SIGN_IN: &str = "signing in is not modelled by the simulated host";

/// One server's state, as the notice and the answer to `reconnect` word it.
fn described(server: &Server) -> String {
    let Some(link) = server.link() else {
        return "starting".to_owned();
    };
    match link.state() {
        State::Failed => {
            let error = link.error().unwrap_or_else(|| "unknown error".to_owned());
            format!("failed: {}", error.split('\n').next().unwrap_or_default())
        }
        State::Connected => match link.tools().len() {
            1 => "connected · 1 tool".to_owned(),
            count => format!("connected · {count} tools"),
        },
        State::Connecting => "connecting…".to_owned(),
        state @ (State::Disconnected | State::Closed) => state.as_str().to_owned(),
    }
}

impl Manager {
    /// Tells once what needs the person: errors of `mcp.json` and failed servers, or only those of `only`.
    pub(super) fn report_problems(&self, ctx: &Ctx, only: Option<&[std::sync::Arc<Server>]>) {
        let mut lines: Vec<String> = match only {
            Some(_) => Vec::new(),
            None => self
                .config_errors()
                .iter()
                .map(|error| format!("config: {error}"))
                .collect(),
        };
        let all = self.servers();
        for server in only.unwrap_or(&all) {
            if server
                .link()
                .is_some_and(|link| link.state() == State::Failed)
            {
                lines.push(format!("{}: {}", server.config.name, described(server)));
            }
        }
        if lines.is_empty() {
            return;
        }
        let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        let text = format!(
            "MCP servers need attention:\n{}\nRun /mcp to fix.",
            lines.join("\n")
        );
        // A session that was replaced meanwhile has nobody to tell.
        let _ = ctx.notify(&text, Some("warning"));
    }

    fn status(&self) -> String {
        let (servers, errors, overridden) =
            (self.servers(), self.config_errors(), self.overridden());
        if servers.is_empty() && errors.is_empty() && overridden.is_empty() {
            let file = self.host.options.agent_dir.join("mcp.json");
            return format!(
                "No MCP servers configured. Add them to {} or .pi/mcp.json.",
                file.to_string_lossy()
            );
        }
        let mut lines: Vec<String> = servers.iter().map(|server| status_of(server)).collect();
        lines.extend(errors.iter().map(|error| format!("config error: {error}")));
        lines.extend(overridden.iter().map(|line| format!("overridden: {line}")));
        lines.join("\n")
    }

    /// The `/mcp` command.
    ///
    /// # Errors
    /// What `ctx` throws once the session was replaced.
    pub(super) async fn command(&self, arguments: &str, ctx: &Ctx) -> Result<(), Thrown> {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        if words.len() > 2 {
            return ctx.notify(USAGE, Some("warning"));
        }
        self.wait_started().await;
        match words.as_slice() {
            [] => ctx.notify(&self.status(), Some("info")),
            ["login" | "logout"] | ["login" | "logout", _] => ctx.notify(NO_SIGN_IN, Some("error")),
            ["reconnect", name] => match self.server(name) {
                Some(server) => self.reconnect(&server, ctx).await,
                None => ctx.notify(&unknown(name), Some("error")),
            },
            ["reconnect"] => {
                let servers: Vec<_> = self
                    .servers()
                    .into_iter()
                    .filter(|server| server.link().is_some())
                    .collect();
                match servers.as_slice() {
                    // Among several the real Pi asks; a question has no answer here.
                    [server] => self.reconnect(server, ctx).await,
                    _ => ctx.notify("No enabled MCP server to reconnect.", Some("info")),
                }
            }
            _ => ctx.notify(USAGE, Some("warning")),
        }
    }

    async fn reconnect(&self, server: &Server, ctx: &Ctx) -> Result<(), Thrown> {
        let Some(link) = server.link() else {
            return ctx.notify("No enabled MCP server to reconnect.", Some("error"));
        };
        match link.reconnect().await {
            Ok(()) => {
                let name = &server.config.name;
                let text = format!(
                    "Reconnected to MCP server \"{name}\" ({}).",
                    described(server)
                );
                ctx.notify(&text, Some("info"))
            }
            Err(error) => ctx.notify(&error, Some("error")),
        }
    }
}

fn unknown(name: &str) -> String {
    format!("No MCP server named \"{name}\".")
}

fn status_of(server: &Server) -> String {
    let (name, exposure) = (&server.config.name, server.config.exposure.as_str());
    if !server.config.enabled {
        return format!("{name}: disabled ({exposure})");
    }
    let Some(link) = server.link() else {
        return format!("{name}: starting ({exposure})");
    };
    let state = link.state();
    let shown = match state {
        State::Disconnected => "disconnected, reconnects on next call",
        State::Connecting | State::Connected | State::Failed | State::Closed => state.as_str(),
    };
    if state == State::Connected {
        return format!("{name}: {shown}, {} tools ({exposure})", link.tools().len());
    }
    let error = link.error().map(|error| {
        format!(
            "\n    {}",
            error.split('\n').collect::<Vec<_>>().join("\n    ")
        )
    });
    format!("{name}: {shown} ({exposure}){}", error.unwrap_or_default())
}

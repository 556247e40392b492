//! What the MCP support says: the list of `/mcp`, the notice after the start, the answers of its words (pi-host.md 4.6).

use std::sync::Arc;

use super::link::State;
use super::manager::{Manager, Server};
use crate::extension::Thrown;
use crate::instance::Ctx;

const USAGE: &str =
    "Usage: /mcp, /mcp login [server], /mcp logout [server], /mcp reconnect [server]";
const NO_SIGN_IN: &str = "signing in is not modelled by the simulated host";
const NO_CHOICE: &str = "a choice of servers is not modelled by the simulated host";
const NOBODY_SIGNS_IN: &str =
    "No enabled MCP server uses OAuth. Only HTTP servers without an Authorization header do.";
const NOBODY_TO_RECONNECT: &str = "No enabled MCP server to reconnect.";

/// One server's state, as the notice and the answer to `reconnect` word it.
fn described(server: &Server) -> String {
    if !server.config.enabled {
        return "disabled".to_owned();
    }
    let Some(link) = server.link() else {
        return "starting".to_owned();
    };
    match link.state() {
        State::NeedsAuth => "needs sign-in".to_owned(),
        State::Failed => {
            let error = link.error().unwrap_or_else(|| "unknown error".to_owned());
            format!("failed: {}", error.split('\n').next().unwrap_or_default())
        }
        State::Connected => {
            let count = link.tools().len();
            let plural = if count == 1 { "" } else { "s" };
            let resources = if link.has_resources() {
                " · resources"
            } else {
                ""
            };
            format!("connected · {count} tool{plural}{resources}")
        }
        State::Connecting => "connecting…".to_owned(),
        state @ (State::Disconnected | State::Closed) => state.as_str().to_owned(),
    }
}

/// The words of `/mcp` that are about one server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errand {
    Reconnect,
    SignIn,
}

impl Errand {
    /// Whether it can be done with a server at all.
    fn suits(self, server: &Server) -> bool {
        let has_link = server.link().is_some();
        match self {
            Self::Reconnect => has_link,
            Self::SignIn => has_link && server.config.signs_in(),
        }
    }

    /// Whether a server looks as if it waits for it.
    fn is_due(self, server: &Server) -> bool {
        let state = server.link().map(|link| link.state());
        match self {
            Self::Reconnect => matches!(state, Some(State::Failed | State::Disconnected)),
            Self::SignIn => state == Some(State::NeedsAuth),
        }
    }

    /// What the person reads when it suits no server, or not the one they named.
    fn in_vain(self) -> &'static str {
        match self {
            Self::Reconnect => NOBODY_TO_RECONNECT,
            Self::SignIn => NOBODY_SIGNS_IN,
        }
    }
}

/// Why an errand comes to nothing: a text and the kind of the notice.
type Refusal = (String, &'static str);

impl Manager {
    /// Tells once what needs the person: errors of `mcp.json` and failed servers, or only those of `only`.
    pub(super) fn report_problems(&self, ctx: &Ctx, only: Option<&[Arc<Server>]>) {
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
                .is_some_and(|link| matches!(link.state(), State::Failed | State::NeedsAuth))
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
        let named = words.get(1).copied();
        match words.first().copied() {
            None => ctx.notify(&self.status(), Some("info")),
            Some("login" | "logout") => self.go(Errand::SignIn, named, ctx).await,
            Some("reconnect") => self.go(Errand::Reconnect, named, ctx).await,
            Some(_) => ctx.notify(USAGE, Some("warning")),
        }
    }

    async fn go(&self, errand: Errand, named: Option<&str>, ctx: &Ctx) -> Result<(), Thrown> {
        let goal = match named {
            Some(name) => self.named_goal(errand, name),
            None => self.obvious_goal(errand),
        };
        match (goal, errand) {
            (Ok(server), Errand::Reconnect) => self.reconnect(&server, ctx).await,
            (Ok(_), Errand::SignIn) => ctx.notify(NO_SIGN_IN, Some("error")),
            (Err((why, kind)), _) => ctx.notify(&why, Some(kind)),
        }
    }

    fn named_goal(&self, errand: Errand, name: &str) -> Result<Arc<Server>, Refusal> {
        let server = self.server(name).ok_or_else(|| (unknown(name), "error"))?;
        if errand.suits(&server) {
            Ok(server)
        } else {
            Err((errand.in_vain().to_owned(), "error"))
        }
    }

    /// The one server that it suits, or else the one of them that waits for it.
    fn obvious_goal(&self, errand: Errand) -> Result<Arc<Server>, Refusal> {
        let mut goals = self.servers();
        goals.retain(|server| errand.suits(server));
        if goals.is_empty() {
            return Err((errand.in_vain().to_owned(), "info"));
        }
        if goals.len() > 1 {
            goals.retain(|server| errand.is_due(server));
        }
        match <[Arc<Server>; 1]>::try_from(goals) {
            Ok([server]) => Ok(server),
            // The real Pi asks the person; a question has no answer here.
            Err(_) => Err((NO_CHOICE.to_owned(), "error")),
        }
    }

    async fn reconnect(&self, server: &Server, ctx: &Ctx) -> Result<(), Thrown> {
        let Some(link) = server.link() else {
            return ctx.notify(NOBODY_TO_RECONNECT, Some("error"));
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
    if state == State::NeedsAuth {
        return format!("{name}: needs sign-in, run /mcp login {name} ({exposure})");
    }
    let shown = match state {
        State::Disconnected => "disconnected, reconnects on next call",
        State::Connecting | State::Connected | State::Failed | State::NeedsAuth | State::Closed => {
            state.as_str()
        }
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

//! The MCP server that a session registers with Pi (R2, C6).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

/// One registration. Serialises to the config object of `pi.registerMcpServer(name, config)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Registration {
    /// The server's name, the first argument.
    #[serde(skip)]
    pub name: &'static str,
    /// Always `stdio`.
    #[serde(rename = "type")]
    pub transport: &'static str,
    /// The resolved executable, absolute (C8).
    pub command: String,
    /// Its arguments.
    pub args: Vec<&'static str>,
    /// Laid over the environment that the child inherits. Values pass through Pi's expansion (C7).
    pub env: BTreeMap<&'static str, String>,
    /// Always `direct`, so that the tools are declared to the model.
    pub exposure: &'static str,
    /// Seconds that one request may take: analyzers run for minutes.
    pub timeout: u32,
    /// One sentence for lists of servers.
    pub description: &'static str,
}

impl Registration {
    /// The server's name.
    pub const SERVER: &'static str = "gortex";

    /// Builds the registration of `command` with a validated tool-surface spec (C5, C6).
    ///
    /// Both variables are always set: an inherited one must not win over what was resolved. `None` where the path is
    /// not UTF-8, since Pi could not be told it.
    #[must_use]
    pub fn new(command: &Path, tools: Option<&str>) -> Option<Self> {
        let mode = if tools.is_some() { "defer" } else { "" };
        Some(Self {
            name: Self::SERVER,
            transport: "stdio",
            command: command.to_str()?.to_owned(),
            args: vec!["mcp"],
            env: BTreeMap::from([
                ("GORTEX_TOOLS", tools.unwrap_or_default().to_owned()),
                ("GORTEX_TOOLS_MODE", mode.to_owned()),
            ]),
            exposure: "direct",
            timeout: 600,
            description: "Gortex code graph: search, read, analyze and edit this codebase.",
        })
    }
}

//! The host part of a case: how Pi runs, and which extensions stand beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::beside::{
    Appended, Deeds, DeliverAs, Handler, Message, OtherCommand, OtherExtension, Place, Said,
};
pub use super::settings::{Compaction, Queueing, Retry, Settings};
pub use super::tools::{Image, OtherTool};

/// How Pi runs in a case.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPart {
    /// Who connects registered MCP servers.
    #[serde(default)]
    pub connector: Connector,
    /// Whether the project's own files are trusted (`--approve`).
    #[serde(default)]
    pub trusted: bool,
    /// Tools of Pi that each session declares besides `read`, `bash`, `edit` and `write`, such as `codemode`.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Pi's own files of servers.
    #[serde(default)]
    pub mcp_json: McpJson,
    /// The user's settings of Pi.
    #[serde(default)]
    pub settings: Settings,
    /// Other extensions.
    #[serde(default)]
    pub extensions: Vec<OtherExtension>,
}

impl HostPart {
    /// Whether an extension of the case stands in for Pi's own MCP support (pi-host.md 3.4).
    pub fn replaces_mcp(&self) -> bool {
        let commands = self.extensions.iter().flat_map(|other| &other.commands);
        commands.into_iter().any(|command| command.name == "mcp")
    }
}

/// Texts of Pi's `mcp.json` (pi-host.md 3.5). `<case>` in them stands for the folder of the play.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpJson {
    /// The file of the agent folder.
    #[serde(default)]
    pub user: Option<String>,
    /// The project's own, which Pi reads when the project is trusted.
    #[serde(default)]
    pub project: Option<String>,
}

/// Who connects registered MCP servers (pi-host.md 3.4). An extension of the case that offers the command `mcp`
/// replaces both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connector {
    /// Pi's own.
    #[default]
    Builtin,
    /// Nobody: Pi was started with `--no-mcp`.
    Absent,
}

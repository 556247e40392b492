//! The host part of a case: how Pi runs, and which extensions stand beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::beside::{
    Appended, Deeds, DeliverAs, Handler, Message, OldHandle, OtherCommand, OtherExtension, Place,
    Question, QuestionKind, Said,
};
pub use super::settings::{Compaction, Queueing, Retry, Settings};
pub use super::tools::{Image, OtherTool};

/// How Pi runs in a case.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPart {
    /// How Pi runs. In `print` and `json` the person only gives prompts, all at the start.
    #[serde(default)]
    pub mode: Mode,
    /// Whether the program of mode `embedded` calls `bindExtensions`.
    #[serde(default = "yes")]
    pub binds: bool,
    /// What is piped into Pi's standard input in modes `print` and `json`; it becomes the beginning of the first prompt.
    #[serde(default)]
    pub piped: Option<String>,
    /// The code with which the host ends: not 0 for one that a signal ends (128 and its number, or the negative number of
    /// one that Pi does not handle), or whose extension fails to load.
    #[serde(default)]
    pub exit: i32,
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

impl Default for HostPart {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            binds: true,
            piped: None,
            exit: 0,
            connector: Connector::default(),
            trusted: false,
            tools: Vec::new(),
            settings: Settings::default(),
            mcp_json: McpJson::default(),
            extensions: Vec::new(),
        }
    }
}

fn yes() -> bool {
    true
}

/// Who drives Pi, and how (pi-host.md 5, 11).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// `--mode rpc`: the person's steps are commands.
    #[default]
    Rpc,
    /// `-p`: the person's prompts are arguments, and Pi ends by itself.
    Print,
    /// `--mode json`: as `print`, and Pi prints its events.
    Json,
    /// Pi in a terminal: the person's steps are typed. The screen is not looked at.
    Terminal,
    /// A program that uses Pi's SDK. A new session is a further one in the same process.
    Embedded,
}

impl Mode {
    /// Whether the prompts are given at the start, and Pi ends after the last.
    pub fn is_one_shot(self) -> bool {
        matches!(self, Self::Print | Self::Json)
    }

    /// Whether Pi, or the program around it, prints the session's events.
    pub fn prints_events(self) -> bool {
        matches!(self, Self::Rpc | Self::Json | Self::Embedded)
    }

    /// Whether Pi, or the program around it, answers commands with records.
    pub fn has_records(self) -> bool {
        matches!(self, Self::Rpc | Self::Embedded)
    }
}

impl HostPart {
    /// Whether the host may end by itself: it ends with another code than 0, or an extension asks it to leave.
    pub fn may_leave(&self) -> bool {
        let handlers = self.extensions.iter().flat_map(|other| &other.on);
        self.exit != 0 || handlers.into_iter().any(|handler| handler.does.shuts_down)
    }

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

//! What the host tells a handler and what a handler answers: plain data, named as Pi names it.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A slash command that the host knows (`pi.getCommands()`), as far as the connector check reads it (R3, R4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFact {
    /// Name without the slash. Pi appends `:1`, `:2`, … where two extensions claim one name.
    pub name: String,
    /// `sourceInfo.path`: a file, or `builtin:mcp` for Pi's own MCP support. Empty where the host gave none.
    pub source_path: String,
}

/// A tool that the host knows (`pi.getAllTools()`), active or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFact {
    /// Full name, `mcp__gortex__search` for a graph tool.
    pub name: String,
    /// `direct`, `codemode`, `deferred` or `hidden`, where the host says so.
    pub exposure: Option<String>,
}

/// The `session_start` event and what its context holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    /// The session's directory, absolute.
    pub cwd: PathBuf,
    /// The session's id, stable over a reload.
    pub session_id: String,
    /// `startup`, `new`, `resume`, `fork` or `reload`.
    pub reason: String,
    /// Whether a person can read a notification.
    pub has_ui: bool,
    /// Every command that is loaded when the event fires.
    pub commands: Vec<CommandFact>,
}

/// The `before_agent_start` event, whichever message started the run (R12).
#[derive(Clone, Debug)]
pub struct TurnFacts {
    /// The session's id.
    pub session_id: String,
    /// The session's directory, absolute.
    pub cwd: PathBuf,
    /// How many results of the person's own commands the session holds, as in [`UserBashFacts`].
    pub results: Option<usize>,
    /// The turn's abort signal where the host gives one; Pi up to 1.6.0 does not (R7).
    pub abort: Option<CancellationToken>,
}

/// The `user_bash` event: a shell command of the person's own that is about to run (`!` in the terminal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserBashFacts {
    /// The session's directory, absolute.
    pub cwd: PathBuf,
    /// How many results of such commands the session holds (messages of the role `bashExecution`), on all branches;
    /// `None` where the host does not tell.
    pub results: Option<usize>,
}

/// The `tool_call` event: a call that is about to run.
#[derive(Clone, Debug)]
pub struct ToolCallFacts {
    /// The call's id, unique in its session.
    pub id: String,
    /// Pi's name of the tool.
    pub name: String,
    /// The validated arguments.
    pub input: Value,
    /// The codemode call that made this one.
    pub parent_id: Option<String>,
    /// The session's directory, absolute.
    pub cwd: PathBuf,
    /// The session's id.
    pub session_id: String,
    /// The turn's abort signal.
    pub abort: Option<CancellationToken>,
}

/// The `tool_result` event: a call that ran, before the model reads its result.
#[derive(Clone, Debug)]
pub struct ToolResultFacts {
    /// The call's id.
    pub id: String,
    /// Content blocks as the host holds them; `None` where another extension put something in their place that is no
    /// list (pi-host.md 8).
    pub content: Option<Vec<Value>>,
    /// The tool's own details.
    pub details: Option<Value>,
    /// The MCP result without `_meta`, for tools of a server.
    pub structured_content: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// The turn's abort signal.
    pub abort: Option<CancellationToken>,
}

/// A message that enters the history once, unseen by the person (B2).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HiddenMessage {
    /// Always [`HiddenMessage::CUSTOM_TYPE`].
    pub custom_type: &'static str,
    /// What the model reads.
    pub content: String,
    /// Always false.
    pub display: bool,
    /// Data for programs that read the session file; the model never sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl HiddenMessage {
    /// The `customType` of every message that the adapter stores.
    pub const CUSTOM_TYPE: &'static str = "gortex";

    /// Builds the one message of a first turn.
    #[must_use]
    pub fn new(content: String) -> Self {
        Self {
            custom_type: Self::CUSTOM_TYPE,
            content,
            display: false,
            details: None,
        }
    }
}

/// The answer to `tool_call` that keeps the tool from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What the model reads. Pi puts a text of its own in place of an empty one.
    pub reason: String,
}

/// The answer to `tool_result`: what to put in place of what the result holds. A `None` keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultPatch {
    /// The whole content. Set together with `structured_content`, which Pi drops otherwise (pi-host.md 8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Value>>,
    /// The whole details, Pi's own included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The structured content, restated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The error flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

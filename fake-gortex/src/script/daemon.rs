//! The table `[daemon]`: what `gortex mcp` does when it starts, lists and is called.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Progress, RequestRule, is_default};

/// How the scripted `gortex mcp` behaves, or another server that is played beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonScript {
    /// The version that the daemon and its readiness line tell.
    pub version: String,
    /// Milliseconds before `initialize` is answered.
    #[serde(skip_serializing_if = "is_default")]
    pub initialize_after_ms: u64,
    /// Milliseconds before each `tools/list` is answered.
    #[serde(skip_serializing_if = "is_default")]
    pub list_after_ms: u64,
    /// Reads everything and never answers anything, `initialize` included.
    #[serde(skip_serializing_if = "is_default")]
    pub silent: bool,
    /// Ends with this exit code right after start, before reading anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_on_start: Option<i32>,
    /// Text that the process writes to its stderr at start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Lives on when its stdin ends, until it is killed.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_eof: bool,
    /// Lives on at SIGTERM, until SIGKILL.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_term: bool,
    /// Variables of its environment that the journal tells at start, besides Gortex's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// What `initialize` says of the tools as a group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The capabilities that `initialize` declares. Absent: tools whose list changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Map<String, Value>>,
    /// The tools it lists, in this order. Absent: the 21 tools of a current Gortex. Empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Members of listed tools in the place of the usual ones, by the tool's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<String, Map<String, Value>>,
    /// What requests other than calls get that are not left to the default behaviour; the first rule that matches wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRule>,
    /// What calls do that are not left to the default behaviour; the first rule that matches a call wins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRule>,
    /// Changes of the tool list on the daemon's own account.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<LaterChange>,
}

impl Default for DaemonScript {
    fn default() -> Self {
        Self {
            version: "0.65.0".to_owned(),
            initialize_after_ms: 0,
            list_after_ms: 0,
            silent: false,
            exit_on_start: None,
            stderr: None,
            ignore_eof: false,
            ignore_term: false,
            env: Vec::new(),
            instructions: None,
            capabilities: None,
            tools: None,
            entries: BTreeMap::new(),
            requests: Vec::new(),
            calls: Vec::new(),
            later: Vec::new(),
        }
    }
}

/// What one `tools/call` does. In order: wait `delay_ms`, work, tell of its progress, wait `answer_after_ms`, tell of
/// changed tools, send `messages`, answer (or end, or stay silent).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallRule {
    /// Only calls of this tool. Absent: of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only calls whose arguments hold these values; a table matches a part of a table, anything else matches whole.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub when: Map<String, Value>,
    /// Only the n-th call (from 1) that matches `tool` and `when`, counted over restarts of the daemon too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Milliseconds before the work is done.
    #[serde(skip_serializing_if = "is_default")]
    pub delay_ms: u64,
    /// Whether the tool does its work (an `edit` edits). Absent: yes, unless the answer is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<bool>,
    /// Files that the call changes besides its work, whatever its tool is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// What it tells of its progress after the work, if the caller wants to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<Progress>,
    /// Milliseconds between the work (and its progress) and the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub answer_after_ms: u64,
    /// Tools that are listed from this call on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub promote: Vec<String>,
    /// Tools that are listed no more from this call on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdraw: Vec<String>,
    /// How many `notifications/tools/list_changed` go out before the answer (at most 10000).
    #[serde(skip_serializing_if = "is_default")]
    pub list_changed: u32,
    /// Messages that go out before the answer, without their `jsonrpc`: notifications, or requests to the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Map<String, Value>>,
    /// The text of the answer. Absent: what the tool itself says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How often `text` stands in the answer, one after the other: for answers of many megabytes (at most 64 MiB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Marks the answer as the tool's own error.
    #[serde(skip_serializing_if = "is_default")]
    pub is_error: bool,
    /// The answer's `structuredContent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The whole `result` of the answer as it goes on the wire, valid or not; overrides the fields above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Answers with a JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// Never answers this call.
    #[serde(skip_serializing_if = "is_default")]
    pub silent: bool,
    /// Writes this text as it is before the answer (a newline is up to the text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_before: Option<String>,
    /// Writes this text as it is instead of the answer (a newline is up to the text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Writes only the first 20 bytes of the answer.
    #[serde(skip_serializing_if = "is_default")]
    pub partial_frame: bool,
    /// Ends the daemon with this exit code instead of answering (after the cut frame, if `partial_frame` is set).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// One file that a scripted call changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// The file, relative to the repository.
    pub path: String,
    /// Its new text. Absent: the file is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Becomes a folder, or a link that leads to itself, in the place of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<Becomes>,
}

/// What a file becomes that nobody can read a text from, whoever asks: permissions bind no superuser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Becomes {
    /// An empty folder.
    Folder,
    /// A symbolic link to itself.
    Loop,
}

/// A JSON-RPC error as the daemon answers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RpcError {
    /// The error's code.
    #[serde(default = "RpcError::server_error")]
    pub code: i32,
    /// The error's message, which the model reads.
    pub message: String,
    /// The error's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// The first code that JSON-RPC leaves to servers.
    fn server_error() -> i32 {
        -32000
    }
}

/// A change of the tool list that no call causes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LaterChange {
    /// Milliseconds after the answer to `initialize`.
    pub after_ms: u64,
    /// Tools that are listed from then on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub promote: Vec<String>,
    /// Tools that are listed no more from then on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdraw: Vec<String>,
    /// How many `notifications/tools/list_changed` go out then (at most 10000).
    #[serde(skip_serializing_if = "is_default")]
    pub list_changed: u32,
    /// Messages that go out then, without their `jsonrpc`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Map<String, Value>>,
    /// Text that is written then as it is, in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Ends the daemon then, with this exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

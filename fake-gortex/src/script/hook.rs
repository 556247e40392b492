//! The table `[hook]`: what `gortex hook` answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::is_default;

/// How the scripted `gortex hook` behaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HookScript {
    /// Never reads its stdin. Only rules without conditions apply then, and the event counts as a tool call.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_stdin: bool,
    /// What is answered to which envelope; the first rule that matches wins. No rule: `{}` for a tool call, a briefing
    /// with a readiness line for a session start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<HookRule>,
    /// Beginnings of paths that count as indexed source: a call on one of them that no rule matches is decided by the
    /// posture that `--mode` names, as Gortex does. None: no posture decides anything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexed: Vec<String>,
}

/// What one hook call does. In order: wait `delay_ms`, print, end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HookRule {
    /// Only envelopes of this event (`session_start`, `tool_call`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Only calls of this tool, by the name that Gortex knows it by (`Read`, `Bash`, or a graph tool's bare name).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only calls whose `tool_input` holds these values; a table matches a part of a table, anything else whole.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub when: Map<String, Value>,
    /// Only the n-th envelope (from 1) that matches the conditions above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Milliseconds before anything is printed.
    #[serde(skip_serializing_if = "is_default")]
    pub delay_ms: u64,
    /// The decision that is printed. Absent: the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Text that is printed as it is instead of a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Bytes that are printed as they are instead of a decision: for output that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Vec<u8>>,
    /// How often `raw` is printed, one after the other: for floods (at most 64 MiB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Text that is written to stderr.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The exit code; 0 when absent.
    #[serde(skip_serializing_if = "is_default")]
    pub exit: i32,
    /// Ends by signal 9 once it has printed, whatever its exit code is.
    #[serde(skip_serializing_if = "is_default")]
    pub killed: bool,
    /// Milliseconds that a process which the hook leaves behind keeps its stdout and stderr open. Of use to the binary
    /// only: in process there is nothing to keep open.
    #[serde(skip_serializing_if = "is_default")]
    pub linger_ms: u64,
    /// Prints nothing and never ends, until it is killed.
    #[serde(skip_serializing_if = "is_default")]
    pub hang: bool,
}

/// What the hook says about one envelope (wire.md, "Hook decision").
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Decision {
    /// Whether the call is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<bool>,
    /// Why it is refused: what the model reads instead of a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Guidance that goes with the call's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// The briefing of a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orientation: Option<String>,
}

//! Extensions beside ours, and the few scripted things that they do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An extension beside ours that does a few scripted things.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherExtension {
    /// Its name; it becomes its file name.
    pub name: String,
    /// Whether Pi loads it before or after ours.
    #[serde(default)]
    pub place: Place,
    /// MCP servers that it registers in its factory, by name.
    #[serde(default)]
    pub registers: BTreeMap<String, Value>,
    /// Slash commands that it offers. One named `mcp` replaces Pi's own MCP support.
    #[serde(default)]
    pub commands: Vec<OtherCommand>,
    /// What it does on which event.
    #[serde(default)]
    pub on: Vec<Handler>,
}

/// Where Pi loads another extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Its handlers run before ours.
    #[default]
    Before,
    /// Its handlers run after ours.
    After,
}

/// A slash command of another extension.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub does: Deeds,
}

/// What another extension does on an event: what [`Deeds`] says, then it throws or returns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Pi's name of the event, such as `session_start` or `tool_call`.
    pub event: String,
    /// Only events with these members, such as `{ toolCallId = "c1" }` or `{ reason = "startup" }`.
    #[serde(default)]
    pub when: Map<String, Value>,
    /// How long the handler stays pending first, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// Values that it puts in place into the event's objects, by path: `input.path`, `details.note`.
    #[serde(default)]
    pub sets: BTreeMap<String, Value>,
    /// What it does besides.
    #[serde(default)]
    pub does: Deeds,
    /// The message of the error that it throws.
    #[serde(default)]
    pub throws: Option<String>,
    /// What it returns.
    #[serde(default)]
    pub returns: Option<Value>,
}

/// What another extension asks of Pi.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deeds {
    /// MCP servers that it registers, by name.
    pub registers: BTreeMap<String, Value>,
    /// Custom messages that it sends.
    pub sends: Vec<Message>,
}

/// A custom message and how it is delivered (pi-host.md 7).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its kind.
    pub custom_type: String,
    /// Its text.
    pub content: String,
    /// Whether it starts a run when none is under way.
    #[serde(default)]
    pub trigger_turn: bool,
}

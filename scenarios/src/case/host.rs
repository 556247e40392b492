//! The host part of a case: how Pi runs, and which extensions stand beside ours.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How Pi runs in a case.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPart {
    /// Who connects registered MCP servers.
    #[serde(default)]
    pub connector: Connector,
    /// Other extensions.
    #[serde(default)]
    pub extensions: Vec<OtherExtension>,
}

/// Who connects registered MCP servers (pi-host.md 3.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connector {
    /// Pi's own.
    #[default]
    Builtin,
    /// Nobody: Pi was started with `--no-mcp`.
    Absent,
}

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

/// What another extension does on an event: first it waits, then it throws or returns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Pi's name of the event, such as `session_start` or `tool_call`.
    pub event: String,
    /// How long the handler stays pending, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// The message of the error that it throws.
    #[serde(default)]
    pub throws: Option<String>,
    /// What it returns.
    #[serde(default)]
    pub returns: Option<Value>,
}

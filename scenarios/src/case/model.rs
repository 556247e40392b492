//! What the scripted model answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::script::ScriptStep;

/// The answer to one request; answers are taken in order. A request beyond the last answer fails the case.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The text; empty for an answer that only calls tools.
    #[serde(default)]
    pub say: String,
    /// The calls that it makes, in parallel.
    #[serde(default)]
    pub calls: Vec<Call>,
    /// How long the model thinks before it answers, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
}

/// One tool call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its id, unlike any other in the case.
    pub id: String,
    /// The tool's name as the model calls it.
    pub tool: String,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// In the place of arguments: the script of a call of `codemode`, step by step. The model writes it as JavaScript.
    #[serde(default)]
    pub script: Vec<ScriptStep>,
    /// The arguments as the text that the model streams, in place of `args`: for what TOML cannot say, such as half of a
    /// surrogate pair (`\ud800`).
    #[serde(default)]
    pub raw: Option<String>,
}

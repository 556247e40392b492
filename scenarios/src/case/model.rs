//! What the scripted model answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::script::ScriptStep;

/// The answer to one request; answers are taken in order. A request beyond the last answer fails the case.
///
/// Pi also asks the model for the summary of a compaction or of a branch that is left; such a request takes the next
/// answer like any other.
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
    /// Why the answer stops, where it is not because it is complete.
    #[serde(default)]
    pub stop: Option<StopsBy>,
    /// The request fails instead; nothing else of the answer counts then, but for its delay.
    #[serde(default)]
    pub error: Option<Failure>,
    /// Where the answer pauses while it streams, in order.
    #[serde(default)]
    pub pauses: Vec<Pause>,
    /// The tokens that the provider says the request and the answer took; Pi compacts by it.
    #[serde(default = "few")]
    pub tokens: u64,
}

/// The tokens of an answer that names none: one for the request, one for the answer.
fn few() -> u64 {
    2
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

impl Call {
    /// The arguments as the model writes them.
    pub fn written(&self) -> String {
        let args = || Value::Object(self.args.clone()).to_string();
        self.raw.clone().unwrap_or_else(args)
    }
}

/// Why an answer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopsBy {
    /// The limit of tokens cut it off.
    Length,
}

/// A request that fails.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The HTTP status. Pi repeats the request for some: 429, 500, 502, 503, 504.
    pub status: u16,
    /// The error's message.
    pub message: String,
}

/// A pause in the stream of an answer.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Behind how many characters: those of the text first, then those of each call's arguments.
    pub after: usize,
    /// How long, in milliseconds.
    pub for_ms: u64,
}

//! What any request gets that is no call of a tool, and what goes out beside answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RpcError, is_default};

/// What one request does, whatever its method is. In order: wait `delay_ms`, send `messages`, write `raw_before`, answer
/// (or end, or stay silent).
///
/// Without an answer of its own (`result`, `error`, `raw`, `silent`, `exit`) a rule only adds to the usual one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestRule {
    /// Only requests of this method, such as `initialize` or `tools/list`. Absent: of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only requests whose parameters hold these values, such as `{ cursor = "2" }`.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub when: Map<String, Value>,
    /// Only the n-th request (from 1) that matches the conditions above, counted over restarts too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Milliseconds before anything is sent.
    #[serde(skip_serializing_if = "is_default")]
    pub delay_ms: u64,
    /// Messages that go out before the answer, without their `jsonrpc`: notifications, or requests to the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Map<String, Value>>,
    /// Text that is written as it is before the answer (a newline is up to the text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_before: Option<String>,
    /// The whole `result` of the answer, valid or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Answers with a JSON-RPC error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RpcError>,
    /// Text that is written as it is instead of the answer (a newline is up to the text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Never answers this request.
    #[serde(skip_serializing_if = "is_default")]
    pub silent: bool,
    /// Ends the server with this exit code instead of answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

impl RequestRule {
    /// Whether the usual answer is not given.
    pub(crate) fn answers(&self) -> bool {
        self.result.is_some()
            || self.error.is_some()
            || self.raw.is_some()
            || self.silent
            || self.exit.is_some()
    }
}

/// A `notifications/progress` about the call that is under way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Progress {
    /// Milliseconds since the one before, or since the work.
    pub after_ms: u64,
    /// How far it is.
    pub progress: f64,
    /// How far it can get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

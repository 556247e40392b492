//! What must hold in a case: how many events of a kind there are, and what stands in them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::trace::Lane;

/// A statement about the events of one lane and name.
///
/// Events are chosen by `lane` and `event`, then by `nth`, then by `is`, `contains` and `lacks`; `count` says how many
/// must remain, and without it at least one must.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The lane.
    pub lane: Lane,
    /// The event's name.
    pub event: String,
    /// Looks at one event only, the first is 1.
    #[serde(default)]
    pub nth: Option<usize>,
    /// Values that stand at paths of the payload, such as `result.isError` or `toolResults.0`.
    #[serde(default)]
    pub is: BTreeMap<String, Value>,
    /// Texts that occur in what stands at a path; an empty path is the whole payload.
    #[serde(default)]
    pub contains: BTreeMap<String, String>,
    /// Texts that do not.
    #[serde(default)]
    pub lacks: BTreeMap<String, String>,
    /// How many such events there are.
    #[serde(default)]
    pub count: Option<usize>,
    /// Earliest and latest virtual time of each, in milliseconds. Looked at on sim only: a real machine's times vary.
    #[serde(default)]
    pub between_ms: Option<[u64; 2]>,
}

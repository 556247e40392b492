//! Servers that are reached over HTTP, and how they answer there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a server speaks streamable HTTP. What it says is scripted by the table `[servers.NAME]` of the same name, one
/// process of it for each session. `<server NAME>` in `mcp.json` and in registrations stands for its address.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpServer {
    /// Whether requests are answered by a stream of events instead of by one JSON text.
    pub streams: bool,
    /// Whether the server has a stream of its own (GET); without one it answers 405.
    pub own_stream: bool,
    /// Whether it gives each session a name (`Mcp-Session-Id`) and insists on it.
    pub sessions: bool,
    /// What requests get instead; the first rule that matches wins.
    pub rules: Vec<HttpRule>,
}

/// What one HTTP request gets instead of the server's answer.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpRule {
    /// Only requests of this method: `POST`, `GET` or `DELETE`.
    pub method: Option<String>,
    /// Only requests whose message has this method, such as `initialize`.
    pub message: Option<String>,
    /// Only the n-th request (from 1) that matches the conditions above.
    pub nth: Option<u64>,
    /// How long it waits first, in milliseconds.
    pub delay_ms: u64,
    /// Forgets the session: it and all requests of it that follow get 404.
    pub forgets: bool,
    /// The status of the answer. Without one the server answers as it would.
    pub status: Option<u16>,
    /// Headers of the answer.
    pub headers: BTreeMap<String, String>,
    /// The answer's body.
    pub body: String,
    /// Ends a streamed answer before the server's message, after an event that only has this id.
    pub breaks_after_id: Option<String>,
}

//! What the hook reads on stdin (wire.md "Hook envelope").

use std::path::Path;

use serde::Serialize;

use super::translate::{ToolInput, Translated};

/// One question to the hook, as it goes over the wire.
#[derive(Debug, Serialize)]
pub struct Envelope<'a> {
    event: &'static str,
    cwd: &'a str,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_input: Option<ToolInput<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_gortex_tool: Option<bool>,
}

impl<'a> Envelope<'a> {
    /// The most that an envelope may weigh, in bytes. A call with more than that is not asked about.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;

    /// Asks for the briefing of a session. `None` where the folder's name is not UTF-8.
    #[must_use]
    pub fn session_start(cwd: &'a Path, session_id: &'a str) -> Option<Self> {
        Some(Self {
            event: "session_start",
            cwd: cwd.to_str()?,
            session_id,
            tool_name: None,
            tool_input: None,
            is_gortex_tool: None,
        })
    }

    /// Asks about a call. `None` where the folder's name is not UTF-8.
    #[must_use]
    pub fn tool_call(cwd: &'a Path, session_id: &'a str, call: &Translated<'a>) -> Option<Self> {
        Some(Self {
            event: "tool_call",
            cwd: cwd.to_str()?,
            session_id,
            tool_name: Some(call.tool_name),
            tool_input: Some(call.tool_input),
            is_gortex_tool: Some(call.is_gortex_tool),
        })
    }

    /// The bytes for the hook's stdin: UTF-8 JSON, or `None` over [`Self::MAX_BYTES`].
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self)
            .ok()
            .filter(|bytes| bytes.len() <= Self::MAX_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::hook::translate;

    #[test]
    fn h1_a_call_carries_session_tool_and_flag() {
        let input = json!({"query": "x"});
        let call = translate("mcp__gortex__search", &input);
        let envelope =
            Envelope::tool_call(Path::new("/repo"), "s-1", &call).and_then(|it| it.to_bytes());
        let sent: Value = serde_json::from_slice(&envelope.unwrap_or_default()).unwrap_or_default();
        assert_eq!(
            sent,
            json!({"event": "tool_call", "cwd": "/repo", "session_id": "s-1", "tool_name": "search",
                   "tool_input": {"query": "x"}, "is_gortex_tool": true})
        );
    }

    #[test]
    fn b1_a_briefing_question_carries_no_tool() {
        let envelope =
            Envelope::session_start(Path::new("/repo"), "s-1").and_then(|it| it.to_bytes());
        let sent: Value = serde_json::from_slice(&envelope.unwrap_or_default()).unwrap_or_default();
        assert_eq!(
            sent,
            json!({"event": "session_start", "cwd": "/repo", "session_id": "s-1"})
        );
    }
}

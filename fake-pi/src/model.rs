//! The model as the host sees it: one chat-completions request in, one reply out.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

/// Answers requests. The real Pi would POST the same body to its provider's endpoint.
pub trait Model: Send + Sync {
    /// Answers one request, an OpenAI chat-completions body.
    ///
    /// While the returned future is pending, the response head has not arrived: an abort then ends the turn without
    /// a pending assistant message. [`ModelReply::delay`] is the wait after the head.
    fn complete(&self, request: Value) -> BoxFuture<'static, ModelReply>;
}

/// Why the model stopped, in the provider's words (`finish_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// `stop`: the answer is complete.
    #[default]
    Stop,
    /// `tool_calls`: the model wants tools run.
    ToolCalls,
    /// `length`: cut off by the token limit; no call of it is executed (pi-host.md 1.4).
    Length,
}

impl Stop {
    /// The provider's word, kept in the message as `rawStopReason`.
    pub fn raw(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
        }
    }

    /// Pi's word, kept in the message as `stopReason`.
    pub fn pi(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "toolUse",
            Self::Length => "length",
        }
    }
}

/// The arguments of a call, as the model wrote them.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// Well-formed JSON; usually an object.
    Json(Value),
    /// The text of the `arguments` string, perhaps not JSON at all.
    Raw(String),
}

/// One tool call of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// An HTTP failure instead of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFailure {
    /// The HTTP status; Pi retries 429 and the usual 5xx (pi-host.md 1.5).
    pub status: u16,
    /// The `error` member of the body; Pi shows `<status>: <JSON of it>`.
    pub error: Value,
}

/// What the model answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelReply {
    /// The text, empty for none.
    pub text: String,
    /// The calls, in source order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: Stop,
    /// Set: the request failed and the rest is ignored.
    pub failure: Option<ModelFailure>,
    /// How long the answer streams after its head arrived.
    pub delay: Duration,
}

impl ModelReply {
    /// A plain answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// An answer that asks for tools.
    pub fn calls(tool_calls: Vec<ToolCall>) -> Self {
        Self {
            tool_calls,
            stop: Stop::ToolCalls,
            ..Self::default()
        }
    }

    /// A failed request.
    pub fn failure(status: u16, error: Value) -> Self {
        Self {
            failure: Some(ModelFailure { status, error }),
            ..Self::default()
        }
    }
}

impl ToolCall {
    /// A call with well-formed arguments.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: Arguments::Json(arguments),
        }
    }
}

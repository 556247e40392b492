//! The model as the host sees it: one chat-completions request in, one reply out.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

/// Answers requests. The real Pi would POST the same body to its provider's endpoint.
pub trait Model: Send + Sync {
    /// Answers one request, an OpenAI chat-completions body.
    ///
    /// While the returned future is pending, the response head has not arrived: an abort then ends the turn without
    /// a pending assistant message. [`ModelReply::pauses`] are waits after the head.
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

impl Arguments {
    /// The text of the `arguments` string.
    pub fn written(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Raw(text) => text.clone(),
        }
    }
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
    /// Where the answer pauses after its head arrived, in the order of `after`.
    pub pauses: Vec<Pause>,
    /// The tokens that the provider says request and answer took, of which one is the answer's. Pi compacts by it.
    pub tokens: u64,
}

/// A pause in the stream of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Behind how many characters: those of the text first, then those of each call's arguments. A call begins with the
    /// first character of its arguments.
    pub after: usize,
    /// How long.
    pub lasts: Duration,
}

/// A piece of an answer as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// More of the text.
    Text(String),
    /// A call begins: the index of the call.
    Call(usize),
    /// More of the arguments of the call that began last.
    Arguments(String),
    /// Nothing arrives for a while.
    Pause(Duration),
}

impl ModelReply {
    /// The same answer, of which all has arrived before its stream ends after a while.
    #[must_use]
    pub fn lasting(self, lasts: Duration) -> Self {
        let after = usize::MAX;
        Self {
            pauses: vec![Pause { after, lasts }],
            ..self
        }
    }

    /// The answer in the pieces in which it arrives.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut pauses = self.pauses.iter().copied().peekable();
        let mut at = 0;
        let mut cut = |pieces: &mut Vec<Piece>, text: &str, piece: fn(String) -> Piece| {
            let mut rest = String::new();
            for sign in text.chars() {
                while let Some(pause) = pauses.next_if(|pause| pause.after <= at) {
                    if !rest.is_empty() {
                        pieces.push(piece(std::mem::take(&mut rest)));
                    }
                    pieces.push(Piece::Pause(pause.lasts));
                }
                rest.push(sign);
                at += 1;
            }
            if !rest.is_empty() {
                pieces.push(piece(rest));
            }
        };
        cut(&mut pieces, &self.text, Piece::Text);
        for (index, call) in self.tool_calls.iter().enumerate() {
            let from = pieces.len();
            cut(&mut pieces, &call.arguments.written(), Piece::Arguments);
            // A pause before its first character is one before the call.
            let begins = pieces[from..]
                .iter()
                .position(|piece| !matches!(piece, Piece::Pause(_)));
            let at = begins.map_or(pieces.len(), |begins| from + begins);
            pieces.insert(at, Piece::Call(index));
        }
        pieces.extend(pauses.map(|pause| Piece::Pause(pause.lasts)));
        pieces
    }

    /// The text that comes with the beginning of the stream; empty where there is none or a pause comes first.
    pub fn first_text(&self) -> String {
        match self.pieces().into_iter().next() {
            Some(Piece::Text(text)) => text,
            _ => String::new(),
        }
    }

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pause_lies_before_the_character_that_it_names_and_before_the_call_that_begins_with_it() {
        let second = Duration::from_secs(1);
        let pause = |after| Pause {
            after,
            lasts: second,
        };
        let reply = ModelReply {
            text: "äb".into(),
            tool_calls: vec![ToolCall::new("c1", "read", json!({}))],
            pauses: vec![pause(1), pause(2), pause(3), pause(4)],
            ..ModelReply::default()
        };
        let expected = vec![
            Piece::Text("ä".into()),
            Piece::Pause(second),
            Piece::Text("b".into()),
            Piece::Pause(second),
            Piece::Call(0),
            Piece::Arguments("{".into()),
            Piece::Pause(second),
            Piece::Arguments("}".into()),
            Piece::Pause(second),
        ];
        assert_eq!(reply.pieces(), expected);
    }
}

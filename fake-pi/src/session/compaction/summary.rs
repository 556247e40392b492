//! Asking the model for a summary: the conversation as one text, so that the model does not go on with it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::agent::{request, respond};
use crate::host::MAX_OUTPUT;
use crate::model::Stop;
use crate::session::Session;
use crate::session::retry;
use crate::utf16;
use crate::version::Difference;

/// Stands for the text by which Pi tells the model how to write a summary.
const INSTRUCTIONS: &str = "<how to write a summary>";

/// Stands for the system prompt of such a request.
const SYSTEM: &str = "<system prompt of a summary>";

/// The most of one tool result that is shown, in UTF-16 units.
const RESULT_SHOWN: usize = 2000;

/// What the model is asked to sum up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) messages: &'a [Value],
    /// The summary of what was before.
    pub(crate) previous: Option<&'a str>,
    /// What to look at, in the person's words.
    pub(crate) focus: Option<&'a str>,
    /// What the errors call it.
    pub(crate) label: &'a str,
}

/// The most tokens that a summary may have in versions that ask for fewer than a request allows anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Short {
    /// That of a branch.
    Branch,
    /// That of whole spans.
    Whole,
    /// That of the beginning of a span.
    Prefix,
}

impl Short {
    /// The number, where so many tokens are kept free.
    fn tokens(self, reserve: u64) -> u64 {
        let share = match self {
            Self::Branch => 4096,
            Self::Whole => reserve * 8 / 10,
            Self::Prefix => reserve / 2,
        };
        share.min(MAX_OUTPUT)
    }
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoSummary {
    /// The wait or the request was aborted.
    Aborted,
    /// Pi's text.
    Failed(String),
}

/// The request for a summary of whole spans.
pub(crate) fn of_conversation(asked: &Asked<'_>) -> String {
    let told = conversation(asked.messages);
    let previous = asked.previous.map_or_else(String::new, |previous| {
        format!("<previous-summary>\n{previous}\n</previous-summary>\n\n")
    });
    format!(
        "<conversation>\n{told}\n</conversation>\n\n{previous}{INSTRUCTIONS}{}",
        focus(asked)
    )
}

/// The request for a summary of the beginning of a span.
pub(crate) fn of_prefix(asked: &Asked<'_>) -> String {
    let told = conversation(asked.messages);
    format!(
        "# Conversation\n{told}\n\n# Instructions\n{INSTRUCTIONS}{}",
        focus(asked)
    )
}

fn focus(asked: &Asked<'_>) -> String {
    let added = |focus| format!("\n\nAdditional focus: {focus}");
    asked
        .focus
        .filter(|focus| !focus.is_empty())
        .map_or_else(String::new, added)
}

/// Messages as one text.
fn conversation(messages: &[Value]) -> String {
    let parts = messages
        .iter()
        .map(request::to_llm)
        .flat_map(|message| told(&message));
    parts.collect::<Vec<_>>().join("\n\n")
}

fn told(message: &Value) -> Vec<String> {
    let texts = |between: &str| match &message["content"] {
        Value::String(text) => text.clone(),
        content => {
            let parts = content.as_array().into_iter().flatten();
            let texts = parts.filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join(between)
        }
    };
    let shown = |label: &str, text: String| {
        let shown = (!text.is_empty()).then(|| format!("[{label}]: {text}"));
        shown.into_iter().collect::<Vec<_>>()
    };
    match message["role"].as_str() {
        Some("user") => shown("User", texts("")),
        Some("toolResult") => shown("Tool result", shortened(&texts(""))),
        Some("assistant") => {
            let parts: Vec<&Value> = message["content"]
                .as_array()
                .into_iter()
                .flatten()
                .collect();
            let mut told = Vec::new();
            if parts.iter().any(|part| part["type"] == "text") {
                told.push(format!("[Assistant]: {}", texts("\n")));
            }
            let calls: Vec<String> = parts
                .iter()
                .filter(|part| part["type"] == "toolCall")
                .map(|call| {
                    let arguments = call["arguments"].as_object().into_iter().flatten();
                    let arguments: Vec<String> = arguments
                        .map(|(name, value)| format!("{name}={value}"))
                        .collect();
                    let name = call["name"].as_str().unwrap_or_default();
                    format!("{name}({})", arguments.join(", "))
                })
                .collect();
            if !calls.is_empty() {
                told.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
            }
            told
        }
        _ => Vec::new(),
    }
}

fn shortened(text: &str) -> String {
    let units = utf16::units(text);
    if units <= RESULT_SHOWN {
        return text.to_owned();
    }
    let head = utf16::head(text, RESULT_SHOWN);
    format!(
        "{head}\n\n[... {} more characters truncated]",
        units - RESULT_SHOWN
    )
}

impl Session {
    /// Asks the model and repeats a request that failed in passing, as runs do. Gives the text.
    pub(crate) async fn ask_for_summary(
        &self,
        text: &str,
        label: &str,
        short: Short,
        source: &Value,
        signal: &CancellationToken,
    ) -> Result<String, NoSummary> {
        let settings = self.host.options.settings.retry;
        let mut attempt = 0;
        loop {
            let reply = self.summary_reply(text, short, signal).await?;
            let Some(failure) = reply.failure else {
                if attempt > 0 {
                    self.record(json!({"type": "summarization_retry_finished"}));
                }
                if reply.stop == Stop::Length {
                    return Err(NoSummary::Failed(format!(
                        "{label} failed: generation hit the token cap and the summary is incomplete"
                    )));
                }
                if !reply.tool_calls.is_empty() {
                    return Err(NoSummary::Failed(format!(
                        "{label} attempted to call a tool"
                    )));
                }
                return Ok(reply.text);
            };
            let error = format!("{}: {}", failure.status, failure.error);
            let again = settings.enabled && attempt < settings.max_retries && retry::passes(&error);
            if !again {
                if attempt > 0 {
                    self.record(json!({"type": "summarization_retry_finished"}));
                }
                return Err(NoSummary::Failed(format!("{label} failed: {error}")));
            }
            attempt += 1;
            let delay = retry::delay(settings, attempt);
            self.record(
                json!({"type": "summarization_retry_scheduled", "attempt": attempt,
                "maxAttempts": settings.max_retries, "delayMs": retry::whole_ms(delay), "errorMessage": error}),
            );
            if !waited(delay, signal).await {
                self.record(json!({"type": "summarization_retry_finished"}));
                return Err(NoSummary::Aborted);
            }
            let mut start = json!({"type": "summarization_retry_attempt_start"});
            for (name, value) in source.as_object().into_iter().flatten() {
                start[name] = value.clone();
            }
            self.record(start);
        }
    }

    async fn summary_reply(
        &self,
        text: &str,
        short: Short,
        signal: &CancellationToken,
    ) -> Result<crate::model::ModelReply, NoSummary> {
        let messages = [
            json!({"role": "system", "content": SYSTEM}),
            json!({"role": "user", "content": [{"type": "text", "text": text}]}),
        ];
        if signal.is_cancelled() {
            return Err(NoSummary::Aborted);
        }
        let mut body = request::body(&self.host.options.model_id, &messages);
        if self.host.does(Difference::AsksForShortSummaries) {
            let reserve = self.host.options.settings.compaction.reserve_tokens;
            body["max_completion_tokens"] = short.tokens(reserve).into();
        }
        let reply = self.host.options.model.complete(body);
        let reply = tokio::select! {
            biased;
            () = signal.cancelled() => return Err(NoSummary::Aborted),
            reply = reply => reply,
        };
        if reply.failure.is_none() && respond::stream(&reply, signal).await.is_err() {
            return Err(NoSummary::Aborted);
        }
        Ok(reply)
    }
}

async fn waited(delay: Duration, signal: &CancellationToken) -> bool {
    tokio::select! {
        biased;
        () = signal.cancelled() => false,
        () = sleep(delay) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_a_conversation_is_labelled() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let messages = [
            json!({"role": "user", "content": text("Look.")}),
            json!({"role": "custom", "content": "A note."}),
            json!({"role": "assistant", "content": [{"type": "text", "text": "I do."},
                {"type": "toolCall", "name": "read", "arguments": {"path": "a", "limit": 2}}]}),
            json!({"role": "toolResult", "content": text(&"x".repeat(2003))}),
        ];
        let shown = format!(
            "[User]: Look.\n\n[User]: A note.\n\n[Assistant]: I do.\n\n[Assistant tool calls]: read(path=\"a\", \
             limit=2)\n\n[Tool result]: {}\n\n[... 3 more characters truncated]",
            "x".repeat(2000)
        );
        assert_eq!(conversation(&messages), shown);
    }
}

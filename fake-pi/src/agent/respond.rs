//! One request and the assistant message that comes of it.

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{arguments, request};
use crate::fault::Fault;
use crate::model::{Arguments, ModelReply, Piece, ToolCall};
use crate::session::Session;
use crate::version::Difference;

/// The texts of an abort: before a request left, and while it was out (pi-host.md 9).
const ABORTED_BEFORE: &str = "This operation was aborted";
const ABORTED_DURING: &str = "Request was aborted";

/// Sends the next request and emits the assistant message's events. Gives the final message.
///
/// `message_update` is not emitted: it only repeats, in pieces, what `message_end` holds.
pub(super) async fn respond(session: &Session, signal: &CancellationToken) -> Value {
    let messages = session.instance().emit_context(session.messages()).await;
    let mut messages = forced(session, messages);
    if session.host.makes(Fault::DropsHiddenMessages) {
        messages.retain(|message| message["display"] != false);
    }
    let started = Instant::now();
    let blank = blank(session);
    if signal.is_cancelled() {
        return finish(
            session,
            aborted(blank, ABORTED_BEFORE, session),
            started,
            false,
        )
        .await;
    }
    session.instance().emit_before_provider_headers().await;
    let body = request::body(&session.model_id(), &messages);
    let body = session.instance().emit_before_provider_request(body).await;
    let asked = if signal.is_cancelled() {
        None
    } else {
        let reply = session.host.options.model.complete(body);
        tokio::select! {
            biased;
            () = signal.cancelled() => None,
            reply = reply => Some(reply),
        }
    };
    let Some(reply) = asked else {
        return finish(
            session,
            aborted(blank, ABORTED_DURING, session),
            started,
            false,
        )
        .await;
    };
    if let Some(failure) = reply.failure {
        let mut message = blank;
        message["stopReason"] = "error".into();
        message["errorMessage"] = format!("{}: {}", failure.status, failure.error).into();
        return finish(session, message, started, false).await;
    }
    start(session, &blank, &reply).await;
    let mut message = blank;
    if let Err(arrived) = stream(&reply, signal).await {
        message["content"] = Value::Array(arrived);
        return finish(
            session,
            aborted(message, ABORTED_DURING, session),
            started,
            true,
        )
        .await;
    }
    message["content"] = content(&reply);
    message["usage"] = usage(reply.tokens);
    message["stopReason"] = reply.stop.pi().into();
    message["rawStopReason"] = reply.stop.raw().into();
    finish(session, message, started, true).await
}

/// `message_start` of an answer that begins to arrive.
async fn start(session: &Session, blank: &Value, reply: &ModelReply) {
    match text_part(&reply.first_text()).filter(|_| session.host.does(Difference::ShowsTextAtStart))
    {
        Some(text) => {
            let mut shown = blank.clone();
            shown["content"] = Value::Array(vec![text]);
            session.emit_message_start_shown_as(blank, &shown).await;
        }
        None => session.emit_message_start(blank).await,
    }
}

/// Lets an answer arrive, piece by piece.
///
/// # Errors
/// The content that had arrived when the run was aborted: it stays in the message.
pub(crate) async fn stream(
    reply: &ModelReply,
    signal: &CancellationToken,
) -> Result<(), Vec<Value>> {
    let mut text = String::new();
    let mut calls: Vec<(usize, String)> = Vec::new();
    for piece in reply.pieces() {
        match piece {
            Piece::Text(more) => text += &more,
            Piece::Call(index) => calls.push((index, String::new())),
            Piece::Arguments(more) => {
                if let Some((_, arguments)) = calls.last_mut() {
                    *arguments += &more;
                }
            }
            Piece::Pause(lasts) => tokio::select! {
                biased;
                () = signal.cancelled() => {
                    let cut = |(index, arguments): (usize, String)| {
                        arguments::tool_call(&ToolCall {
                            arguments: Arguments::Raw(arguments),
                            ..reply.tool_calls[index].clone()
                        })
                    };
                    return Err(text_part(&text).into_iter().chain(calls.into_iter().map(cut)).collect());
                }
                () = sleep(lasts) => {}
            },
        }
    }
    Ok(())
}

/// The content of a whole answer.
pub(crate) fn content(reply: &ModelReply) -> Value {
    let calls = reply.tool_calls.iter().map(arguments::tool_call);
    text_part(&reply.text).into_iter().chain(calls).collect()
}

fn text_part(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// What the provider says an answer took, one token of it the answer's own.
pub(crate) fn usage(tokens: u64) -> Value {
    let zero = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    json!({"input": tokens.saturating_sub(1), "output": tokens.min(1), "cacheRead": 0, "cacheWrite": 0,
        "totalTokens": tokens, "cost": zero})
}

/// Replaces the system messages by the text that a handler forced on the run.
fn forced(session: &Session, messages: Vec<Value>) -> Vec<Value> {
    let Some(text) = session.forced_prompt() else {
        return messages;
    };
    let mut head = json!({"role": "system", "content": text});
    if let Some(current) = super::system::current(&messages) {
        if let Some(tools) = current.get("toolsAdded") {
            head["toolsAdded"] = tools.clone();
        }
        head["timestamp"] = current["timestamp"].clone();
    }
    std::iter::once(head)
        .chain(
            messages
                .into_iter()
                .filter(|message| message["role"] != "system"),
        )
        .collect()
}

/// An assistant message of which nothing has arrived.
fn blank(session: &Session) -> Value {
    json!({
        "role": "assistant", "content": [], "api": "openai-completions", "provider": session.host.options.provider,
        "model": session.model_id(), "usage": usage(0), "stopReason": "pending", "timestamp": session.host.clock.now_ms()
    })
}

fn aborted(mut message: Value, text: &str, session: &Session) -> Value {
    let as_error = text == ABORTED_BEFORE && session.host.does(Difference::EndsAbortedBatchAsError);
    message["stopReason"] = if as_error { "error" } else { "aborted" }.into();
    message["errorMessage"] = text.into();
    message
}

async fn finish(
    session: &Session,
    mut message: Value,
    started: Instant,
    has_started: bool,
) -> Value {
    if message["errorMessage"] != ABORTED_BEFORE {
        message["durationMs"] = elapsed_ms(started).into();
    }
    if session.host.makes(Fault::ForgetsTheAbortText)
        && message["stopReason"] == "aborted"
        && let Some(members) = message.as_object_mut()
    {
        members.shift_remove("errorMessage");
    }
    message["thinkingLevel"] = "off".into();
    if !has_started {
        session.emit_message_start(&message).await;
    }
    session.emit_message_end(message).await
}

/// Whole milliseconds of virtual time since `started`.
pub(super) fn elapsed_ms(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}

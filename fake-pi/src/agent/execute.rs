//! Running one call: its updates, its result, and what `tool_result` handlers make of it (pi-host.md 8).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::nested::ToolSession;
use super::preflight::Prepared;
use super::respond::elapsed_ms;
use crate::extension::Shared;
use crate::fault::Fault;
use crate::instance::SharedResult;
use crate::session::Session;
use crate::tool::{ToolOutput, ToolRun};
use crate::version::Difference;

/// A call with its result.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    pub(crate) call: Value,
    content: Value,
    details: Option<Value>,
    structured: Option<Value>,
    /// `result.isError`, the tool's own word, which no handler changes.
    own_error: bool,
    pub(crate) is_error: bool,
    /// How long the tool ran; absent when it did not run.
    pub(super) duration_ms: Option<u64>,
    /// Whether this result ends the run, if all others of its batch do too.
    pub(super) terminates: bool,
}

impl Finished {
    /// A call that failed with this text, in the shape of a thrown error.
    pub(super) fn refused(call: &Value, text: &str) -> Self {
        Self {
            call: call.clone(),
            content: json!([{"type": "text", "text": text}]),
            details: Some(json!({})),
            structured: None,
            own_error: false,
            is_error: true,
            duration_ms: None,
            terminates: false,
        }
    }

    /// The result as `tool_execution_end` shows it.
    pub(super) fn result(&self) -> Value {
        let mut result = json!({"content": self.content});
        if let Some(details) = &self.details {
            result["details"] = details.clone();
        }
        if let Some(structured) = &self.structured {
            result["structuredContent"] = structured.clone();
        }
        if self.own_error {
            result["isError"] = true.into();
        }
        if self.terminates {
            result["terminate"] = true.into();
        }
        result
    }

    /// How long the tool ran, where the version tells it.
    fn shown_duration(&self, session: &Session) -> Option<u64> {
        self.duration_ms
            .filter(|_| !session.host.does(Difference::OmitsDurations))
    }

    /// The result as a message of this moment. Structured content is never part of it.
    pub(super) fn message(&self, session: &Session) -> Value {
        let mut message = json!({"role": "toolResult", "toolCallId": self.call["id"], "toolName": self.call["name"],
            "content": self.content});
        if let Some(details) = &self.details {
            message["details"] = details.clone();
        }
        message["isError"] = self.is_error.into();
        if let Some(duration) = self.shown_duration(session) {
            message["durationMs"] = duration.into();
        }
        message["timestamp"] = session.host.clock.now_ms().into();
        let id = self.call["id"].as_str().unwrap_or_default();
        if let Some(calls) = session.nested_calls().take(id) {
            message["nestedCalls"] = calls;
        }
        message
    }

    /// The text of the result's text blocks.
    pub(crate) fn text(&self) -> String {
        let blocks = self.content.as_array().into_iter().flatten();
        let texts = blocks.filter(|block| block["type"] == "text");
        texts
            .map(|block| block["text"].as_str().unwrap_or_default())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The structured content, as handlers left it.
    pub(crate) fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }
}

/// Runs a prepared call to its patched result.
pub(super) async fn run(
    session: &Arc<Session>,
    prepared: Prepared,
    signal: &CancellationToken,
) -> Finished {
    let Prepared { call, entry, input } = prepared;
    let (updates, mut updated) = unbounded_channel();
    let run = ToolRun {
        call_id: call["id"].as_str().unwrap_or_default().to_owned(),
        input: if session.host.makes(Fault::RunsOriginalArguments) {
            call["arguments"].clone()
        } else {
            input.get()
        },
        cwd: session.cwd(),
        abort: signal.clone(),
        updates,
        session: ToolSession::of(session, &call),
    };
    let started = Instant::now();
    let mut execution = entry.tool.execute(run);
    let outcome = loop {
        tokio::select! {
            biased;
            Some(partial) = updated.recv() => emit_update(session, &call, &partial).await,
            outcome = &mut execution => break outcome,
        }
    };
    let duration_ms = Some(elapsed_ms(started));
    // Updates that came with the end are delivered; later ones are not.
    updated.close();
    while let Ok(partial) = updated.try_recv() {
        emit_update(session, &call, &partial).await;
    }
    let mut finished = match outcome {
        Ok(output) => Finished {
            duration_ms,
            ..from_output(&call, output)
        },
        Err(error) => Finished {
            duration_ms,
            ..Finished::refused(&call, &error.0)
        },
    };
    let own = !entry.activates
        && entry.definition.name != "bash"
        && session.host.does(Difference::OmitsOwnStructuredContent);
    if own || session.host.makes(Fault::LosesStructuredContent) {
        finished.structured = None;
    }
    patched(session, finished, &input).await
}

/// `tool_execution_start`.
pub(super) async fn emit_start(session: &Session, call: &Value) {
    let mut event = json!({"type": "tool_execution_start", "toolCallId": call["id"], "toolName": call["name"],
        "args": call["arguments"]});
    name_parent(&mut event, call);
    session.emit_both(event).await;
}

/// `tool_execution_end`.
pub(super) async fn emit_end(session: &Session, finished: &Finished) {
    let mut event = json!({"type": "tool_execution_end", "toolCallId": finished.call["id"],
        "toolName": finished.call["name"], "result": finished.result(), "isError": finished.is_error});
    if let Some(duration) = finished.shown_duration(session) {
        event["durationMs"] = duration.into();
    }
    if session.host.makes(Fault::DropsAMember)
        && let Some(members) = event.as_object_mut()
    {
        members.shift_remove("isError");
    }
    name_parent(&mut event, &finished.call);
    session.emit_both(event).await;
}

/// Events of a nested call say which call made it (pi-host.md 10).
fn name_parent(event: &mut Value, call: &Value) {
    if let Some(parent) = call.get("parentToolCallId") {
        event["parentToolCallId"] = parent.clone();
    }
}

async fn emit_update(session: &Session, call: &Value, partial: &Value) {
    let mut event = json!({"type": "tool_execution_update", "toolCallId": call["id"], "toolName": call["name"],
        "args": call["arguments"], "partialResult": partial});
    name_parent(&mut event, call);
    session.emit_both(event).await;
}

fn from_output(call: &Value, output: ToolOutput) -> Finished {
    Finished {
        content: Value::Array(output.content),
        details: output.details,
        structured: output.structured_content,
        own_error: output.is_error,
        is_error: output.is_error,
        terminates: output.terminate,
        ..Finished::refused(call, "")
    }
}

/// Lets `tool_result` handlers see and change the result.
async fn patched(session: &Session, finished: Finished, input: &Shared) -> Finished {
    let shared = SharedResult {
        content: Shared::new(finished.content.clone()),
        details: finished.details.clone().map(Shared::new),
        structured: finished.structured.clone(),
        is_error: finished.is_error,
    };
    let patch = session
        .instance()
        .emit_tool_result(&finished.call, input, &shared)
        .await;
    // The handlers hold the result's own objects, so a change in place counts without a patch.
    let mut finished = Finished {
        content: shared.content.get(),
        details: shared.details.as_ref().map(Shared::get),
        ..finished
    };
    let Some(patch) = patch.filter(|_| !session.host.makes(Fault::IgnoresPatches)) else {
        return finished;
    };
    let content = patch
        .content
        .filter(|content| !content.is_null())
        .unwrap_or_else(|| finished.content.clone());
    if !content.is_array() {
        // Pi looks for images in the content, which only a list has.
        let failed = Finished::refused(&finished.call, "content.some is not a function");
        return Finished {
            duration_ms: finished.duration_ms,
            ..failed
        };
    }
    finished.content = content;
    if let Some(details) = patch.details.filter(|details| !details.is_null()) {
        finished.details = Some(details);
    }
    finished.structured = patch.structured.filter(|structured| !structured.is_null());
    if let Some(is_error) = patch.is_error.filter(|is_error| !is_error.is_null()) {
        finished.is_error = crate::instance::truthy(&is_error);
    }
    finished
}

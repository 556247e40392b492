//! The calls of one assistant message: all prepared in source order, then run together (pi-host.md 1.4).

use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::execute::{self, Finished, emit_end, emit_start};
use super::preflight::{self, Preparation};
use crate::fault::Fault;
use crate::registry::tools::Entry;
use crate::session::Session;
use crate::tool::Execution;
use crate::version::Difference;

/// What a batch came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The results' messages, in source order.
    pub(super) messages: Vec<Value>,
    /// Whether the model is asked again because of them.
    pub(super) go_on: bool,
}

/// Runs the calls of `message` against the tools that its request declared.
pub(super) async fn run(
    session: &Arc<Session>,
    message: &Value,
    declared: &[Entry],
    signal: &CancellationToken,
) -> Outcome {
    let parts = message["content"].as_array().into_iter().flatten();
    let calls: Vec<Value> = parts
        .filter(|part| part["type"] == "toolCall")
        .cloned()
        .collect();
    if calls.is_empty() {
        return Outcome::default();
    }
    if message["stopReason"] == "length" {
        return refuse_truncated(session, &calls).await;
    }
    let sequential = session.host.makes(Fault::RunsBatchesInSequence)
        || calls.iter().any(|call| {
            let named = |entry: &&Entry| call["name"] == entry.definition.name.as_str();
            declared
                .iter()
                .find(named)
                .is_some_and(|entry| entry.definition.execution == Execution::Sequential)
        });
    if sequential {
        one_by_one(session, &calls, declared, signal).await
    } else {
        together(session, &calls, declared, signal).await
    }
}

/// Arguments that were cut off may be well-formed and still wrong, so nothing of such a message is run.
async fn refuse_truncated(session: &Session, calls: &[Value]) -> Outcome {
    let mut messages = Vec::new();
    for call in calls {
        emit_start(session, call).await;
        let text = format!(
            "Tool call \"{}\" was not executed: the response hit the output token limit, so its arguments may be \
             truncated. Re-issue the tool call with complete arguments.",
            call["name"].as_str().unwrap_or_default()
        );
        let finished = Finished::refused(call, &text);
        emit_end(session, &finished).await;
        messages.push(session.emit_message(finished.message(session)).await);
    }
    Outcome {
        messages,
        go_on: true,
    }
}

async fn one_by_one(
    session: &Arc<Session>,
    calls: &[Value],
    declared: &[Entry],
    signal: &CancellationToken,
) -> Outcome {
    let mut all = Vec::new();
    let mut messages = Vec::new();
    for call in calls {
        emit_start(session, call).await;
        let finished = match preflight::prepare(session, call, declared, signal).await {
            Preparation::Settled(finished) => finished,
            Preparation::Ready(prepared) => execute::run(session, prepared, signal).await,
        };
        emit_end(session, &finished).await;
        messages.push(session.emit_message(finished.message(session)).await);
        all.push(finished);
        if forgets_the_rest(session, signal) {
            break;
        }
    }
    Outcome {
        go_on: !all.iter().all(|finished| finished.terminates),
        messages,
    }
}

async fn together(
    session: &Arc<Session>,
    calls: &[Value],
    declared: &[Entry],
    signal: &CancellationToken,
) -> Outcome {
    let mut running = Vec::new();
    for call in calls {
        emit_start(session, call).await;
        let preparation = preflight::prepare(session, call, declared, signal).await;
        if let Preparation::Settled(finished) = &preparation {
            emit_end(session, finished).await;
        }
        running.push((call, preparation));
        if forgets_the_rest(session, signal) {
            break;
        }
    }
    // Polled in source order, as JavaScript starts them: the first call leaves first.
    let mut finished = join_all(running.into_iter().map(|(call, preparation)| async move {
        match preparation {
            Preparation::Settled(finished) => finished,
            Preparation::Ready(prepared) => {
                let finished = if signal.is_cancelled() {
                    Finished::refused(call, preflight::ABORTED)
                } else {
                    execute::run(session, prepared, signal).await
                };
                emit_end(session, &finished).await;
                finished
            }
        }
    }))
    .await;
    if session.host.makes(Fault::ReordersResults) {
        finished.reverse();
    }
    let mut messages = Vec::new();
    for finished in &finished {
        messages.push(session.emit_message(finished.message(session)).await);
    }
    Outcome {
        messages,
        go_on: !finished.iter().all(|finished| finished.terminates),
    }
}

/// Whether the calls after the one in hand are left alone, because the run was aborted.
fn forgets_the_rest(session: &Session, signal: &CancellationToken) -> bool {
    signal.is_cancelled() && session.host.does(Difference::ForgetsCallsAfterAbort)
}

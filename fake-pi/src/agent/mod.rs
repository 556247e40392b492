//! The agent loop: requests, batches of calls, queued messages, until there is nothing left to do (pi-host.md 1).

mod arguments;
mod batch;
mod broken;
mod coerce;
mod execute;
pub(crate) mod nested;
mod preflight;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod system;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::fault::Fault;
use crate::registry::tools;
use crate::session::Session;

/// Runs the loop once. `start` are the run's first messages, or none to go on from the history; `skip_poll` leaves
/// queued steering messages where they are until the first turn is over.
pub(crate) async fn run(
    session: &Arc<Session>,
    start: Option<Vec<Value>>,
    skip_poll: bool,
    signal: &CancellationToken,
) {
    let mut new = Vec::new();
    if session.host.makes(Fault::SwapsFirstEvents) {
        session.emit_turn_start().await;
        session.emit_agent_start().await;
    } else {
        session.emit_agent_start().await;
        session.emit_turn_start().await;
    }
    for message in start
        .into_iter()
        .flat_map(|messages| declare_changes(session, messages))
    {
        new.push(session.emit_message(message).await);
    }
    let mut pending = if skip_poll {
        Vec::new()
    } else {
        session.take_steering()
    };
    let mut first = true;
    let mut go_on;
    loop {
        let mut more_calls = true;
        go_on = false;
        while more_calls || !pending.is_empty() {
            if !first {
                session.compact_between_turns().await;
                // Whatever came while the last turn was closed is delivered with this one.
                if pending.is_empty() && !session.host.makes(Fault::SteersLate) {
                    pending = session.take_steering();
                }
                session.emit_turn_start().await;
            }
            first = false;
            for message in declare_changes(session, std::mem::take(&mut pending)) {
                new.push(session.emit_message(message).await);
            }
            // A call in flight keeps the tools that its request declared (pi-host.md 4.7).
            let declared = session.tool_snapshot();
            let message = respond::respond(session, signal).await;
            new.push(message.clone());
            if message["stopReason"] == "error" || message["stopReason"] == "aborted" {
                session.end_turn(&message, &[]).await;
                session.emit_turn_end(&message, &[]);
                session.emit_agent_end(&new).await;
                return;
            }
            let outcome = batch::run(session, &message, &declared, signal).await;
            more_calls = outcome.go_on;
            new.extend(outcome.messages.iter().cloned());
            let asked = session.end_turn(&message, &outcome.messages).await;
            session.emit_turn_end(&message, &outcome.messages);
            pending = if session.host.makes(Fault::SteersLate) && more_calls {
                Vec::new()
            } else {
                session.take_steering()
            };
            go_on = asked && !more_calls && pending.is_empty();
        }
        pending = session.take_follow_up();
        if pending.is_empty() && !go_on {
            break;
        }
    }
    session.emit_agent_end(&new).await;
}

/// Puts what changed in the set of declared tools into a system message before the first other message, or into the
/// one that is there already.
fn declare_changes(session: &Session, messages: Vec<Value>) -> Vec<Value> {
    let declared = tools::declared(&session.messages());
    let mut active = session.declarations();
    if session.host.makes(Fault::ChangesSchemas) {
        for declaration in &mut active {
            declaration["parameters"]["maxProperties"] = 1.into();
        }
    }
    let Some((added, removed)) = tools::changes(&declared, &active) else {
        return messages;
    };
    let mut messages = messages;
    let index = match messages
        .iter()
        .rposition(|message| message["role"] == "system")
    {
        Some(index) => index,
        None => {
            let now = session.host.clock.now_ms();
            let index = messages
                .iter()
                .position(|message| message["role"] != "system")
                .unwrap_or(messages.len());
            messages.insert(
                index,
                json!({"role": "system", "content": "", "timestamp": now}),
            );
            index
        }
    };
    if !added.is_empty() {
        messages[index]["toolsAdded"] = Value::Array(added);
    }
    if !removed.is_empty() {
        messages[index]["toolsRemoved"] = Value::Array(removed);
    }
    messages
}

impl Session {
    fn take_steering(&self) -> Vec<Value> {
        self.with_queue(crate::session::Queue::take_steering)
    }

    fn take_follow_up(&self) -> Vec<Value> {
        self.with_queue(crate::session::Queue::take_follow_up)
    }
}

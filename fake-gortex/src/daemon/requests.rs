//! Requests that the script has rules for, looked at before the protocol sees them.
//!
//! The protocol gets each request all the same, so that it is in the state that it would be in; what it answers to one
//! whose answer is scripted is dropped.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::RequestId;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::Process;
use super::wire::{frame, note};
use crate::journal::bounded;
use crate::matching::{self, Rule};
use crate::script::RequestRule;

impl Rule for RequestRule {
    const SECTION: &'static str = "daemon.requests";
    fn nth(&self) -> Option<u64> {
        self.nth
    }
}

/// A request and the rule that it falls under, to be played later.
pub(super) struct Scripted {
    process: Arc<Process>,
    id: Value,
    rule: RequestRule,
}

/// Finds the rule of each request.
pub(super) struct Requests {
    process: Arc<Process>,
    later: UnboundedSender<Scripted>,
}

impl Requests {
    pub(super) fn new(process: Arc<Process>) -> (Self, UnboundedReceiver<Scripted>) {
        let (later, scripted) = unbounded_channel();
        (Self { process, later }, scripted)
    }

    /// Looks at a message of the client. What a rule sends without delay has its place before the usual answer.
    pub(super) fn look_at(&self, message: &Map<String, Value>) {
        let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else {
            return;
        };
        let Process { script, state, .. } = &*self.process;
        let none = Map::new();
        let params = message
            .get("params")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        // Calls have rules of their own, and a rule without a method is not meant to shadow them.
        let matches = |rule: &RequestRule| {
            let meant = rule
                .method
                .as_ref()
                .map_or(method != "tools/call", |rule| method == rule);
            meant && matching::holds(params, &rule.when)
        };
        let chosen = matching::choose(
            &script.requests,
            state,
            self.process.name.as_deref(),
            matches,
        );
        let rule = match chosen {
            Ok(Some(rule)) => rule.clone(),
            Ok(None) => return,
            Err(_) => {
                // Counters that cannot be kept end the process, so that no rule is silently skipped.
                let _ = self.process.exits.send(2);
                return;
            }
        };
        if let (true, Ok(id)) = (
            rule.answers(),
            serde_json::from_value::<RequestId>(id.clone()),
        ) {
            self.process.wire.take(&id);
        }
        let scripted = Scripted {
            process: self.process.clone(),
            id: id.clone(),
            rule,
        };
        if scripted.rule.delay_ms == 0 && scripted.rule.exit.is_none() {
            drop(scripted.say());
        } else {
            // The receiver lives as long as the process does.
            let _ = self.later.send(scripted);
        }
    }
}

impl Scripted {
    /// Sends all that the rule says; the future tells when it has left.
    fn say(&self) -> impl Future<Output = ()> + Send + 'static {
        let (wire, rule) = (&self.process.wire, &self.rule);
        let raw = |text: &String| {
            let note = json!({ "raw": bounded(text, 4096) });
            wire.send(text.clone().into_bytes(), note)
        };
        let messages = wire.say(&rule.messages);
        let before = rule.raw_before.as_ref().map(raw);
        let answer = match (&rule.raw, &rule.result, &rule.error) {
            (Some(text), _, _) => Some(raw(text)),
            (None, Some(result), _) => {
                let message = json!({ "jsonrpc": "2.0", "id": self.id, "result": result });
                Some(wire.send(frame(&message), note(&message)))
            }
            (None, None, Some(error)) => {
                let message = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
                Some(wire.send(frame(&message), note(&message)))
            }
            (None, None, None) => None,
        };
        async move {
            messages.await;
            for sent in [before, answer].into_iter().flatten() {
                sent.await;
            }
        }
    }

    async fn play(self) {
        tokio::time::sleep(Duration::from_millis(self.rule.delay_ms)).await;
        self.say().await;
        if let Some(code) = self.rule.exit {
            self.process.exit(code).await;
        }
    }
}

/// Plays what is due later, until it is dropped.
pub(super) async fn play(mut scripted: UnboundedReceiver<Scripted>) {
    let mut playing = JoinSet::new();
    while let Some(next) = scripted.recv().await {
        playing.spawn(next.play());
        while playing.try_join_next().is_some() {}
    }
    std::future::pending::<()>().await;
}

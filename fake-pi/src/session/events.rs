//! The events of a run, each to the extensions first and then to the client (pi-host.md 1.2).

use serde_json::{Value, json};

use super::Session;
use super::custom::custom_entry;
use crate::mode::Mode;

impl Session {
    /// `agent_start`. An abort that came while the run was starting takes effect here (pi-host.md 9).
    pub(crate) async fn emit_agent_start(&self) {
        if self.is_disposed() {
            return;
        }
        let signal = {
            let mut state = self.state();
            state.turn_index = 0;
            state
                .abort_requested
                .then(|| state.signal.clone())
                .flatten()
        };
        if let Some(signal) = signal {
            signal.cancel();
        }
        self.emit_both(json!({"type": "agent_start"})).await;
    }

    /// `turn_start`; the client is not told the index.
    pub(crate) async fn emit_turn_start(&self) {
        if self.is_disposed() {
            return;
        }
        let index = self.state().turn_index;
        let now = self.host.clock.now_ms();
        self.instance()
            .emit(json!({"type": "turn_start", "turnIndex": index, "timestamp": now}))
            .await;
        self.record(json!({"type": "turn_start"}));
    }

    /// An event that extensions and the client see alike.
    pub(crate) async fn emit_both(&self, event: Value) {
        if self.is_disposed() {
            return;
        }
        self.instance().emit(event.clone()).await;
        self.record(event);
    }

    /// `message_start`.
    pub(crate) async fn emit_message_start(&self, message: &Value) {
        self.emit_message_start_shown_as(message, message).await;
    }

    /// `message_start` of a message that the client sees in another state than the extensions.
    pub(crate) async fn emit_message_start_shown_as(&self, message: &Value, shown: &Value) {
        if self.is_disposed() {
            return;
        }
        if message["role"] == "user" {
            let text: String = text_of(&message["content"]);
            let update = {
                let mut state = self.state();
                state.overflow_tried = false;
                let queue = &mut state.queue;
                queue.delivered(&text).then(|| queue.update())
            };
            if let Some(update) = update {
                self.record(update);
            }
        }
        let event = |message: &Value| json!({"type": "message_start", "message": message});
        self.instance().emit(event(message)).await;
        self.record(event(shown));
    }

    /// `message_end`, after which the message is part of the history. Gives it as the handlers left it.
    pub(crate) async fn emit_message_end(&self, message: Value) -> Value {
        if self.is_disposed() {
            return message;
        }
        let mut message = self.instance().emit_message_end(message).await;
        self.record(json!({"type": "message_end", "message": message}));
        self.seen_on_screen(&mut message);
        let id = if message["role"] == "custom" {
            self.append("custom_message", custom_entry(&message))
        } else {
            self.append("message", json!({"message": message}))
        };
        if message["role"] == "assistant" {
            self.note_assistant(&message, id);
        }
        message
    }

    /// What the terminal makes of an aborted answer as it shows it, and so puts into the history too.
    fn seen_on_screen(&self, message: &mut Value) {
        let aborted = message["role"] == "assistant" && message["stopReason"] == "aborted";
        if aborted && self.host.options.mode == Mode::Terminal {
            message["errorMessage"] = match self.state().retry_attempt {
                0 => "Operation aborted".into(),
                1 => "Aborted after 1 retry attempt".into(),
                attempts => format!("Aborted after {attempts} retry attempts").into(),
            };
        }
    }

    /// Both events of a message that is complete from its start.
    pub(crate) async fn emit_message(&self, message: Value) -> Value {
        self.emit_message_start(&message).await;
        self.emit_message_end(message).await
    }

    fn note_assistant(&self, message: &Value, id: String) {
        let recovered = {
            let mut state = self.state();
            state.last_assistant = Some((message.clone(), id));
            state.overflow_tried &=
                message["stopReason"] == "error" || message["stopReason"] == "length";
            let recovered = message["stopReason"] != "error" && state.retry_attempt > 0;
            recovered.then(|| std::mem::take(&mut state.retry_attempt))
        };
        if let Some(attempt) = recovered {
            self.record(json!({"type": "auto_retry_end", "success": true, "attempt": attempt}));
        }
    }

    /// `turn_end` for the client; the extensions had theirs as a boundary.
    pub(crate) fn emit_turn_end(&self, message: &Value, results: &[Value]) {
        if self.is_disposed() {
            return;
        }
        self.state().turn_index += 1;
        self.record(json!({"type": "turn_end", "message": message, "toolResults": results}));
        self.flush_custom_messages();
    }

    /// `agent_end`, with the messages that are new in this run.
    pub(crate) async fn emit_agent_end(&self, messages: &[Value]) {
        self.nested_calls().clear();
        if self.is_disposed() {
            return;
        }
        self.instance()
            .emit(json!({"type": "agent_end", "messages": messages}))
            .await;
        let will_retry = self.will_retry(messages);
        self.record(json!({"type": "agent_end", "messages": messages, "willRetry": will_retry}));
    }
}

/// The text of a message's content, its text parts joined without anything between.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

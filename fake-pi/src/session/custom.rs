//! Messages that extensions send: queued, appended, or the start of a run (pi-host.md 7).

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Deferred, Prompt, Session};
use crate::instance::Delivery;
use crate::version::Difference;

impl Session {
    /// A custom message of this moment, as an extension wrote it; content that is missing becomes an empty list.
    pub(super) fn custom_message(&self, message: &Value) -> Value {
        let mut made = json!({"role": "custom"});
        for member in ["customType", "content", "display", "details"] {
            match message.get(member) {
                Some(value) if !(member == "content" && value.is_null()) => {
                    made[member] = value.clone();
                }
                _ if member == "content" => made[member] = Value::Array(Vec::new()),
                _ => {}
            }
        }
        made["timestamp"] = self.host.clock.now_ms().into();
        made
    }

    /// `pi.sendMessage`.
    pub(crate) fn send_custom_message(
        self: &Arc<Self>,
        message: &Value,
        deliver: Option<Delivery>,
        trigger: Option<bool>,
    ) {
        let made = self.custom_message(message);
        let mut state = self.state();
        if deliver == Some(Delivery::NextTurn) {
            state.next_turn.push(made);
        } else if state.running && trigger != Some(false) {
            if deliver == Some(Delivery::FollowUp) {
                state.queue.push_follow_up(made);
            } else {
                state.queue.push_steering(made);
            }
        } else if trigger == Some(true) {
            if state.emitting_settled {
                state.deferred.push(Deferred::Custom(made));
                return;
            }
            drop(state);
            let session = self.clone();
            self.host
                .spawn("run of sendMessage", session.run_on_custom(made));
        } else if state.running {
            // Between a call and its result it would break the order that providers insist on.
            state.pending_custom.push(made);
        } else {
            drop(state);
            self.append_custom_message(&made);
        }
    }

    /// A run that a custom message starts; its `before_agent_start` has no prompt.
    pub(super) fn run_on_custom(self: Arc<Self>, message: Value) -> BoxFuture<'static, ()> {
        let mut trigger = Map::new();
        if !self.host.does(Difference::OmitsMessageType) {
            trigger.insert("messageType".to_owned(), "custom".into());
        }
        trigger.insert("message".to_owned(), message);
        Box::pin(async move { self.start_run(trigger, || {}).await })
    }

    /// `pi.sendUserMessage`.
    pub(crate) fn send_user_message(self: &Arc<Self>, text: &str, deliver: Option<Delivery>) {
        let behavior = match deliver {
            Some(Delivery::FollowUp) => Some("followUp".to_owned()),
            Some(Delivery::Steer) => Some("steer".to_owned()),
            Some(Delivery::NextTurn) | None => None,
        };
        let prompt = Prompt {
            text: text.to_owned(),
            images: None,
            behavior,
            source: "extension",
            commands: false,
        };
        let session = self.clone();
        self.host.spawn("run of sendUserMessage", async move {
            if let Err(error) = session.clone().prompt(prompt, Box::new(|_| {})).await {
                session
                    .instance()
                    .report("<runtime>", "send_user_message", &error);
            }
        });
    }

    /// Appends a custom message without a turn.
    fn append_custom_message(&self, message: &Value) {
        self.append("custom_message", custom_entry(message));
        self.record(json!({"type": "message_start", "message": message}));
        self.record(json!({"type": "message_end", "message": message}));
    }

    /// Appends the custom messages that waited for the end of the turn.
    pub(super) fn flush_custom_messages(&self) {
        let pending = std::mem::take(&mut self.state().pending_custom);
        for message in pending {
            self.append_custom_message(&message);
        }
    }
}

/// The members of a `custom_message` entry; what the extension left out stays out.
pub(super) fn custom_entry(message: &Value) -> Value {
    let mut members = Map::new();
    for member in ["customType", "content", "display", "details"] {
        if let Some(value) = message.get(member) {
            members.insert(member.to_owned(), value.clone());
        }
    }
    Value::Object(members)
}

//! The events that look at a request before it leaves: `context`, `context_with_system`, `before_provider_request`.

use serde_json::{Value, json};

use super::Instance;
use crate::agent::system;
use crate::extension::{Event, Shared};

impl Instance {
    /// Runs the request's messages through `context` handlers, which see no system messages, and then through
    /// `context_with_system` handlers, whose output is taken as it is (pi-host.md 1.2, 2).
    pub(crate) async fn emit_context(&self, messages: Vec<Value>) -> Vec<Value> {
        let mut current = messages;
        for (slot, handler) in self.snapshot("context") {
            let visible: Vec<Value> = current
                .iter()
                .filter(|message| message["role"] != "system")
                .cloned()
                .collect();
            let list = Shared::new(Value::Array(visible.clone()));
            let event = Event::new(json!({"type": "context"}));
            event.share("messages", &list);
            let Some(result) = self.call_reporting(&slot, &handler, &event).await else {
                continue;
            };
            let returned = match result.get("messages") {
                Some(messages) if !messages.is_null() => messages.clone(),
                // Changed in place, or not at all; an assigned list is not looked at.
                _ => list.get(),
            };
            let returned = match returned {
                Value::Array(returned) => returned,
                // As long as the list, a text is compared with it; otherwise it is taken apart.
                Value::String(text) if text.encode_utf16().count() == visible.len() => {
                    self.report(&slot.path, "context", "left.every is not a function");
                    continue;
                }
                Value::String(text) => text.chars().map(|sign| sign.to_string().into()).collect(),
                _ => {
                    self.report(&slot.path, "context", "returned is not iterable");
                    continue;
                }
            };
            if returned != visible {
                let head = system::current(&current);
                current = head.into_iter().chain(returned).collect();
            }
        }
        for (slot, handler) in self.snapshot("context_with_system") {
            let led = current
                .first()
                .is_some_and(|message| message["role"] == "system");
            let event = Event::new(json!({"type": "context_with_system", "messages": current}));
            let Some(result) = self.call_reporting(&slot, &handler, &event).await else {
                continue;
            };
            let changed = match result.get("messages") {
                Some(messages) if !messages.is_null() => messages.clone(),
                _ => event.get("messages").unwrap_or_default(),
            };
            if let Value::Array(changed) = changed {
                current = changed;
            }
            if led
                && current
                    .first()
                    .is_none_or(|message| message["role"] != "system")
            {
                self.report(
                    &slot.path,
                    "context_with_system",
                    "Handler removed the leading system message; the request has no prompt or initial tool \
                     declarations. Keep it at index 0 or replace a dropped prefix with getCurrentSystemMessage().",
                );
            }
        }
        current
    }

    /// Shows handlers the headers of the request, which come before its body. Headers that they set are not modelled: the
    /// model's port knows none.
    pub(crate) async fn emit_before_provider_headers(&self) {
        self.emit(json!({"type": "before_provider_headers", "headers": {}}))
            .await;
    }

    /// Lets handlers replace the body of the request.
    pub(crate) async fn emit_before_provider_request(&self, payload: Value) -> Value {
        let payload = Shared::new(payload);
        let mut current = payload;
        for (slot, handler) in self.snapshot("before_provider_request") {
            let event = Event::new(json!({"type": "before_provider_request"}));
            event.share("payload", &current);
            let result = self
                .call_reporting(&slot, &handler, &event)
                .await
                .unwrap_or_default();
            if !result.is_null() {
                current = Shared::new(result);
            }
        }
        current.get()
    }
}

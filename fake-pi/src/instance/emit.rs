//! Emitting: handlers run one at a time, each awaited, over a snapshot (pi-host.md 2).

use std::task::Context;

use futures::future::FutureExt;
use futures::task::noop_waker_ref;
use serde_json::Value;

use super::{Ctx, Instance, Slot};
use crate::extension::{Event, Handler, Thrown};

/// What the handlers of a turn's or a run's end decided.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Boundary {
    /// Whether one of them asked for another request.
    pub(crate) go_on: bool,
    /// The entries that they asked to append, as the last one left the list.
    pub(crate) entries: Value,
}

/// JavaScript's notion of a value that counts as true.
pub(crate) fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

impl Instance {
    /// Calls one handler. Its synchronous part runs here, before anything is awaited.
    pub(super) async fn call(&self, handler: &Handler, event: &Event) -> Result<Value, Thrown> {
        let Some(me) = self.me.upgrade() else {
            return Ok(Value::Null);
        };
        handler(event.clone(), Ctx::new(&me)).await
    }

    /// Calls one handler of an event whose errors are swallowed and reported; `None` when it threw.
    pub(super) async fn call_reporting(
        &self,
        slot: &Slot,
        handler: &Handler,
        event: &Event,
    ) -> Option<Value> {
        match self.call(handler, event).await {
            Ok(result) => Some(result),
            Err(thrown) => {
                self.report(&slot.path, &event.kind(), &thrown.message);
                None
            }
        }
    }

    /// Emits an event whose handlers only listen, or, for a `session_before_…` event, may cancel. All handlers share
    /// one event object. Gives the last result of a `session_before_…` event.
    pub(crate) async fn emit(&self, event: Value) -> Value {
        let event = Event::new(event);
        let cancellable = event.kind().starts_with("session_before_");
        let mut last = Value::Null;
        for (slot, handler) in self.snapshot(&event.kind()) {
            let result = self
                .call_reporting(&slot, &handler, &event)
                .await
                .unwrap_or_default();
            if cancellable && truthy(&result) {
                last = result;
                if truthy(&last["cancel"]) {
                    break;
                }
            }
        }
        last
    }

    /// Emits an event of which each handler gets a copy of its own.
    pub(crate) async fn emit_each(&self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        for (slot, handler) in self.snapshot(kind) {
            self.call_reporting(&slot, &handler, &Event::new(event.clone()))
                .await;
        }
    }

    /// Emits until a handler returns anything or throws; gives the path of its extension, and what that was.
    pub(crate) async fn first_given(&self, event: Value) -> (String, Result<Value, Thrown>) {
        let event = Event::new(event);
        for (slot, handler) in self.snapshot(&event.kind()) {
            let given = self.call(&handler, &event).await;
            if given != Ok(Value::Null) {
                return (slot.path.clone(), given);
            }
        }
        (String::new(), Ok(Value::Null))
    }

    /// Emits without waiting: the handlers' synchronous parts run before this returns, the rest goes on beside.
    pub(crate) fn emit_detached(&self, event: Value) {
        let Some(me) = self.me.upgrade() else { return };
        let host = self.host.clone();
        let mut rest = async move {
            me.emit(event).await;
        }
        .boxed();
        if rest
            .poll_unpin(&mut Context::from_waker(noop_waker_ref()))
            .is_pending()
        {
            // The first poll left no waker behind; spawning polls again, with one.
            host.spawn("handlers of a detached event", rest);
        }
    }

    /// Emits `turn_end` or `agent_before_settle`: each handler gets an event of its own with what the ones before it
    /// decided, and the context as `context` gives it for the entries that they asked for. If the last list of entries
    /// cannot be appended, nothing that they decided counts.
    pub(crate) async fn emit_boundary(
        &self,
        base: &Value,
        context: impl Fn(&Value) -> Result<Value, String>,
        stands_at: impl Fn() -> (Option<String>, usize),
    ) -> Boundary {
        let mut decided = Boundary {
            go_on: false,
            entries: Value::Array(Vec::new()),
        };
        let mut shown = context(&decided.entries).unwrap_or_default();
        let mut stood_at = stands_at();
        let mut valid = true;
        let kind = base["type"].as_str().unwrap_or_default().to_owned();
        for (slot, handler) in self.snapshot(&kind) {
            let mut event = base.clone();
            event["entries"] = decided.entries.clone();
            event["continue"] = decided.go_on.into();
            event["context"] = shown.clone();
            let result = self
                .call_reporting(&slot, &handler, &Event::new(event))
                .await
                .unwrap_or_default();
            if let Some(go_on) = result.get("continue").filter(|go_on| !go_on.is_null()) {
                decided.go_on = truthy(go_on);
            }
            let asked = result.get("entries").filter(|entries| !entries.is_null());
            if let Some(entries) = asked {
                decided.entries = entries.clone();
            }
            // A long conversation is written three times over in it, so it is made anew only where it can be another.
            if asked.is_none() && valid && stood_at == stands_at() {
                continue;
            }
            stood_at = stands_at();
            match context(&decided.entries) {
                Ok(context) => (shown, valid) = (context, true),
                Err(error) => {
                    valid = false;
                    let text = format!("Invalid boundary entries: {error}");
                    self.report(&slot.path, &kind, &text);
                }
            }
        }
        if valid { decided } else { Boundary::default() }
    }
}

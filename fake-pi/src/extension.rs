//! What an extension is to the host: a factory, handlers, events, and what a handler may throw.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::instance::{Ctx, Pi};

/// An extension. Its factory runs once per instance: at the start and again for each session that replaces one
/// (pi-host.md 6).
pub trait Extension: Send + Sync {
    /// The path that Pi names it by, in ownership rules and error records.
    fn path(&self) -> String;

    /// The factory. The host awaits it before the next extension's (pi-host.md 1.1).
    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>>;
}

/// A handler of an event. The closure's own body is the synchronous part and runs when the event is dispatched; the
/// future is what JavaScript would await. `Value::Null` stands for `undefined`.
pub type Handler =
    Arc<dyn Fn(Event, Ctx) -> BoxFuture<'static, Result<Value, Thrown>> + Send + Sync>;

/// A handler of a slash command: the text after its name, and a context.
pub type CommandHandler =
    Arc<dyn Fn(String, Ctx) -> BoxFuture<'static, Result<(), Thrown>> + Send + Sync>;

/// What was thrown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Thrown {
    /// The error's message, or the thrown value as JavaScript's `String` would write it.
    pub message: String,
    /// Whether it was an `Error`; a thrown string or object is not (pi-host.md 2).
    pub is_error: bool,
}

impl Thrown {
    /// An `Error` with this message.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_error: true,
        }
    }

    /// A value that is no `Error`.
    pub fn value(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_error: false,
        }
    }
}

/// A value that host and handlers share, so that a change in place is seen by all who hold it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Value>>);

impl Shared {
    pub(crate) fn new(value: Value) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    pub(crate) fn get(&self) -> Value {
        lock(&self.0).clone()
    }

    fn edit<T>(&self, change: impl FnOnce(&mut Value) -> T) -> T {
        change(&mut lock(&self.0))
    }
}

/// An event as all its handlers share it.
///
/// JavaScript tells assigning a member (`event.content = […]`) from changing the object behind it
/// (`event.content.push(…)`); only the second reaches the host's own object (pi-host.md 8). So each member is a shared
/// value of its own: [`Event::set`] assigns, [`Event::edit`] changes in place.
#[derive(Debug, Clone)]
pub struct Event {
    members: Arc<Mutex<Vec<(String, Shared)>>>,
}

impl Event {
    /// An event with these members; anything but an object gives an event without members.
    pub(crate) fn new(value: Value) -> Self {
        let members = match value {
            Value::Object(map) => map
                .into_iter()
                .map(|(name, value)| (name, Shared::new(value)))
                .collect(),
            _ => Vec::new(),
        };
        Self {
            members: Arc::new(Mutex::new(members)),
        }
    }

    /// Adds a member that the host goes on sharing.
    pub(crate) fn share(&self, name: &str, value: &Shared) {
        let mut members = lock(&self.members);
        match members.iter_mut().find(|(known, _)| known == name) {
            Some(slot) => slot.1 = value.clone(),
            None => members.push((name.to_owned(), value.clone())),
        }
    }

    fn shared(&self, name: &str) -> Option<Shared> {
        lock(&self.members)
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
    }

    /// The event's type, such as `tool_call`.
    pub fn kind(&self) -> String {
        self.get("type")
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// A copy of one member, `None` when it is absent (`undefined`).
    pub fn get(&self, name: &str) -> Option<Value> {
        self.shared(name).map(|value| value.get())
    }

    /// A copy of the whole event.
    pub fn value(&self) -> Value {
        let members = lock(&self.members).clone();
        Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (name, value.get()))
                .collect::<Map<_, _>>(),
        )
    }

    /// Assigns a member: later handlers see it, the host's own object stays.
    pub fn set(&self, name: &str, value: Value) {
        self.share(name, &Shared::new(value));
    }

    /// Changes a member in place, in the host's own object; `None` when it is absent.
    pub fn edit<T>(&self, name: &str, change: impl FnOnce(&mut Value) -> T) -> Option<T> {
        self.shared(name).map(|value| value.edit(change))
    }

    /// Removes a member.
    pub(crate) fn remove(&self, name: &str) {
        lock(&self.members).retain(|(known, _)| known != name);
    }
}

/// Locks without giving up on a poisoned mutex: no critical section here can leave its value half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

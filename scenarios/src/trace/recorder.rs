//! Collects the events of one play.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Event, Lane};

/// How long a shell command ran, as Pi's bash tool says it in every lane: no two runs of one host take equally long.
const COMMAND_TIME: &str = "wall_time_seconds";

/// Stands for it.
const COMMAND_TOOK: &str = "<s>";

/// Collects events, stamps them, and puts placeholders in the place of paths. Clones share one collection.
#[derive(Debug, Clone)]
pub struct Recorder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    start: Instant,
    /// Text and what stands for it, the longest text first so that a folder does not spoil what lies in it.
    placeholders: Vec<(String, String)>,
    events: Mutex<Vec<Event>>,
    /// Told of each event, for who waits for one.
    grown: Notify,
}

impl Recorder {
    /// Starts a collection; time counts from now, on tokio's clock.
    pub fn new(mut placeholders: Vec<(String, String)>) -> Self {
        placeholders.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self {
            inner: Arc::new(Inner {
                start: Instant::now(),
                placeholders,
                events: Mutex::new(Vec::new()),
                grown: Notify::new(),
            }),
        }
    }

    /// Records one event.
    pub fn record(&self, lane: Lane, event: &str, payload: Value) {
        let t = u64::try_from(self.inner.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let payload = self.with_placeholders(payload);
        self.events().push(Event {
            t,
            lane,
            event: event.to_owned(),
            cause: None,
            payload,
        });
        self.inner.grown.notify_waiters();
    }

    /// Resolves when so many events of this lane and name were recorded.
    pub async fn seen(&self, lane: Lane, name: &str, times: usize) {
        loop {
            // Asked to be told first, so that nothing is recorded unseen between the look and the wait.
            let mut grown = std::pin::pin!(self.inner.grown.notified());
            grown.as_mut().enable();
            let matches = |event: &&Event| event.lane == lane && event.event == name;
            if self.events().iter().filter(matches).count() >= times {
                return;
            }
            grown.await;
        }
    }

    /// Takes what was collected so far.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events())
    }

    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        self.inner
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn with_placeholders(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace(text)),
            Value::Array(items) => items
                .into_iter()
                .map(|item| self.with_placeholders(item))
                .collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(key, item)| match key.as_str() {
                    COMMAND_TIME => (key, COMMAND_TOOK.into()),
                    _ => (self.replace(key), self.with_placeholders(item)),
                })
                .collect(),
            other => other,
        }
    }

    fn replace(&self, mut text: String) -> String {
        for (from, to) in &self.inner.placeholders {
            if text.contains(from) {
                text = text.replace(from, to);
            }
        }
        text
    }
}

//! The journal of one server.

use std::sync::Arc;

use serde_json::Value;

use crate::{JournalEntry, JournalSink, Source};

/// Writes entries in a server's name.
#[derive(Clone)]
pub(super) struct Log {
    journal: Arc<dyn JournalSink>,
    /// The server's name, where it is another than Gortex.
    pub(super) server: Option<String>,
}

impl Log {
    pub(super) fn new(journal: Arc<dyn JournalSink>) -> Self {
        Self {
            journal,
            server: None,
        }
    }

    pub(super) fn record(&self, event: &str, payload: Value) {
        self.journal.record(JournalEntry {
            source: Source::Mcp,
            server: self.server.clone(),
            event: event.to_owned(),
            payload,
        });
    }
}

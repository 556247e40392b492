//! The hosts on which a case can be played.

pub mod folder;
pub mod http;
pub mod model;
pub mod person;
pub mod pi;
mod script;
pub mod sim;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use thiserror::Error;

use crate::case::Mode;
use crate::trace::recorder::Recorder;
use crate::trace::{Header, Lane, Trace, cause, normal};

/// Why a play did not come to its end. What a case expects is not among it: that is the judge's.
#[derive(Debug, Error)]
pub enum PlayProblem {
    /// The host said nothing for longer than anything in it waits.
    #[error("the host said nothing for {seconds} s, before step {step} could follow")]
    Silent {
        /// How long.
        seconds: u64,
        /// The person's step that was waited for, from 1; one more than the case has at its end.
        step: usize,
    },
    /// The host did not end when it was told to.
    #[error("the host did not end within {seconds} s")]
    Lingers {
        /// How long it was given.
        seconds: u64,
    },
    /// The host closed its line in the middle of a case.
    #[error("the host ended in the middle of the case")]
    Closed,
    /// The host could not be started.
    #[error("the host did not start: {0}")]
    NotStarted(String),
    /// The case's folder could not be made, read or removed.
    #[error("the case's folder: {0}")]
    Folder(#[from] std::io::Error),
}

/// A play that did not come to its end, and what was recorded of it.
#[derive(Debug, Error)]
#[error("{problem}")]
pub struct Unfinished {
    /// Why.
    #[source]
    pub problem: PlayProblem,
    /// What happened until then, where anything did.
    pub trace: Option<Trace>,
}

impl<P: Into<PlayProblem>> From<P> for Box<Unfinished> {
    fn from(problem: P) -> Self {
        Self::new(Unfinished {
            problem: problem.into(),
            trace: None,
        })
    }
}

/// Makes the trace of a play that ended, or of what there is of one that did not.
fn finish(
    header: Header,
    recorder: &Recorder,
    ended: Result<(), PlayProblem>,
) -> Result<Trace, Box<Unfinished>> {
    let mut events = recorder.take();
    cause::fill(&mut events);
    let trace = Trace { header, events };
    match ended {
        Ok(()) => Ok(trace),
        Err(problem) => Err(Box::new(Unfinished {
            problem,
            trace: Some(trace),
        })),
    }
}

/// Records the history of sessions as their files hold it, where no query of a running host could ask for it.
fn record_stored(recorder: &Recorder, mode: Mode, sessions: &[Vec<Value>]) {
    if mode.has_records() {
        return;
    }
    for entries in sessions {
        // A session stands at the last entry of its file when it is opened.
        let leaf = entries.last().map_or(&Value::Null, |entry| &entry["id"]);
        recorder.record(Lane::Host, "history", normal::history(entries, leaf));
    }
}

/// Records what Pi printed that is no record.
fn record_stdout(recorder: &Recorder, text: &str) {
    if !text.is_empty() {
        recorder.record(Lane::Person, "stdout", json!({ "text": text }));
    }
}

/// The most that is read of the adapter's log, in bytes.
const LOG_KEPT: u64 = 1024 * 1024;

/// Records what the adapter wrote to its log, a line an event: what its diagnostics say is part of what is compared.
fn record_log(recorder: &Recorder, log: &Path) {
    let mut text = Vec::new();
    // No log, no lines; what was read before an error is what there is to tell.
    let _ = File::open(log).and_then(|file| file.take(LOG_KEPT).read_to_end(&mut text));
    for line in String::from_utf8_lossy(&text).lines() {
        recorder.record(Lane::Disk, "log", json!({ "line": line }));
    }
}

/// Records what Gortex, or another server of the case, wrote to its journal. Only another server's events have its name.
fn record_journal(recorder: &Recorder, entry: fake_gortex::JournalEntry) {
    let lane = match entry.source {
        fake_gortex::Source::Mcp => Lane::Mcp,
        fake_gortex::Source::Hook => Lane::Hook,
    };
    let mut payload = entry.payload;
    if let Some(server) = entry.server {
        payload["server"] = server.into();
    }
    recorder.record(lane, &entry.event, payload);
}

//! The hosts on which a case can be played.

pub mod folder;
pub mod model;
pub mod person;
pub mod pi;
pub mod sim;

use thiserror::Error;

use crate::trace::Lane;
use crate::trace::recorder::Recorder;

/// Why a play did not come to its end. What a case expects is not among it: that is the judge's.
#[derive(Debug, Error)]
pub enum PlayProblem {
    /// The host said nothing for longer than anything in it waits.
    #[error("the host said nothing for {seconds} s")]
    Silent {
        /// How long.
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

/// Records what Gortex wrote to its journal.
fn record_journal(recorder: &Recorder, entry: fake_gortex::JournalEntry) {
    let lane = match entry.source {
        fake_gortex::Source::Mcp => Lane::Mcp,
        fake_gortex::Source::Hook => Lane::Hook,
    };
    recorder.record(lane, &entry.event, entry.payload);
}

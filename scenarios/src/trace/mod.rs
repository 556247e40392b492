//! A trace: what happened while a case was played, as JSON lines.
//!
//! The first line is a [`Header`], each further one an [`Event`]. Paths are placeholders already when an event is
//! recorded, so that two plays of one case on the simulated host give the same bytes.

pub mod cause;
pub mod compare;
pub mod normal;
pub mod recorder;
mod uuid;
mod varying;

use std::fmt;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where an event was seen. The order is that in which lanes are printed and compared.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// What the person did, and what Pi told them (responses, notices).
    Person,
    /// Pi's session events, as its RPC mode prints them, and the session's history at the end.
    Host,
    /// What the recording extensions saw, the first before ours and the last behind it.
    Extension,
    /// What `gortex mcp` received and sent, and what each other server did; theirs bear the server's name.
    Mcp,
    /// What `gortex hook` was asked and answered.
    Hook,
    /// Requests that reached the model, and the scripted answers.
    Model,
    /// Texts of the files around a call that writes, and at the end; before those the lines of the adapter's log.
    Disk,
}

impl Lane {
    /// All lanes, in order.
    pub const ALL: [Self; 7] = [
        Self::Person,
        Self::Host,
        Self::Extension,
        Self::Mcp,
        Self::Hook,
        Self::Model,
        Self::Disk,
    ];

    /// The lane's name in a trace.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Host => "host",
            Self::Extension => "extension",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
            Self::Model => "model",
            Self::Disk => "disk",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The first line of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the trace's form; 1.
    pub trace: u32,
    /// The case's name: its area and file name, without the ending.
    pub case: String,
    /// `sim` or `pi`.
    pub host: String,
    /// The version of Pi that was modelled or run.
    pub pi: String,
    /// The seed of the run's random choices; the real host has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Milliseconds since the play began: virtual on the simulated host, of arrival on the real one.
    pub t: u64,
    /// Where it was seen.
    pub lane: Lane,
    /// What it was, by the name that its own party uses.
    pub event: String,
    /// What brought it about: `step N` of the person, or `call ID` of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The rest, an object.
    pub payload: Value,
}

/// A whole trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// What was played, and where.
    pub header: Header,
    /// What happened, in the order in which it was recorded.
    pub events: Vec<Event>,
}

impl Trace {
    /// The events of one lane, in order.
    pub fn lane(&self, lane: Lane) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.lane == lane)
    }

    /// The events of one lane and name, in order.
    pub fn named<'a>(&'a self, lane: Lane, name: &'a str) -> impl Iterator<Item = &'a Event> {
        self.lane(lane).filter(move |event| event.event == name)
    }

    /// Reads a trace that [`Trace::write`] wrote.
    ///
    /// # Errors
    /// A line that is no JSON of its kind; a trace without a line.
    pub fn read(text: &str) -> serde_json::Result<Self> {
        let mut lines = text.lines();
        Ok(Self {
            header: serde_json::from_str(lines.next().unwrap_or_default())?,
            events: lines.map(serde_json::from_str).collect::<Result<_, _>>()?,
        })
    }

    /// Writes the trace as JSON lines.
    ///
    /// # Errors
    /// What `out` gives.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut out, &self.header)?;
        out.write_all(b"\n")?;
        for event in &self.events {
            serde_json::to_writer(&mut out, event)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

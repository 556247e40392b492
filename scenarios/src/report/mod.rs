//! What a person or a machine is told about plays.

pub mod conformance;
mod cut;
pub mod diffs;
pub mod listing;
pub mod matrix;
pub mod mutations;
pub mod rules;
pub mod run;
pub mod timeline;

use std::io::{self, IsTerminal as _, Write};

use clap::ValueEnum;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use crate::judge::Failure;
use crate::trace::{Event, Trace};

/// How a report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables and text.
    #[default]
    Text,
    /// One JSON object a line, the last one `{"summary": {…}}`.
    Json,
}

/// How many events before the one that failed are shown with it.
const BEFORE: usize = 4;

/// How many after it.
const AFTER: usize = 2;

/// The width of a table that no terminal bounds, in characters.
const WIDTH: u16 = 160;

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(head);
    if !io::stdout().is_terminal() {
        table.set_width(WIDTH);
    }
    table
}

fn json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn failure_json(failure: &Failure) -> serde_json::Value {
    serde_json::json!({ "check": failure.check, "what": failure.what })
}

/// Writes what did not hold, each with the events around it.
fn write_failures(
    out: &mut impl Write,
    failures: &[Failure],
    trace: Option<&Trace>,
) -> io::Result<()> {
    for failure in failures {
        writeln!(out, "  ✗ {}: {}", failure.check, cut::line(&failure.what))?;
        if let (Some(at), Some(trace)) = (failure.at, trace) {
            let end = (at + 1 + AFTER).min(trace.events.len());
            for (index, event) in trace
                .events
                .iter()
                .enumerate()
                .take(end)
                .skip(at.saturating_sub(BEFORE))
            {
                let mark = if index == at { '>' } else { ' ' };
                writeln!(out, "    {mark} {}", excerpt(event))?;
            }
        }
    }
    Ok(())
}

fn excerpt(event: &Event) -> String {
    let payload = cut::line(&event.payload.to_string());
    format!(
        "{:>7} ms  {:<9} {:<22} {payload}",
        event.t, event.lane, event.event
    )
}

//! The timeline of one case: its lanes side by side.

use std::io::{self, Write};

use serde_json::Value;

use super::cut::shortened;
use super::table;
use crate::trace::{Event, Lane, Trace};

/// How much of an event a cell shows, in characters.
const CELL: usize = 60;

/// Writes a trace with one column a lane, one row an event.
///
/// # Errors
/// What `out` gives.
pub fn write(out: &mut impl Write, trace: &Trace) -> io::Result<()> {
    let head: Vec<&str> = std::iter::once("ms")
        .chain(Lane::ALL.map(Lane::name))
        .collect();
    let mut rows = table(&head);
    for event in &trace.events {
        let cells = Lane::ALL.into_iter().map(|lane| {
            if lane == event.lane {
                cell(event)
            } else {
                String::new()
            }
        });
        rows.add_row(
            std::iter::once(event.t.to_string())
                .chain(cells)
                .collect::<Vec<_>>(),
        );
    }
    writeln!(
        out,
        "{} on {} (Pi {})",
        trace.header.case, trace.header.host, trace.header.pi
    )?;
    writeln!(out, "{rows}")
}

/// An event in a few words: its name, and what tells it from others of that name.
fn cell(event: &Event) -> String {
    let payload = &event.payload;
    let places = [
        "/by",
        "/command",
        "/message/role",
        "/toolCallId",
        "/toolName",
        "/method",
        "/envelope/event",
        "/envelope/tool_name",
        "/params/name",
        "/reason",
        "/say",
        "/type",
        "/message",
        "/stdout",
    ];
    let words = places
        .iter()
        .filter_map(|place| payload.pointer(place).and_then(Value::as_str));
    let words: Vec<&str> = std::iter::once(event.event.as_str()).chain(words).collect();
    shortened(&words.join(" "), CELL)
}

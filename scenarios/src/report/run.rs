//! The report of `pi-bench run`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::{Format, failure_json, json_line, table, write_failures};
use crate::suite::{Named, Played};

/// What `run` sums up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Cases that were chosen.
    pub cases: usize,
    /// Those that held.
    pub held: usize,
    /// Those that did not.
    pub failed: usize,
    /// Those that this host cannot play.
    pub skipped: usize,
}

/// Writes the report; a case without a play was skipped.
///
/// # Errors
/// What `out` gives.
pub fn write(
    out: &mut impl Write,
    format: Format,
    host: &str,
    plays: &[(&Named, Option<Played>)],
) -> io::Result<Summary> {
    let mut summary = Summary {
        cases: plays.len(),
        ..Summary::default()
    };
    let mut rows = table(&["case", "verdict", "time", "events", "what it shows"]);
    for (named, played) in plays {
        let verdict = verdict(played.as_ref());
        match verdict {
            "held" => summary.held += 1,
            "skipped" => summary.skipped += 1,
            _ => summary.failed += 1,
        }
        let trace = played.as_ref().and_then(|played| played.trace.as_ref());
        let events = trace.map_or(0, |trace| trace.events.len());
        let time = trace
            .and_then(|trace| trace.events.last())
            .map_or(0, |event| event.t);
        match format {
            Format::Text => {
                let time = format!("{}.{:03} s", time / 1000, time % 1000);
                rows.add_row([
                    &named.name,
                    verdict,
                    &time,
                    &events.to_string(),
                    &named.case.title,
                ]);
            }
            Format::Json => {
                let failures: Vec<_> = played
                    .iter()
                    .flat_map(|played| &played.failures)
                    .map(failure_json)
                    .collect();
                json_line(
                    out,
                    &json!({
                        "case": named.name, "host": host, "verdict": verdict, "ms": time, "events": events,
                        "failures": failures,
                    }),
                )?;
            }
        }
    }
    match format {
        Format::Text => {
            writeln!(out, "{rows}")?;
            for (named, played) in plays {
                if let Some(played) = played.as_ref().filter(|played| !played.held()) {
                    writeln!(out, "\n{}", named.name)?;
                    write_failures(out, &played.failures, played.trace.as_ref())?;
                }
            }
            let Summary {
                cases,
                held,
                failed,
                skipped,
            } = summary;
            writeln!(
                out,
                "\n{cases} cases on {host}: {held} held, {failed} failed, {skipped} skipped"
            )?;
        }
        Format::Json => json_line(out, &json!({ "summary": summary }))?,
    }
    Ok(summary)
}

fn verdict(played: Option<&Played>) -> &'static str {
    match played {
        None => "skipped",
        Some(played) if played.held() => "held",
        Some(_) => "failed",
    }
}

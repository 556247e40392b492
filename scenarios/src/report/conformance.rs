//! The report of `pi-bench conform`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::{Format, cut, failure_json, json_line, table, write_failures};
use crate::matrix::Cell;
use crate::suite::{Conformed, Named, Played};

/// What `conform` sums up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Cases that were chosen, each counted once for every version.
    pub cases: usize,
    /// Those that were the same on both hosts, and held on both.
    pub equal: usize,
    /// Those that were the same on both hosts, in a version in which they need not hold.
    pub alike: usize,
    /// Places in which traces differ, over all cases.
    pub differences: usize,
    /// Cases that did not come to their end, or did not hold, on one of the hosts.
    pub failed: usize,
    /// Cases that the real Pi cannot play.
    pub skipped: usize,
}

/// A version of Pi and what came of each case on it; a case without an outcome was skipped.
pub type Column<'a> = (String, Vec<(&'a Named, Option<Conformed>)>);

/// Writes the report.
///
/// # Errors
/// What `out` gives.
pub fn write(out: &mut impl Write, format: Format, columns: &[Column<'_>]) -> io::Result<Summary> {
    let mut summary = Summary::default();
    for (version, outcomes) in columns {
        for (named, outcome) in outcomes {
            summary.cases += 1;
            match outcome {
                None => summary.skipped += 1,
                Some(outcome) => {
                    summary.equal += usize::from(outcome.equal() && outcome.judged);
                    summary.alike += usize::from(outcome.equal() && !outcome.judged);
                    summary.differences += outcome.differences.len();
                    summary.failed += usize::from(!outcome.sim.held() || !outcome.pi.held());
                }
            }
            if format == Format::Json {
                json_line(out, &as_json(version, named, outcome.as_ref()))?;
            }
        }
    }
    match format {
        Format::Json => json_line(out, &json!({ "summary": summary }))?,
        Format::Text => write_text(out, columns, summary)?,
    }
    Ok(summary)
}

fn verdict(outcome: Option<&Conformed>) -> &'static str {
    match Cell::of(outcome) {
        Cell::NotPlayed => "skipped",
        cell => cell.word(),
    }
}

fn as_json(version: &str, named: &Named, outcome: Option<&Conformed>) -> serde_json::Value {
    let failures = |play: fn(&Conformed) -> &Played| -> Vec<_> {
        outcome
            .map(play)
            .into_iter()
            .flat_map(|play| &play.failures)
            .map(failure_json)
            .collect()
    };
    let differences = outcome.into_iter().flat_map(|outcome| &outcome.differences);
    json!({
        "case": named.name,
        "pi": version,
        "verdict": verdict(outcome),
        "differences": differences.map(|place| json!({ "lane": place.lane, "server": place.server, "text": place.text })).collect::<Vec<_>>(),
        "failures": { "sim": failures(|outcome| &outcome.sim), "pi": failures(|outcome| &outcome.pi) },
    })
}

fn write_text(out: &mut impl Write, columns: &[Column<'_>], summary: Summary) -> io::Result<()> {
    let versions = columns.iter().map(|(version, _)| format!("Pi {version}"));
    let head: Vec<String> = std::iter::once("case".to_owned()).chain(versions).collect();
    let mut rows = table(&head.iter().map(String::as_str).collect::<Vec<_>>());
    let cases = columns.first().map_or(0, |(_, outcomes)| outcomes.len());
    for index in 0..cases {
        let name = columns[0].1[index].0.name.clone();
        let verdicts = columns
            .iter()
            .map(|(_, outcomes)| verdict(outcomes[index].1.as_ref()).to_owned());
        rows.add_row(std::iter::once(name).chain(verdicts).collect::<Vec<_>>());
    }
    writeln!(out, "{rows}")?;
    for (version, outcomes) in columns {
        for (named, outcome) in outcomes {
            let Some(outcome) = outcome.as_ref().filter(|outcome| !outcome.equal()) else {
                continue;
            };
            writeln!(out, "\n{} on Pi {version}", named.name)?;
            for (host, play) in [("sim", &outcome.sim), ("pi", &outcome.pi)]
                .iter()
                .filter(|(_, play)| !play.held())
            {
                writeln!(out, "  on {host}:")?;
                write_failures(out, &play.failures, play.trace.as_ref())?;
            }
            for place in &outcome.differences {
                let server = place.server.as_ref();
                let server = server.map(|name| format!(", server {name}"));
                let server = server.unwrap_or_default();
                writeln!(out, "  lane {}{server} (- sim, + pi)", place.lane)?;
                for line in cut::diff(&place.text) {
                    writeln!(out, "    {line}")?;
                }
            }
        }
    }
    let Summary {
        cases,
        equal,
        alike,
        differences,
        failed,
        skipped,
    } = summary;
    writeln!(
        out,
        "\n{cases} cases on both hosts: {equal} equal, {alike} alike, {differences} differences, {failed} failed, {skipped} skipped"
    )
}

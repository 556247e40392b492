//! The report of `pi-bench mutations`.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::{Format, json_line, table};
use crate::mutation::Outcome;

/// What `mutations` sums up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Mistakes that were made.
    pub made: usize,
    /// Those that at least one case noticed.
    pub caught: usize,
    /// Cases that differ without any mistake.
    pub false_alarms: usize,
}

/// Writes the report.
///
/// # Errors
/// What `out` gives.
pub fn write(out: &mut impl Write, format: Format, outcomes: &[Outcome]) -> io::Result<Summary> {
    let mut summary = Summary::default();
    let mut rows = table(&["mistake", "noticed by", "cases", "in the lanes"]);
    for outcome in outcomes {
        let name = match outcome.fault {
            Some(fault) => {
                summary.made += 1;
                summary.caught += usize::from(outcome.right());
                fault.words()
            }
            None => {
                summary.false_alarms = outcome.noticed.len();
                "none".to_owned()
            }
        };
        // The case in which it shows in the fewest lanes says most about what it is.
        let first = outcome
            .noticed
            .iter()
            .min_by_key(|noticed| noticed.lanes.len());
        let lanes: Vec<&str> = first
            .iter()
            .flat_map(|noticed| &noticed.lanes)
            .map(|lane| lane.name())
            .collect();
        match format {
            Format::Json => {
                let cases: Vec<_> = outcome
                    .noticed
                    .iter()
                    .map(|noticed| json!({ "case": noticed.case, "lanes": noticed.lanes }))
                    .collect();
                json_line(out, &json!({ "mistake": name, "noticed": cases }))?;
            }
            Format::Text => {
                let case = first.map_or("nobody", |noticed| noticed.case.as_str());
                let cases = outcome.noticed.len().to_string();
                rows.add_row([name.as_str(), case, &cases, &lanes.join(", ")]);
            }
        }
    }
    match format {
        Format::Json => json_line(out, &json!({ "summary": summary }))?,
        Format::Text => {
            let Summary {
                made,
                caught,
                false_alarms,
            } = summary;
            writeln!(out, "{rows}")?;
            writeln!(
                out,
                "\n{caught} of {made} caught, {false_alarms} cases differ without a mistake"
            )?;
        }
    }
    Ok(summary)
}

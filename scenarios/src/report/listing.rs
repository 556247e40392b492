//! The list of cases.

use std::io::{self, Write};

use serde_json::json;

use super::{Format, json_line, table};
use crate::suite::Named;

/// Writes the list.
///
/// # Errors
/// What `out` gives.
pub fn write(out: &mut impl Write, format: Format, cases: &[Named]) -> io::Result<()> {
    let mut rows = table(&["case", "covers", "what it shows"]);
    for named in cases {
        let covers = named.case.covers.join(" ");
        match format {
            Format::Text => {
                rows.add_row([&named.name, &covers, &named.case.title]);
            }
            Format::Json => {
                json_line(
                    out,
                    &json!({ "case": named.name, "covers": named.case.covers, "title": named.case.title }),
                )?;
            }
        }
    }
    match format {
        Format::Text => writeln!(out, "{rows}"),
        Format::Json => json_line(out, &json!({ "summary": { "cases": cases.len() } })),
    }
}

//! What the comparison of diffs gave.

use std::io::{self, Write};

use serde_json::json;

use super::cut::shortened;
use super::{Format, json_line};
use crate::diffs::{Difference, Tally};

/// How much of a text is shown, in characters; the machine's form has all.
const TEXT_SHOWN: usize = 600;

/// One source of pairs, and how they fared.
#[derive(Debug)]
pub struct Source {
    /// Where the pairs come from, as a person is told.
    pub name: String,
    /// How many of them were equal.
    pub tally: Tally,
    /// Pairs that were not compared, since the adapter compares no such file.
    pub left_out: usize,
}

/// Writes each source's tally with its differences, and the sum.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(out: &mut impl Write, format: Format, sources: &[Source]) -> io::Result<()> {
    let equal: usize = sources.iter().map(|source| source.tally.equal).sum();
    let total: usize = sources.iter().map(|source| source.tally.total).sum();
    for source in sources {
        match format {
            Format::Json => json_line(
                out,
                &json!({
                    "source": source.name, "equal": source.tally.equal, "total": source.tally.total,
                    "left_out": source.left_out, "differences": source.tally.differences,
                }),
            )?,
            Format::Text => {
                let left_out = match source.left_out {
                    0 => String::new(),
                    files => format!(", {files} left out: no text, or over 1 MiB"),
                };
                let Tally { equal, total, .. } = source.tally;
                writeln!(out, "{}: {equal} / {total} equal{left_out}", source.name)?;
                for difference in &source.tally.differences {
                    write_difference(out, difference)?;
                }
            }
        }
    }
    match format {
        Format::Json => json_line(
            out,
            &json!({ "summary": { "equal": equal, "total": total } }),
        ),
        Format::Text => writeln!(out, "{equal} / {total} equal"),
    }
}

fn write_difference(out: &mut impl Write, difference: &Difference) -> io::Result<()> {
    let Difference { pair, pi, adapter } = difference;
    writeln!(out, "  ✗ {}", shortened(&pair.path, TEXT_SHOWN))?;
    let mut show =
        |name: &str, text: &str| writeln!(out, "    {name:<14} {}", shortened(text, TEXT_SHOWN));
    show("before", &pair.old)?;
    show("after", &pair.new)?;
    let line = |line: Option<u64>| line.map_or("none".to_owned(), |line| line.to_string());
    for (name, pi, adapter) in [
        ("diff", pi.diff.clone(), adapter.diff.clone()),
        ("patch", pi.patch.clone(), adapter.patch.clone()),
        (
            "first line",
            line(pi.first_changed_line),
            line(adapter.first_changed_line),
        ),
    ] {
        if pi != adapter {
            show(&format!("{name}, Pi"), &pi)?;
            show(&format!("{name}, ours"), &adapter)?;
        }
    }
    Ok(())
}

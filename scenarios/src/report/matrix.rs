//! The table of areas by versions in the README.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fake_pi::Version;

use crate::case::Before;
use crate::matrix::{Cell, Matrix};
use crate::suite::Named;

/// Writes the table as Markdown, and why each cell that is not equal is not.
pub fn markdown(matrix: &Matrix, cases: &[Named]) -> String {
    let mut text = String::from("| area | cases |");
    for version in Version::ALL {
        let _ = write!(text, " {version} |");
    }
    text.push_str("\n|---|---:|");
    text.push_str(&"---|".repeat(Version::ALL.len()));
    text.push('\n');
    let mut areas: BTreeMap<&str, Vec<&BTreeMap<String, Cell>>> = BTreeMap::new();
    for (name, row) in &matrix.0 {
        let area = name.split_once('/').map_or("", |(area, _)| area);
        areas.entry(area).or_default().push(row);
    }
    for (area, rows) in &areas {
        line(&mut text, &format!("`{area}/`"), rows);
    }
    let all: Vec<_> = matrix.0.values().collect();
    line(&mut text, "all", &all);
    text.push('\n');
    for named in cases
        .iter()
        .filter(|named| matrix.0.contains_key(&named.name))
    {
        let name = &named.name;
        if let Some(why) = &named.case.sim_only {
            let _ = writeln!(text, "- `{name}`, not played on any: {why}");
        } else if let Some(since) = &named.case.since {
            let cell = match since.before {
                Before::Compared => Cell::Alike,
                Before::NotPlayed => Cell::NotPlayed,
            };
            let (word, version, why) = (cell.word(), &since.version, &since.why);
            let _ = writeln!(text, "- `{name}`, {word} before {version}: {why}");
        }
    }
    text
}

fn line(text: &mut String, head: &str, rows: &[&BTreeMap<String, Cell>]) {
    let _ = write!(text, "| {head} | {} |", rows.len());
    for version in Version::ALL {
        let mut counts: BTreeMap<Cell, usize> = BTreeMap::new();
        for cell in rows.iter().filter_map(|row| row.get(version.as_str())) {
            *counts.entry(*cell).or_default() += 1;
        }
        let words: Vec<String> = counts
            .iter()
            .map(|(cell, count)| match cell {
                Cell::Equal => count.to_string(),
                cell => format!("{count} {}", cell.word()),
            })
            .collect();
        let _ = write!(text, " {} |", words.join(", "));
    }
    text.push('\n');
}

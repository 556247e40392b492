//! Commands for those who write cases: `list`, `check`, `schema`.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;

use super::{Choose, Stop, exit};
use crate::case::{self, Case};
use crate::report::{self, Format, listing};
use crate::{rules, suite};

pub(super) fn list(choose: &Choose) -> Result<u8, Stop> {
    let cases = super::choose(&choose.folder, &choose.filter)?;
    listing::write(&mut io::stdout().lock(), choose.output.format, &cases)?;
    Ok(exit::HELD)
}

/// Exits with 1 when a rule has neither case nor test.
pub(super) fn list_rules(choose: &Choose) -> Result<u8, Stop> {
    let cases = super::choose(&choose.folder, &choose.filter)?;
    let tests = rules::cited_tests(&suite::workspace())?;
    let coverage = rules::coverage(&cases, &tests);
    report::rules::write(&mut io::stdout().lock(), choose.output.format, &coverage)?;
    let missing = coverage.iter().any(rules::Coverage::is_missing);
    Ok(if missing { exit::FAILED } else { exit::HELD })
}

pub(super) fn check(files: &[PathBuf], format: Format) -> Result<u8, Stop> {
    let mut out = io::stdout().lock();
    let mut wrong = 0;
    for file in files {
        let problem = case::load(file).err();
        wrong += usize::from(problem.is_some());
        match (format, problem) {
            (Format::Json, problem) => {
                let what = problem.as_ref().map(ToString::to_string);
                let line = problem.as_ref().and_then(|problem| problem.line());
                let verdict = if problem.is_some() { "wrong" } else { "right" };
                writeln!(
                    out,
                    "{}",
                    json!({ "file": file, "verdict": verdict, "line": line, "what": what })
                )?;
            }
            (Format::Text, None) => writeln!(out, "{}: right", file.display())?,
            (Format::Text, Some(problem)) => {
                super::say(&format!("{:?}", miette::Report::new(*problem)));
            }
        }
    }
    if format == Format::Json {
        let summary = json!({ "files": files.len(), "right": files.len() - wrong, "wrong": wrong });
        writeln!(out, "{}", json!({ "summary": summary }))?;
    }
    Ok(if wrong == 0 { exit::HELD } else { exit::WRONG })
}

pub(super) fn schema() -> Result<u8, Stop> {
    writeln!(io::stdout().lock(), "{}", schema_text())?;
    Ok(exit::HELD)
}

/// The JSON Schema of a case file, as it stands in the repository.
pub fn schema_text() -> String {
    format!("{:#}", schemars::schema_for!(Case).as_value())
}

//! Reads a case file.

use std::fs;
use std::path::Path;

use miette::{NamedSource, SourceSpan};

use super::Case;
use super::problem::CaseProblem;
use super::validate::{self, Fault};

/// The largest file that is taken for a case, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// Reads and checks a case file.
///
/// # Errors
/// A [`CaseProblem`] when the file cannot be read, is no TOML, has a key that no case has, a value of the wrong kind, or
/// says something that cannot be played.
pub fn load(path: &Path) -> Result<Case, Box<CaseProblem>> {
    let unreadable = |cause: String| {
        Box::new(CaseProblem::Unreadable {
            path: path.to_owned(),
            cause,
        })
    };
    let about = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if !about.is_file() {
        return Err(unreadable("it is no regular file".to_owned()));
    }
    let size = about.len();
    if size > LARGEST {
        return Err(unreadable(format!(
            "it has {size} bytes, and a case at most {LARGEST}"
        )));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    parse(&path.display().to_string(), &text)
}

/// Reads and checks the text of a case file; `file` names it in errors.
///
/// # Errors
/// As [`load`].
pub fn parse(file: &str, text: &str) -> Result<Case, Box<CaseProblem>> {
    let case: Case = toml::from_str(text).map_err(|error| {
        let what = error.message().trim().to_owned();
        let help = remedy(&what);
        wrong(
            file,
            text,
            error.span().map_or(0, |span| span.start),
            &what,
            help,
        )
    })?;
    match validate::faults(&case).into_iter().next() {
        None => Ok(case),
        Some(Fault { near, what, help }) => {
            let (at, _) = near.iter().fold((0, 0), |(at, behind), mark| {
                let found = text[behind..].find(mark.as_str());
                found.map_or((at, behind), |found| {
                    (behind + found, behind + found + mark.len())
                })
            });
            // A mark may begin with the line break before its line.
            let at = at + text[at..].bytes().take_while(|byte| *byte == b'\n').count();
            Err(wrong(file, text, at, &what, Some(help)))
        }
    }
}

fn wrong(file: &str, text: &str, at: usize, what: &str, help: Option<String>) -> Box<CaseProblem> {
    let at = at.min(text.len());
    let rest = text[at..].find('\n').unwrap_or(text.len() - at);
    Box::new(CaseProblem::Wrong {
        file: file.to_owned(),
        line: 1 + text[..at].matches('\n').count(),
        what: what.to_owned(),
        help,
        source_code: NamedSource::new(file, text.to_owned()),
        at: SourceSpan::from((at, rest)),
    })
}

/// What to do about a message of the parser.
fn remedy(message: &str) -> Option<String> {
    if message.starts_with("unknown ") {
        return nearest_key(message);
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return Some(format!("add the key {name} to this table"));
    }
    if message.starts_with("invalid value") || message.starts_with("invalid type") {
        let what = "`pi-bench schema` says what may stand under each key; times are whole milliseconds, 0 or more";
        return Some(what.to_owned());
    }
    Some("a case is a TOML file; `pi-bench list` names some that are right".to_owned())
}

/// From serde's list of known names, the one nearest to the unknown.
fn nearest_key(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    let known: Vec<&str> = names.collect();
    Some(nearest(wrong, &known))
}

/// The known name that is nearest to a wrong one, as a remedy; all of them when none is near.
pub(super) fn nearest(wrong: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(wrong.len()) / 2);
    match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

//! What came of each case in each version of Pi when it was last compared: the file `matrix.json`, which
//! `pi-bench conform --write-matrix` keeps and from which the README shows its table.
//!
//! A test run compares with one version only. The file names its cases, and [`Matrix::missing`] and
//! [`Matrix::complaints`] say which are not measured and which cells nothing explains; whether a cell is still true only a
//! new measurement says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fake_pi::Version;
use serde::{Deserialize, Serialize};

use crate::suite::{Conformed, Named};

/// What came of one case in one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// Both hosts told the same, and what must hold held on both.
    Equal,
    /// Both hosts told the same, in a version in which the case need not hold.
    Alike,
    /// The real Pi of this version does not play it.
    NotPlayed,
    /// The hosts differ.
    Different,
    /// It did not hold, or did not come to its end.
    Failed,
}

impl Cell {
    /// Of a comparison; none was made of what was not played.
    pub fn of(outcome: Option<&Conformed>) -> Self {
        match outcome {
            None => Self::NotPlayed,
            Some(outcome) if outcome.equal() && outcome.judged => Self::Equal,
            Some(outcome) if outcome.equal() => Self::Alike,
            Some(outcome) if !outcome.differences.is_empty() => Self::Different,
            Some(_) => Self::Failed,
        }
    }

    /// As it has to be.
    pub fn due(named: &Named, version: Version) -> Self {
        let case = &named.case;
        match (case.is_played_on(version), case.holds_on(version)) {
            (false, _) => Self::NotPlayed,
            (true, true) => Self::Equal,
            (true, false) => Self::Alike,
        }
    }

    /// The word of a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Alike => "alike",
            Self::NotPlayed => "not played",
            Self::Different => "different",
            Self::Failed => "failed",
        }
    }
}

/// Rows by the name of their case, each with a cell for every version that it was compared in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Matrix(pub BTreeMap<String, BTreeMap<String, Cell>>);

/// The file in this repository.
pub fn own_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix.json")
}

impl Matrix {
    /// Reads the file; one that is not there is empty.
    ///
    /// # Errors
    /// When it cannot be read, or is no matrix.
    pub fn read(path: &Path) -> io::Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Ok(serde_json::from_str(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes the file, a case a line, so that two branches that measured other cases merge.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = String::from("{\n");
        for (index, (name, row)) in self.0.iter().enumerate() {
            let comma = if index + 1 == self.0.len() { "" } else { "," };
            let (name, row) = (serde_json::to_string(name)?, serde_json::to_string(row)?);
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name}: {row}{comma}");
        }
        text.push_str("}\n");
        fs::write(path, text)
    }

    /// Takes up what came of some cases in one version.
    pub fn take_up(&mut self, version: Version, outcomes: &[(&Named, Option<Conformed>)]) {
        for (named, outcome) in outcomes {
            let row = self.0.entry(named.name.clone()).or_default();
            row.insert(version.to_string(), Cell::of(outcome.as_ref()));
        }
    }

    /// Forgets cases that are no more.
    pub fn keep_only(&mut self, cases: &[Named]) {
        self.0
            .retain(|name, _| cases.iter().any(|named| named.name == *name));
    }

    /// The cases that were not compared in every version yet.
    pub fn missing<'a>(&self, cases: &'a [Named]) -> Vec<&'a str> {
        let whole = |named: &&Named| {
            let row = self.0.get(&named.name);
            row.is_some_and(|row| {
                Version::ALL
                    .iter()
                    .all(|version| row.contains_key(version.as_str()))
            })
        };
        let missing = cases.iter().filter(|named| !whole(named));
        missing.map(|named| named.name.as_str()).collect()
    }

    /// What nothing explains: cells that are not as the case says, and rows of cases that are no more.
    pub fn complaints(&self, cases: &[Named]) -> Vec<String> {
        let mut complaints = Vec::new();
        for (name, row) in &self.0 {
            let Some(named) = cases.iter().find(|named| named.name == *name) else {
                complaints.push(format!("{name}: there is no such case"));
                continue;
            };
            for (version, &cell) in row {
                let due = version.parse().map(|version| Cell::due(named, version));
                if due != Ok(cell) {
                    let due = due.map_or("no version that is compared", Cell::word);
                    let cell = cell.word();
                    complaints.push(format!("{name} on {version}: {cell}, and due is {due}"));
                }
            }
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn a_cell_that_is_not_as_its_case_says_and_a_case_that_is_gone_are_complained_of() {
        let cases = suite::read(&suite::own_cases(), &["host/".to_owned()]).expect("cases");
        let mut matrix = Matrix::default();
        assert_eq!(matrix.missing(&cases).len(), cases.len());
        for named in &cases {
            let row = Version::ALL.map(|version| (version.to_string(), Cell::due(named, version)));
            matrix.0.insert(named.name.clone(), row.into());
        }
        assert!(matrix.missing(&cases).is_empty());
        assert!(matrix.complaints(&cases).is_empty());

        let mut other = matrix.clone();
        let row = other.0.get_mut("host/steered").expect("a row");
        row.insert("1.3.0".into(), Cell::Different);
        row.insert("1.2.0".into(), Cell::Equal);
        row.remove("1.6.0");
        other.0.insert("host/gone".into(), BTreeMap::new());
        assert_eq!(other.missing(&cases), ["host/steered"]);
        assert_eq!(
            other.complaints(&cases),
            [
                "host/gone: there is no such case",
                "host/steered on 1.2.0: equal, and due is no version that is compared",
                "host/steered on 1.3.0: different, and due is equal",
            ]
        );
    }

    #[test]
    fn what_is_written_is_read_again_a_case_a_line() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("matrix.json");
        assert_eq!(Matrix::read(&path).expect("absent"), Matrix::default());
        let row = BTreeMap::from([("1.6.0".to_owned(), Cell::NotPlayed)]);
        let rows = ["a/one", "a/two"].map(|name| (name.to_owned(), row.clone()));
        let matrix = Matrix(rows.into());
        matrix.write(&path).expect("written");
        assert_eq!(Matrix::read(&path).expect("read"), matrix);
        let text = fs::read_to_string(&path).expect("text");
        assert_eq!(text.lines().count(), 4, "{text}");
        fs::write(&path, "[]").expect("written");
        assert!(Matrix::read(&path).is_err());
    }
}

//! What is wrong with a case file, with the place and the remedy.

use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

/// What is wrong with a case file.
#[derive(Debug, Error, Diagnostic)]
pub enum CaseProblem {
    /// The file cannot be read, or is too large to be a case.
    #[error("cannot read {path}: {cause}")]
    #[diagnostic(help("name a case file by its path; a case is a TOML file in UTF-8"))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The file is no case.
    #[error("{file}:{line}: {what}")]
    Wrong {
        /// The file's name.
        file: String,
        /// The line, the first is 1.
        line: usize,
        /// What is wrong.
        what: String,
        /// The remedy, such as the nearest right key.
        #[help]
        help: Option<String>,
        /// The file's text.
        #[source_code]
        source_code: NamedSource<String>,
        /// The place in it.
        #[label("here")]
        at: SourceSpan,
    },
}

impl CaseProblem {
    /// The line that is wrong, where there is one; the first is 1.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Wrong { line, .. } => Some(*line),
            Self::Unreadable { .. } => None,
        }
    }
}

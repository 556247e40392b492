//! A version of Pi that is safe to name a folder and to hand to npm.

use std::fmt;

use super::SetupError;
use super::locked::{LOCKED, Locked};

/// The version that `scenarios/real-pi/package.json` and its lock pin, and that every call means by default.
pub const PINNED: &str = "1.6.0";

/// Longer versions than this are refused unread.
const LONGEST: usize = 64;

/// A semantic version without build metadata, hence made of digits, ASCII letters, dots and hyphens only, starting with
/// a digit: neither a path nor an option nor an npm tag, range or address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PiVersion(String);

impl PiVersion {
    /// # Errors
    /// [`SetupError::VersionInvalid`] for everything that is no such version, `latest` and `^1.6.0` among it: a trace
    /// names the version that it was recorded on, so it has to be one.
    pub fn parse(given: &str) -> Result<Self, SetupError> {
        let version = (given.len() <= LONGEST)
            .then(|| semver::Version::parse(given).ok())
            .flatten()
            .filter(|version| version.build.is_empty());
        match version {
            Some(version) => Ok(Self(version.to_string())),
            None => Err(SetupError::VersionInvalid {
                given: given
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(LONGEST)
                    .collect(),
            }),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The manifest and lock file that the repository has for this version.
    pub fn locked(&self) -> Option<&'static Locked> {
        LOCKED.iter().find(|locked| locked.version == self.0)
    }
}

impl fmt::Display for PiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_version_is_taken_as_it_is() {
        for given in ["1.6.0", "0.0.1", "2.0.0-rc.1", "10.20.30-alpha-x.7"] {
            let version = PiVersion::parse(given).map(|version| version.to_string());
            assert_eq!(version.ok().as_deref(), Some(given));
        }
    }

    #[test]
    fn what_could_mean_something_else_to_npm_or_to_a_path_is_refused() {
        let long = format!("1.6.0-{}", "a".repeat(LONGEST));
        for given in [
            "",
            "1",
            "1.6",
            "v1.6.0",
            "latest",
            "^1.6.0",
            "1.6.x",
            "*",
            "1.6.0 ",
            " 1.6.0",
            "1.6.0\n",
            "-g",
            "--help",
            "../1.6.0",
            "1.6.0/..",
            "1.6.0-..",
            "1.6.0-a/b",
            "file:/etc",
            "npm:left-pad@1.0.0",
            "1.6.0;ls",
            "$(ls)",
            "1.6.0+build",
            "01.6.0",
            "1.6.0-é",
            &long,
        ] {
            let refused = PiVersion::parse(given);
            assert!(
                matches!(refused, Err(SetupError::VersionInvalid { .. })),
                "{given:?} gave {refused:?}"
            );
        }
    }

    #[test]
    fn the_refusal_quotes_no_control_characters_and_not_everything() {
        let given = format!("\u{1b}[31m{}", "9".repeat(5000));
        let Err(SetupError::VersionInvalid { given }) = PiVersion::parse(&given) else {
            panic!("refused");
        };
        assert_eq!(given.chars().count(), LONGEST);
        assert!(given.starts_with("[31m9"));
    }
}

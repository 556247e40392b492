//! From which version of Pi on a case holds.

use fake_pi::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Case;

/// The version of Pi from which on a case holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// One of the versions that are modelled.
    pub version: String,
    /// What older versions do instead.
    pub why: String,
    /// What is done with the case in them.
    #[serde(default)]
    pub before: Before,
}

/// What is done with a case in versions in which it need not hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// Both hosts play it and must tell the same; what the case expects is not asked.
    #[default]
    Compared,
    /// Nothing: what the real Pi does there depends on chance, or is not modelled; the reason says which.
    NotPlayed,
}

impl Case {
    /// Whether what must hold is asked in this version of Pi.
    pub fn holds_on(&self, version: Version) -> bool {
        let first = self.since.as_ref();
        let first = first.and_then(|since| since.version.parse::<Version>().ok());
        first.is_none_or(|first| version >= first)
    }

    /// Whether the real Pi of this version plays it.
    pub fn is_played_on(&self, version: Version) -> bool {
        let before = self.since.as_ref().map(|since| since.before);
        let chance = before == Some(Before::NotPlayed) && !self.holds_on(version);
        self.sim_only.is_none() && !chance
    }
}

//! The user's settings, as far as they are modelled (Pi's settings documentation).

use std::time::Duration;

/// What the user set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// When a session is compacted, and how much of it is kept.
    pub compaction: CompactionSettings,
    /// How failed requests are repeated.
    pub retry: RetrySettings,
    /// Whether one turn takes all waiting steering messages, and not only the first (`steeringMode: "all"`).
    pub steer_all: bool,
    /// Whether one turn takes all waiting follow-ups (`followUpMode: "all"`).
    pub follow_up_all: bool,
}

/// When a session is compacted, and how much of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// How many tokens of the model's window must stay free, lest the session is compacted.
    pub reserve_tokens: u64,
    /// About how many tokens of the latest messages are kept as they are.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
        }
    }
}

/// How failed requests are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Whether they are.
    pub enabled: bool,
    /// How often.
    pub max_retries: u32,
    /// The wait before the first repetition; each further one doubles it.
    pub base_delay: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
        }
    }
}

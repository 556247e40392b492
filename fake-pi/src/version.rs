//! The versions of Pi that are modelled, and in what the older ones differ.
//!
//! What is written elsewhere in this crate without a word about versions is what all of them do. Where one does other
//! than the newest, the place asks [`Version::does`] for a [`Difference`] by its name, and that name says from what it
//! is known.

use std::fmt;
use std::str::FromStr;

/// A version of Pi that is modelled, in the order of their release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.0.3.
    V1_0_3,
    /// 1.3.0.
    V1_3_0,
    /// 1.4.0.
    V1_4_0,
    /// 1.5.2.
    V1_5_2,
    /// 1.6.0, the newest.
    #[default]
    V1_6_0,
}

impl Version {
    /// All of them, the oldest first.
    pub const ALL: [Self; 5] = [
        Self::V1_0_3,
        Self::V1_3_0,
        Self::V1_4_0,
        Self::V1_5_2,
        Self::V1_6_0,
    ];

    /// The version as Pi says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_0_3 => "1.0.3",
            Self::V1_3_0 => "1.3.0",
            Self::V1_4_0 => "1.4.0",
            Self::V1_5_2 => "1.5.2",
            Self::V1_6_0 => "1.6.0",
        }
    }

    /// Whether this version has the difference.
    pub fn does(self, difference: Difference) -> bool {
        self <= difference.last()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A version that is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotModelled;

impl fmt::Display for NotModelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("modelled are")?;
        for (index, version) in Version::ALL.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {version}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NotModelled {}

impl FromStr for Version {
    type Err = NotModelled;

    fn from_str(text: &str) -> Result<Self, NotModelled> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or(NotModelled)
    }
}

/// Something that older versions do and newer ones do not.
///
/// Each was seen on the real Pi: the case named with it is not equal on both hosts without it. Not modelled is what the
/// real Pi does by chance: up to 1.4.0 the end of stdin does not wait for the run, and up to 1.5.2 a session that is
/// replaced while its hook runs starts two servers of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A replaced session runs `session_start` and `resources_discover` twice on the new instance, in RPC mode
    /// (pi-host.md 14; case `host/old-handle`); the terminal does not (case `modes/terminal`).
    StartsReplacedTwice,
    /// An abort while a batch is prepared leaves the calls after the one in hand without events and without a result;
    /// the next request fills them in (pi-host.md 14; case `abort/batch-being-prepared`).
    ForgetsCallsAfterAbort,
    /// The answer that is made up where a run was aborted before its request, such as after an aborted batch, ends as an
    /// error, and so do its turn and its run (pi-host.md 14; case `abort/batch-being-prepared`).
    EndsAbortedBatchAsError,
    /// `before_agent_start` does not say what starts the run (pi-host.md 14; case `host/steered`).
    OmitsMessageType,
    /// `agent_settled` does not say whether the run was aborted (pi-host.md 14; case `host/steered`).
    OmitsAborted,
    /// Neither `tool_execution_end` nor a result's message says how long the tool ran (pi-host.md 14; case `host/steered`).
    OmitsDurations,
    /// A call to a tool that its server withdrew in the same turn still reaches the server (pi-host.md 14; case
    /// `host/withdrawn-tool`).
    CallsWithdrawnTools,
    /// A run that an extension's message starts has no `before_agent_start`, and so no system text until a prompt comes
    /// (pi-host.md 14; case `readiness/started-by-a-message`).
    StartsOnMessagesUntold,
    /// To the client, `message_start` of an answer that begins with a text shows that text already. Seen in every case
    /// whose answers have one, such as `host/steered`; the extensions see an empty answer there in every version.
    ShowsTextAtStart,
    /// A request for a summary allows fewer tokens than other requests: 4,096 for a branch, else a share of those that are
    /// kept free for it (case `history/compaction`; only the number was seen to differ).
    AsksForShortSummaries,
    /// A session is idle while `before_agent_start` handlers run: an abort does nothing, and a prompt prepares a run of
    /// its own, which then finds the session busy and settles without a request (case `abort/held-first-turn`).
    IsIdleWhilePreparing,
    /// Pi's own tools but `bash` give no structured content (cases `host/steered` and `hook/cold`).
    OmitsOwnStructuredContent,
}

impl Difference {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::StartsReplacedTwice,
        Self::ForgetsCallsAfterAbort,
        Self::EndsAbortedBatchAsError,
        Self::OmitsMessageType,
        Self::OmitsAborted,
        Self::OmitsDurations,
        Self::CallsWithdrawnTools,
        Self::StartsOnMessagesUntold,
        Self::ShowsTextAtStart,
        Self::AsksForShortSummaries,
        Self::IsIdleWhilePreparing,
        Self::OmitsOwnStructuredContent,
    ];

    /// The newest version that does it.
    pub fn last(self) -> Version {
        match self {
            Self::StartsReplacedTwice | Self::ForgetsCallsAfterAbort | Self::ShowsTextAtStart => {
                Version::V1_5_2
            }
            Self::EndsAbortedBatchAsError => Version::V1_4_0,
            Self::AsksForShortSummaries => Version::V1_3_0,
            Self::OmitsMessageType
            | Self::OmitsAborted
            | Self::OmitsDurations
            | Self::CallsWithdrawnTools
            | Self::StartsOnMessagesUntold
            | Self::IsIdleWhilePreparing
            | Self::OmitsOwnStructuredContent => Version::V1_0_3,
        }
    }
}

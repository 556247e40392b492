//! Mistakes that the host makes on purpose.
//!
//! What compares this host with the real Pi must notice when this host is wrong. The only way to know is to be wrong: a
//! host with a [`Fault`] makes one mistake, each of a kind that a change of this crate could make by accident. Ordinary
//! hosts have none.

use crate::version::Difference;

/// One mistake. Each says what the host then does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Emits the first `turn_start` before `agent_start`.
    SwapsFirstEvents,
    /// Leaves `isError` out of `tool_execution_end`.
    DropsAMember,
    /// Says of an unknown tool that it is unknown, in other words than Pi's.
    ChangesAnErrorText,
    /// Emits the results of a batch last to first.
    ReordersResults,
    /// Starts the first run without waiting for servers with declared tools.
    SkipsTheFirstWait,
    /// Delivers a steering message when the agent would stop, as a follow-up.
    SteersLate,
    /// Loses the structured content of every result.
    LosesStructuredContent,
    /// Lets `pi` and `ctx` of a replaced session go on working.
    KeepsOldInstances,
    /// Ends a session without stopping its servers.
    LeavesServersRunning,
    /// Leaves messages that are not displayed out of requests.
    DropsHiddenMessages,
    /// Declares each tool with a schema that allows one property only.
    ChangesSchemas,
    /// Runs the calls of each batch one by one.
    RunsBatchesInSequence,
    /// Gives an aborted answer without the text that says so.
    ForgetsTheAbortText,
    /// Exits with 1.
    ExitsWithOne,
    /// Does not hear that a server's tools changed.
    IgnoresListChanged,
    /// Calls handlers last to first.
    ReversesHandlers,
    /// Tells nobody that an extension failed.
    HidesExtensionErrors,
    /// Applies no change that a `tool_result` handler asks for.
    IgnoresPatches,
    /// Passes a call on with the arguments that the model gave, not as a `tool_call` handler left them.
    RunsOriginalArguments,
    /// Lets a call run although a `tool_call` handler blocked it.
    IgnoresBlocks,
    /// Begins a fork one entry too late, with the prompt that it was to leave out.
    ForksTooLate,
    /// Says that every run settled by itself.
    HidesAborts,
    /// What a difference of older versions says, in a version that has it no longer.
    Older(Difference),
}

impl Fault {
    /// All that are not a difference of older versions.
    pub const OWN: [Self; 22] = [
        Self::SwapsFirstEvents,
        Self::DropsAMember,
        Self::ChangesAnErrorText,
        Self::ReordersResults,
        Self::SkipsTheFirstWait,
        Self::SteersLate,
        Self::LosesStructuredContent,
        Self::KeepsOldInstances,
        Self::LeavesServersRunning,
        Self::DropsHiddenMessages,
        Self::ChangesSchemas,
        Self::RunsBatchesInSequence,
        Self::ForgetsTheAbortText,
        Self::ExitsWithOne,
        Self::IgnoresListChanged,
        Self::ReversesHandlers,
        Self::HidesExtensionErrors,
        Self::IgnoresPatches,
        Self::RunsOriginalArguments,
        Self::IgnoresBlocks,
        Self::ForksTooLate,
        Self::HidesAborts,
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::OWN
            .into_iter()
            .chain(Difference::ALL.into_iter().map(Self::Older))
    }

    /// The mistake in words, such as `swaps first events`.
    pub fn words(self) -> String {
        let name = match self {
            Self::Older(difference) => format!("{difference:?}"),
            own => format!("{own:?}"),
        };
        let mut words = String::new();
        for letter in name.chars() {
            if letter.is_ascii_uppercase() && !words.is_empty() {
                words.push(' ');
            }
            words.push(letter.to_ascii_lowercase());
        }
        match self {
            Self::Older(difference) => format!("{words}, as until {}", difference.last()),
            _ => words,
        }
    }
}

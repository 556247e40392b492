//! What the person does, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that the person does. Exactly one of `prompt`, `abort` and `new_session` is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Sends a prompt.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Aborts what runs.
    #[serde(default)]
    pub abort: bool,
    /// Starts a new session.
    #[serde(default)]
    pub new_session: bool,
    /// What the step waits for.
    #[serde(default)]
    pub when: When,
    /// How long it waits after that, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
}

/// What a step waits for.
///
/// The first step waits until the host takes commands, whose answer is the first thing that a started Pi gives; with
/// `sent` it does not, and its command lies in the pipe while Pi starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The step before it was answered, and no run is under way.
    #[default]
    Settled,
    /// The step before it was answered.
    Answered,
    /// The step before it was sent.
    Sent,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed<'a> {
    /// Sends a prompt.
    Prompt(&'a str),
    /// Aborts what runs.
    Abort,
    /// Starts a new session.
    NewSession,
}

impl Step {
    /// What the step does; `None` when it is not exactly one thing.
    pub fn deed(&self) -> Option<Deed<'_>> {
        match (&self.prompt, self.abort, self.new_session) {
            (Some(text), false, false) => Some(Deed::Prompt(text)),
            (None, true, false) => Some(Deed::Abort),
            (None, false, true) => Some(Deed::NewSession),
            _ => None,
        }
    }
}

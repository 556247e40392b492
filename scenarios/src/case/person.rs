//! What the person does, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tools::Image;
use crate::trace::Lane;

/// One thing that the person does. Exactly one of `prompt`, `steer`, `follow_up`, `clear_queue`, `abort`, `compact`,
/// `navigate`, `new_session`, `reload`, `resume`, `resume_stored`, `fork`, `clone_session`, `bash`, `model`, `answer`,
/// `quit` and `signal` is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Sends a prompt, or calls a slash command.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Where a prompt is queued while a run is under way; without it Pi refuses such a prompt.
    #[serde(default)]
    pub streaming: Option<Streaming>,
    /// Queues a prompt behind the tool results of the turn, by Pi's own command for it; unlike a prompt with `streaming`
    /// it starts no run when none is under way.
    #[serde(default)]
    pub steer: Option<String>,
    /// Queues a prompt for when the agent would stop, by Pi's own command for it.
    #[serde(default)]
    pub follow_up: Option<String>,
    /// Images beside the text of `prompt`, `steer` or `follow_up`.
    #[serde(default)]
    pub images: Vec<Image>,
    /// Takes back all prompts that wait.
    #[serde(default)]
    pub clear_queue: bool,
    /// Aborts what runs.
    #[serde(default)]
    pub abort: bool,
    /// Compacts the session.
    #[serde(default)]
    pub compact: Option<Compact>,
    /// Goes to another entry of the session's tree, by a command of a recording extension.
    #[serde(default)]
    pub navigate: Option<Navigate>,
    /// Starts a new session.
    #[serde(default)]
    pub new_session: bool,
    /// Loads all extensions afresh in the same session, by a command of a recording extension.
    #[serde(default)]
    pub reload: bool,
    /// Goes back to a session of this play, by its number; the first is 1.
    #[serde(default)]
    pub resume: Option<usize>,
    /// Goes to a session that was on disk before this play, by its name under `stored`; a name that is not there is that
    /// of a file that is not.
    #[serde(default)]
    pub resume_stored: Option<String>,
    /// Forks the session before a prompt of it, by its number; the first is 1.
    #[serde(default)]
    pub fork: Option<usize>,
    /// Makes a copy of the session as it is, and goes on in that.
    #[serde(default)]
    pub clone_session: bool,
    /// Runs a shell command of the person's own (`!` in the terminal).
    #[serde(default)]
    pub bash: Option<String>,
    /// Chooses the model of this id; there is `other` besides `scripted`.
    #[serde(default)]
    pub model: Option<String>,
    /// Answers the question of an extension that was asked last: true or false, a text, or nothing (`{}`) to wave it away.
    #[serde(default)]
    pub answer: Option<Value>,
    /// Leaves, whatever is under way; the last step. Without it the person leaves when all has settled.
    #[serde(default)]
    pub quit: bool,
    /// Sends a signal to the host; nothing but further signals follows.
    #[serde(default)]
    pub signal: Option<Signal>,
    /// What the step waits for.
    #[serde(default)]
    pub when: When,
    /// An event that it waits for after that: a time that is long enough on one machine is not on another.
    #[serde(default)]
    pub seen: Option<Seen>,
    /// How long it waits after that, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
}

/// An event of the trace so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The lane.
    pub lane: Lane,
    /// The event's name.
    pub event: String,
    /// Which one; the first is 1.
    pub nth: usize,
}

/// How a session is compacted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Compact {
    /// What the summary is to look at.
    pub focus: Option<String>,
}

/// A way through the session's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Navigate {
    /// The place of the entry in the session's history, as the trace shows it; the first is 1. For a prompt or a custom
    /// message the session goes to what is before it.
    pub entry: usize,
    /// Whether the model is to sum up the branch that is left.
    #[serde(default)]
    pub summarize: bool,
    /// A label for the summary, or for the entry when there is none.
    #[serde(default)]
    pub label: Option<String>,
}

/// A signal (pi-host.md 4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Signal {
    /// Asks a process to end.
    #[serde(rename = "SIGTERM")]
    Term,
    /// The terminal is gone.
    #[serde(rename = "SIGHUP")]
    Hup,
    /// Ctrl-C of a terminal that is not in raw mode.
    #[serde(rename = "SIGINT")]
    Int,
}

/// Where a prompt is queued while a run is under way (pi-host.md 1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Streaming {
    /// Behind the tool results of the turn.
    Steer,
    /// When the agent would stop.
    FollowUp,
}

impl Streaming {
    /// Pi's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::FollowUp => "followUp",
        }
    }
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
    /// Queues a prompt by the command for it.
    Queue(Streaming, &'a str),
    /// Takes back all prompts that wait.
    ClearQueue,
    /// Aborts what runs.
    Abort,
    /// Compacts the session.
    Compact(&'a Compact),
    /// Goes to another entry of the session's tree.
    Navigate(&'a Navigate),
    /// Starts a new session.
    NewSession,
    /// Loads all extensions afresh.
    Reload,
    /// Goes back to the session of this number.
    Resume(usize),
    /// Goes to the session of this name, which was there before the play.
    ResumeStored(&'a str),
    /// Forks before the prompt of this number.
    Fork(usize),
    /// Makes a copy of the session.
    Clone,
    /// Runs a shell command.
    Bash(&'a str),
    /// Chooses a model.
    Model(&'a str),
    /// Answers a question.
    Answer(&'a Value),
    /// Leaves.
    Quit,
    /// Sends a signal to the host.
    Signal(Signal),
}

impl Step {
    /// What the step does; `None` when it is not exactly one thing.
    pub fn deed(&self) -> Option<Deed<'_>> {
        let mut deeds = [
            self.prompt.as_deref().map(Deed::Prompt),
            self.steer
                .as_deref()
                .map(|text| Deed::Queue(Streaming::Steer, text)),
            self.follow_up
                .as_deref()
                .map(|text| Deed::Queue(Streaming::FollowUp, text)),
            self.clear_queue.then_some(Deed::ClearQueue),
            self.abort.then_some(Deed::Abort),
            self.compact.as_ref().map(Deed::Compact),
            self.navigate.as_ref().map(Deed::Navigate),
            self.new_session.then_some(Deed::NewSession),
            self.reload.then_some(Deed::Reload),
            self.resume.map(Deed::Resume),
            self.resume_stored.as_deref().map(Deed::ResumeStored),
            self.fork.map(Deed::Fork),
            self.clone_session.then_some(Deed::Clone),
            self.bash.as_deref().map(Deed::Bash),
            self.model.as_deref().map(Deed::Model),
            self.answer.as_ref().map(Deed::Answer),
            self.quit.then_some(Deed::Quit),
            self.signal.map(Deed::Signal),
        ]
        .into_iter()
        .flatten();
        let deed = deeds.next();
        deed.filter(|_| deeds.next().is_none())
    }
}

//! Extensions beside ours, and the few scripted things that they do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tools::OtherTool;

/// An extension beside ours that does a few scripted things.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherExtension {
    /// Its name; it becomes its file name.
    pub name: String,
    /// Whether Pi loads it before or after ours.
    #[serde(default)]
    pub place: Place,
    /// How long its factory takes, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// The message of the error that its factory throws: Pi does not start then (pi-host.md 1.1).
    #[serde(default)]
    pub fails: Option<String>,
    /// MCP servers that it registers in its factory, by name.
    #[serde(default)]
    pub registers: BTreeMap<String, Value>,
    /// Tools that it registers in its factory.
    #[serde(default)]
    pub tools: Vec<OtherTool>,
    /// Slash commands that it offers. One named `mcp` replaces Pi's own MCP support.
    #[serde(default)]
    pub commands: Vec<OtherCommand>,
    /// What it does on which event.
    #[serde(default)]
    pub on: Vec<Handler>,
}

/// Where Pi loads another extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Its handlers run before ours.
    #[default]
    Before,
    /// Its handlers run after ours.
    After,
}

/// A slash command of another extension.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub does: Deeds,
}

/// What another extension does on an event: what [`Deeds`] says, then it throws or returns.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Pi's name of the event, such as `session_start` or `tool_call`.
    pub event: String,
    /// Only events with these members, such as `{ toolCallId = "c1" }` or `{ reason = "startup" }`.
    #[serde(default)]
    pub when: Map<String, Value>,
    /// Only the first so many of these events; without it all.
    #[serde(default)]
    pub times: Option<usize>,
    /// How long the handler stays pending first, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// Whether it never settles (pi-host.md 4.9).
    #[serde(default)]
    pub hangs: bool,
    /// Values that it puts in place into the event's objects, by path: `input.path`, `details.note`.
    #[serde(default)]
    pub sets: BTreeMap<String, Value>,
    /// What it does besides.
    #[serde(default)]
    pub does: Deeds,
    /// Records as event `hooks` how many hook children of the process are there, once that many are or a second has
    /// passed. What was left behind by a hook that has answered is none.
    #[serde(default)]
    pub counts_hooks: Option<usize>,
    /// The message of the error that it throws.
    #[serde(default)]
    pub throws: Option<String>,
    /// What it returns. A text in it that is all of the form `<event PATH>` stands for what the event has at that path,
    /// such as `<event messageEntryId>` or `<event preparation.firstKeptEntryId>`.
    #[serde(default)]
    pub returns: Option<Value>,
}

/// What another extension asks of Pi, in this order.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deeds {
    /// MCP servers that it registers, by name.
    pub registers: BTreeMap<String, Value>,
    /// Entries that it appends to the session's history; the model never sees them.
    pub appends: Vec<Appended>,
    /// Custom messages that it sends.
    pub sends: Vec<Message>,
    /// Prompts that it sends in the person's name.
    pub says: Vec<Said>,
    /// Whether it aborts what runs.
    pub aborts: bool,
    /// A handle of the instance before this one that it uses: that throws (pi-host.md 6). The first instance has none.
    pub uses_old: Option<OldHandle>,
    /// What it asks the person, one question after the other. It tells each answer by a notice.
    pub asks: Vec<Question>,
    /// Whether it asks Pi to leave (`ctx.shutdown()`).
    pub shuts_down: bool,
}

/// An entry of an extension in the session's history.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// Its kind.
    pub custom_type: String,
    /// What it holds.
    #[serde(default)]
    pub data: Option<Value>,
}

/// A handle of an instance that was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OldHandle {
    /// What the factory was given, by `getAllTools()`.
    Pi,
    /// The context of its last handler, by `cwd`.
    Ctx,
}

/// A question of an extension (`ctx.ui`).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What kind of answer it wants.
    pub kind: QuestionKind,
    /// The question.
    pub title: String,
    /// The explanation of one that is confirmed, or what stands in an empty line.
    #[serde(default)]
    pub text: Option<String>,
    /// The choices of one that is selected from.
    #[serde(default)]
    pub options: Vec<String>,
    /// After how long it goes on without an answer, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

/// The kinds of questions that RPC can pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Yes or no.
    Confirm,
    /// One of some choices.
    Select,
    /// A line of text.
    Input,
}

/// A custom message and how it is delivered (pi-host.md 7).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Its kind.
    pub custom_type: String,
    /// Its text.
    pub content: String,
    /// Whether the terminal shows it; the model reads it either way.
    #[serde(default)]
    pub display: bool,
    /// When it is delivered, where the extension says so.
    #[serde(default)]
    pub deliver_as: Option<DeliverAs>,
    /// Whether it starts a run when none is under way; without it the extension does not say.
    #[serde(default)]
    pub trigger_turn: Option<bool>,
}

/// A prompt in the person's name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Its text.
    pub text: String,
    /// Where it is queued while a run is under way; Pi refuses it then without. `next_turn` is for messages only.
    #[serde(default)]
    pub deliver_as: Option<DeliverAs>,
}

/// When a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliverAs {
    /// Behind the tool results of the turn.
    Steer,
    /// When the agent would stop.
    FollowUp,
    /// With the next prompt.
    NextTurn,
}

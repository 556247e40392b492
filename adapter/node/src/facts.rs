//! The facts of Pi's events, as JavaScript writes them.
//!
//! The names are Pi's own where Pi has one. A member that is missing or `null` reads as its empty value: the host may
//! be older or newer than the one that this was written for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use adapter::{
    CommandFact, Environment, SessionFacts, ToolCallFacts, ToolFact, ToolResultFacts, TurnFacts,
    UserBashFacts,
};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The process that loaded the extension.
#[derive(Deserialize)]
pub struct ProcessText {
    vars: BTreeMap<String, String>,
    home: Option<PathBuf>,
    cwd: Option<PathBuf>,
}

impl From<ProcessText> for Environment {
    fn from(text: ProcessText) -> Self {
        Self {
            vars: text.vars,
            home: text.home.filter(|home| home.is_absolute()),
            cwd: text.cwd.filter(|cwd| cwd.is_absolute()),
        }
    }
}

/// `session_start`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionText {
    cwd: PathBuf,
    session_id: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    has_ui: bool,
    #[serde(default)]
    commands: Vec<CommandText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandText {
    name: String,
    #[serde(default)]
    source_path: String,
}

impl From<SessionText> for SessionFacts {
    fn from(text: SessionText) -> Self {
        Self {
            cwd: text.cwd,
            session_id: text.session_id,
            reason: text.reason,
            has_ui: text.has_ui,
            commands: text
                .commands
                .into_iter()
                .map(|command| CommandFact {
                    name: command.name,
                    source_path: command.source_path,
                })
                .collect(),
        }
    }
}

/// `before_agent_start`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnText {
    session_id: String,
    cwd: PathBuf,
    results: Option<usize>,
}

impl TurnText {
    /// The facts, with the signal where the host gave one.
    pub fn facts(self, abort: Option<CancellationToken>) -> TurnFacts {
        TurnFacts {
            session_id: self.session_id,
            cwd: self.cwd,
            results: self.results,
            abort,
        }
    }
}

/// `user_bash`.
#[derive(Deserialize)]
pub struct UserBashText {
    cwd: PathBuf,
    results: Option<usize>,
}

impl From<UserBashText> for UserBashFacts {
    fn from(text: UserBashText) -> Self {
        Self {
            cwd: text.cwd,
            results: text.results,
        }
    }
}

/// `tool_call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallText {
    id: String,
    name: String,
    #[serde(default)]
    input: Value,
    parent_id: Option<String>,
    cwd: PathBuf,
    session_id: String,
}

impl CallText {
    /// The facts, with the turn's signal.
    pub fn facts(self, abort: Option<CancellationToken>) -> ToolCallFacts {
        ToolCallFacts {
            id: self.id,
            name: self.name,
            input: self.input,
            parent_id: self.parent_id,
            cwd: self.cwd,
            session_id: self.session_id,
            abort,
        }
    }
}

/// `tool_result`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultText {
    id: String,
    /// Absent where another extension put something in its place that is no list (pi-host.md 8).
    pub content: Option<Vec<Value>>,
    pub details: Option<Value>,
    pub structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

impl ResultText {
    /// The facts, with the turn's signal.
    pub fn facts(self, abort: Option<CancellationToken>) -> ToolResultFacts {
        ToolResultFacts {
            id: self.id,
            content: self.content,
            details: self.details,
            structured_content: self.structured_content,
            is_error: self.is_error,
            abort,
        }
    }
}

/// One entry of the answer to "which tools are there".
#[derive(Deserialize)]
pub struct ToolText {
    name: String,
    exposure: Option<String>,
}

impl From<ToolText> for ToolFact {
    fn from(text: ToolText) -> Self {
        Self {
            name: text.name,
            exposure: text.exposure,
        }
    }
}

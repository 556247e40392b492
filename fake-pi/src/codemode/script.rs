//! What a script does, as somebody says who knows: nothing here runs JavaScript.

use serde_json::Value;

/// Says what scripts do.
pub trait Scripts: Send + Sync {
    /// What the script with this source does, its options line included; `None` when that is not known.
    fn read(&self, source: &str) -> Option<Source>;
}

/// Nobody knows any script.
pub(crate) struct NoScripts;

impl Scripts for NoScripts {
    fn read(&self, _: &str) -> Option<Source> {
        None
    }
}

/// What the engine makes of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// It runs, one step after the other.
    Script(Vec<Step>),
    /// It is no JavaScript; the engine says this of it, with the place.
    Broken(String),
}

/// One step of a script. Names are those of variables that calls fill.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Makes a call and awaits it.
    Call(ScriptCall),
    /// Makes calls at once and awaits all of them.
    Together {
        /// The calls, in the order in which they begin.
        calls: Vec<ScriptCall>,
        /// `Promise.allSettled` instead of `Promise.all`: no failure ends it.
        settled: bool,
    },
    /// `text("…")`.
    Print(String),
    /// `text(name)`.
    Show(String),
    /// `console.log("…")`.
    Log(String),
    /// `return { names }`.
    Give(Vec<String>),
    /// Throws; this is what the engine says of the error, with the place.
    Throw(String),
}

/// A call of a tool in a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
    /// The variable that takes the result.
    pub name: Option<String>,
    /// Whether a failure is caught: the variable takes its message then.
    pub catches: bool,
    /// Where the call stands, as the engine writes places: `<file>:<line>:<column>`. It is told of a tool that does not
    /// exist.
    pub at: String,
}

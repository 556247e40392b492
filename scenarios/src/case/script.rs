//! What a script does that the model writes for `codemode`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a script. Exactly one of `options`, `call`, `all`, `settled`, `print`, `show`, `log`, `give`, `throw` and
/// `broken` is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptStep {
    /// What stands in the options line, such as `{ max_output_tokens = 100 }`; the first step only.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Calls this tool and awaits the result.
    #[serde(default)]
    pub call: Option<String>,
    /// The arguments of `call`.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The name under which later steps find the result of `call`.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// Whether a failure of `call` is caught; its result is the error's message then.
    #[serde(default)]
    pub catch: bool,
    /// Makes these calls at once and awaits all of them; the first failure ends it (`Promise.all`).
    #[serde(default)]
    pub all: Vec<ScriptCall>,
    /// Makes these calls at once and awaits all of them, failed or not (`Promise.allSettled`).
    #[serde(default)]
    pub settled: Vec<ScriptCall>,
    /// Prints a text.
    #[serde(default)]
    pub print: Option<String>,
    /// Prints the result of this name.
    #[serde(default)]
    pub show: Option<String>,
    /// Writes a text to the console.
    #[serde(default)]
    pub log: Option<String>,
    /// Returns an object of the results of these names.
    #[serde(default)]
    pub give: Vec<String>,
    /// Throws an error with this message.
    #[serde(default)]
    pub throw: Option<String>,
    /// Puts a line there that is no JavaScript.
    #[serde(default)]
    pub broken: bool,
}

/// One of several calls that a script makes at once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool.
    pub call: String,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The name under which later steps find the result.
    #[serde(default, rename = "as")]
    pub name: Option<String>,
    /// Whether a failure is caught; the result is the error's message then.
    #[serde(default)]
    pub catch: bool,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Act<'a> {
    /// Sets options.
    Options(&'a Map<String, Value>),
    /// Makes a call.
    Call(ScriptCall),
    /// Makes calls at once; whether failures end it not.
    Together(&'a [ScriptCall], bool),
    /// Prints a text.
    Print(&'a str),
    /// Prints a result.
    Show(&'a str),
    /// Writes to the console.
    Log(&'a str),
    /// Returns results.
    Give(&'a [String]),
    /// Throws.
    Throw(&'a str),
    /// Is no JavaScript.
    Broken,
}

impl ScriptStep {
    /// What the step does; `None` when it is not exactly one thing.
    pub fn act(&self) -> Option<Act<'_>> {
        let call = self.call.as_ref().map(|call| {
            Act::Call(ScriptCall {
                call: call.clone(),
                args: self.args.clone(),
                name: self.name.clone(),
                catch: self.catch,
            })
        });
        let options = (!self.options.is_empty()).then_some(Act::Options(&self.options));
        let all = (!self.all.is_empty()).then_some(Act::Together(&self.all, false));
        let settled = (!self.settled.is_empty()).then_some(Act::Together(&self.settled, true));
        let mut acts = [
            options,
            call,
            all,
            settled,
            self.print.as_deref().map(Act::Print),
            self.show.as_deref().map(Act::Show),
            self.log.as_deref().map(Act::Log),
            (!self.give.is_empty()).then_some(Act::Give(&self.give)),
            self.throw.as_deref().map(Act::Throw),
            self.broken.then_some(Act::Broken),
        ]
        .into_iter()
        .flatten();
        let act = acts.next();
        let of_a_call = !self.args.is_empty() || self.name.is_some() || self.catch;
        act.filter(|_| acts.next().is_none() && (self.call.is_some() || !of_a_call))
    }
}

impl Act<'_> {
    /// The calls of the step.
    pub fn calls(&self) -> &[ScriptCall] {
        match self {
            Self::Call(call) => std::slice::from_ref(call),
            Self::Together(calls, _) => calls,
            _ => &[],
        }
    }

    /// The names that the step reads.
    pub fn reads(&self) -> Vec<&str> {
        match self {
            Self::Show(name) => vec![name],
            Self::Give(names) => names.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }
}

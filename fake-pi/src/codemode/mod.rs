//! `codemode`: the tool by which a model runs a script that calls other tools (pi-host.md 10).
//!
//! | file | holds |
//! |---|---|
//! | `script` | what a script does, as the host is told: no JavaScript is run |
//! | `source` | the options line of a script |
//! | `run` | one script from its start to its result |
//! | `calls` | its calls: their rows in the result's details, and what the script gets |
//! | `output` | what the model reads of it |
//! | `describe` | what declared tools say of how scripts call them |
//!
//! Not modelled: images, `exit`, `store` and `load`, `searchTools` and its like, `models`, and limits of memory.

mod calls;
mod describe;
mod output;
mod run;
mod script;
mod source;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

pub(crate) use self::describe::described;
pub(crate) use self::script::NoScripts;
pub use self::script::{ScriptCall, Scripts, Source, Step};
use crate::host;
use crate::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// The tool's name.
pub(crate) const NAME: &str = "codemode";

/// Scripts that run at once in one host; further ones wait.
pub(crate) const WORKERS: usize = 2;

/// The tool.
pub(crate) struct Codemode {
    scripts: Arc<dyn Scripts>,
}

impl Codemode {
    /// The tool of a host.
    pub(crate) fn new(host: &host::Shared) -> Self {
        Self {
            scripts: host.options.scripts.clone(),
        }
    }
}

impl Tool for Codemode {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.to_owned(),
            description: "<codemode>".to_owned(),
            parameters: json!({"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}),
            exposure: Exposure::ModelOnly,
            execution: Execution::Parallel,
            source: format!("builtin:{NAME}"),
        }
    }

    /// The script is taken as text by a grammar, which is Pi's own text.
    fn registry_members(&self) -> Value {
        json!({"constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "<grammar>"}}})
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let scripts = self.scripts.clone();
        Box::pin(async move { run::run(run, &*scripts).await })
    }
}

//! `codemode` and `tool_search`: listed and declared as on the real Pi, but no script is run and nothing is searched.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// A tool that reaches tools which are not declared.
struct Reaching {
    name: &'static str,
    parameters: Value,
    /// What the transcript shows besides: `codemode` takes its script as text by a grammar, which is Pi's own text.
    members: Value,
}

/// The two of them, in Pi's order.
pub(crate) fn reaching_tools() -> Vec<Arc<dyn Tool>> {
    let script =
        json!({"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}});
    let grammar = json!({"constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "<grammar>"}}});
    let search = json!({"type": "object", "required": ["query"],
        "properties": {"query": {"type": "string"}, "limit": {"type": "number"}}});
    vec![
        Arc::new(Reaching {
            name: "codemode",
            parameters: script,
            members: grammar,
        }),
        Arc::new(Reaching {
            name: "tool_search",
            parameters: search,
            members: Value::Null,
        }),
    ]
}

impl Tool for Reaching {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.to_owned(),
            description: format!("<{}>", self.name),
            parameters: self.parameters.clone(),
            exposure: Exposure::ModelOnly,
            execution: Execution::Parallel,
            source: format!("builtin:{}", self.name.replace('_', "-")),
        }
    }

    fn registry_members(&self) -> Value {
        self.members.clone()
    }

    fn execute(&self, _run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let text = format!("{} is not modelled by the simulated host", self.name);
        Box::pin(async move { Err(ToolError(text)) })
    }
}

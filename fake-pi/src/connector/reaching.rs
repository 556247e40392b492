//! `codemode` and `tool_search`: listed and declared as on the real Pi, but no script is run and nothing is searched.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};

/// A tool that reaches tools which are not declared.
struct Reaching {
    name: &'static str,
    argument: &'static str,
}

/// The two of them, in Pi's order.
pub(crate) fn reaching_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Reaching {
            name: "codemode",
            argument: "code",
        }),
        Arc::new(Reaching {
            name: "tool_search",
            argument: "query",
        }),
    ]
}

impl Tool for Reaching {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.to_owned(),
            description: format!("<{}>", self.name),
            parameters: json!({"type": "object", "required": [self.argument],
                "properties": {self.argument: {"type": "string"}}}),
            exposure: Exposure::ModelOnly,
            execution: Execution::Parallel,
            source: format!("builtin:{}", self.name.replace('_', "-")),
        }
    }

    fn registry_members(&self) -> Value {
        Value::Null
    }

    fn execute(&self, _run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let text = format!("{} is not modelled by the simulated host", self.name);
        Box::pin(async move { Err(ToolError(text)) })
    }
}

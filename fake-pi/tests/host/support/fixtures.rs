//! The server and the tool that most scenes use.

use std::sync::Arc;
use std::time::Duration;

use fake_pi::Extension;
use fake_pi::tool::{Execution, Exposure, Tool, ToolDefinition, ToolError, ToolOutput, ToolRun};
use futures::future::BoxFuture;
use serde_json::json;

use super::extension;
use super::server::Behaviour;

/// Registers a server `s` that runs the command `srv`, its tools declared to the model.
pub fn with_server() -> Arc<dyn Extension> {
    extension("e0.ts", |pi| {
        pi.register_mcp_server(
            &json!("s"),
            &json!({"command": "srv", "exposure": "direct"}),
        )
    })
}

/// A server with a slow tool `a`, a tool `b`, and a failing tool `c`.
pub fn server() -> Behaviour {
    Behaviour {
        tools: vec!["a", "b", "c"],
        calls: [("a", Duration::from_millis(500))].into(),
        fails: [("c", "c failed")].into(),
        ..Behaviour::default()
    }
}

/// Pi's `read` replaced by a sequential tool that answers with its input.
pub fn echo() -> Arc<dyn Extension> {
    extension("echo", |pi| pi.register_tool(Arc::new(Echo)))
}

/// The tool of [`echo`].
pub struct Echo;

impl Tool for Echo {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read".into(),
            description: "reads".into(),
            parameters: json!({"type": "object", "required": ["path"],
                "properties": {"path": {"type": "string"}, "limit": {"type": "number"}}}),
            exposure: Exposure::Direct,
            execution: Execution::Sequential,
            source: String::new(),
        }
    }

    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(ToolOutput {
                content: vec![json!({"type": "text", "text": run.input.to_string()})],
                details: Some(json!({"own": 1})),
                structured_content: Some(json!({"s": 1})),
                is_error: false,
                terminate: false,
            })
        })
    }
}

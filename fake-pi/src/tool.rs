//! What the host knows of a tool, and one run of it.

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

pub use crate::agent::nested::ToolSession;

/// Where a tool shows: to the model, to scripts, or nowhere (pi-host.md 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Declared to the model.
    Direct,
    /// Loaded on demand; what `codemode` and `deferred` servers get.
    Deferred,
    /// Callable by nobody; what an unregistered server's tools become.
    Hidden,
    /// Declared to the model only, never to scripts (`codemode`, `tool_search`).
    ModelOnly,
}

/// Whether a tool may run beside others of its batch (pi-host.md 1.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution {
    /// Runs at the same time as the rest of the batch.
    #[default]
    Parallel,
    /// One such tool makes the whole batch run one by one.
    Sequential,
}

/// A tool as the registry lists it.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The name that the model calls.
    pub name: String,
    /// The text that the model reads about it.
    pub description: String,
    /// JSON Schema of the arguments, an object schema.
    pub parameters: Value,
    /// Where it shows.
    pub exposure: Exposure,
    /// Whether it may run beside others.
    pub execution: Execution,
    /// `sourceInfo.path`: `builtin:…` or the path of the extension that registered it.
    pub source: String,
}

/// One run of a tool, after preflight.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// Pi's id of the call.
    pub call_id: String,
    /// The arguments as handlers left them (pi-host.md 2: no second validation).
    pub input: Value,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// Fires when the run is aborted.
    pub abort: CancellationToken,
    /// Takes partial results; each becomes a `tool_execution_update`.
    pub updates: UnboundedSender<Value>,
    /// What the tool may do in its session: call other tools, and declare them.
    pub session: ToolSession,
}

/// What a tool returned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// Content blocks in Pi's form (`{type:"text", text}`, `{type:"image", data, mimeType}`).
    pub content: Vec<Value>,
    /// The tool's own details, if it gives any.
    pub details: Option<Value>,
    /// What a script gets instead of the text.
    pub structured_content: Option<Value>,
    /// Whether the tool itself calls this a failure.
    pub is_error: bool,
    /// Whether this result ends the run, if all others of its batch do too.
    pub terminate: bool,
}

/// A tool that threw: the model reads the message (pi-host.md 1.4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

/// A tool: built in, registered by an extension, or listed by an MCP server.
pub trait Tool: Send + Sync {
    /// How the registry lists it.
    fn definition(&self) -> ToolDefinition;

    /// Further members of its registry entry, as an object: `promptGuidelines`, `namespace`, `annotations`
    /// (pi-host.md 12), and `constrainedSampling`, which only the transcript shows.
    fn registry_members(&self) -> Value {
        Value::Null
    }

    /// Whether it declares what scripts get of it: then that is its structured content, and its text otherwise
    /// (pi-host.md 10). Of Pi's own tools `read` and `bash` do, and every tool of an MCP server does.
    fn declares_output(&self) -> bool {
        false
    }

    /// Runs it. The future is never dropped by the host: on abort `run.abort` fires and the tool decides how it ends.
    fn execute(&self, run: ToolRun) -> BoxFuture<'static, Result<ToolOutput, ToolError>>;
}

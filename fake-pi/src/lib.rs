//! Pi's extension host, rebuilt in virtual time: what Pi 1.6.0 does in RPC mode, as pi-host.md of the specification
//! observed it on the real one. See ARCHITECTURE.md for its place in the whole.
//!
//! Supports: factories, handlers and their order, the agent loop with parallel and sequential batches, steering and
//! follow-ups, abort, retries, session history, new/resume/fork/clone/reload, custom messages, slash commands, the
//! registry of tools, `registerMcpServer`, and stdio MCP servers.
//!
//! Rejects, or does not model: the text of Pi's own system prompt, `message_update`, compaction, tree navigation,
//! images for the model, models other than one chat-completions model, HTTP servers and sign-in, `codemode` and
//! `tool_search` calls, skills, prompt templates, dialogs, entries that boundary handlers ask to append.

mod agent;
mod clock;
mod connector;
mod extension;
mod host;
mod instance;
pub mod mcp;
mod model;
mod paths;
mod registry;
mod rpc;
mod runtime;
mod session;
pub mod tool;
pub mod tools;

pub use agent::system::SYSTEM_PROMPT;
pub use connector::Connector;
pub use extension::{CommandHandler, Event, Extension, Handler, Thrown};
pub use host::{Exit, Host, HostOptions};
pub use instance::{Command, Ctx, Delivery, NOT_INITIALIZED, Pi, STALE, Unsubscribe};
pub use model::{Arguments, Model, ModelFailure, ModelReply, Stop, ToolCall};
pub use runtime::runtime;

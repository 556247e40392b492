//! Pi's extension host, rebuilt in virtual time: what Pi does in each of its modes and inside a program that uses its SDK,
//! as pi-host.md of the specification observed it on the real one, in the versions that [`Version`] names. See
//! ARCHITECTURE.md for its place in the whole.
//!
//! Supports: factories, handlers and their order, the agent loop with parallel and sequential batches, steering and
//! follow-ups, abort, retries, session history, compaction, tree navigation, new/resume/fork/clone/reload, custom messages,
//! slash commands, the registry of tools, `codemode` and `tool_search`, `registerMcpServer`, MCP servers over stdio and
//! over streamable HTTP, and questions to the person.
//!
//! Does not model, and says so where a person asks for it: signing in to a server (OAuth).
//!
//! Does not model: the text of Pi's own system prompt, `message_update`, the instructions that the model gets for a
//! summary (a placeholder stands for them), images for the model, models other than one chat-completions model, JavaScript
//! (a `codemode` script does what [`codemode::Scripts`] says), skills, prompt templates, and what `pi`,
//! `ctx` and the RPC commands offer beyond what is here: there is no method for it, and such a command is unknown.

mod agent;
mod clock;
pub mod codemode;
mod connector;
mod extension;
mod fault;
mod host;
mod instance;
mod life;
mod lone;
pub mod mcp;
mod mode;
mod model;
mod paths;
mod registry;
mod rpc;
mod runtime;
mod session;
mod settings;
pub mod tool;
mod tool_search;
pub mod tools;
mod utf16;
mod version;

pub use agent::system::SYSTEM_PROMPT;
pub use connector::Connector;
pub use extension::{CommandHandler, Event, Extension, Handler, Thrown};
pub use fault::Fault;
pub use host::{Exit, Host, HostOptions, Signal};
pub use instance::{Command, Ctx, Delivery, NOT_INITIALIZED, Pi, STALE, Unsubscribe};
pub use lone::without_lone_surrogates;
pub use mode::Mode;
pub use model::{Arguments, Model, ModelFailure, ModelReply, Pause, Piece, Stop, ToolCall};
pub use runtime::runtime;
pub use session::NavigateOptions;
pub use settings::{CompactionSettings, RetrySettings, Settings};
pub use version::{Difference, NotModelled, Version};

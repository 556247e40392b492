//! Pi's MCP support (pi-host.md 3.1, 4): what a registration may say, how tools are named, one connection to one server.
//!
//! | file | holds |
//! |---|---|
//! | `config` | a registration, checked and typed |
//! | `naming` | names of tools and namespaces |
//! | `environment` | values of `env` with their references resolved |
//! | `launch` | the port that starts a server, and the stop sequence |
//! | `child` | a real child process behind that port |
//! | `frame` | lines and JSON-RPC messages as Pi reads them |
//! | `wire` | the way to a server as a transport of `rmcp`, with Pi's frames on it |
//! | `channel` | that way over a pipe |
//! | `http` | that way over streamable HTTP |
//! | `failure` | why something came to nothing |
//! | `client` | a connection: handshake, tool list, calls |
//! | `exchange` | one request and how it ends |
//! | `listing` | the tools that a server offers |
//! | `result` | results in the form that the model reads |
//! | `resources` | resources and what they contain |
//! | `block` | one content block of a result |

pub mod child;
pub mod client;
pub mod config;
pub mod environment;
pub mod failure;
pub mod http;
pub mod launch;
pub mod listing;
pub mod naming;
pub mod result;

pub(crate) mod resources;

mod block;
mod channel;
mod exchange;
mod frame;
#[cfg(test)]
mod tests;
mod wire;

pub use client::{ClientOptions, Connection, ConnectionEvent};
pub use config::{McpExposure, ServerConfig, validate};
pub use launch::{Launch, ServerLauncher, ServerProcess};
pub use listing::McpTool;
pub use naming::ToolNames;

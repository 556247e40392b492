//! Pi's built-in extensions: the MCP support, which connects servers, and one that is only there to be listed.
//!
//! | file | holds |
//! |---|---|
//! | `manager` | the MCP support as an extension: which servers there are, and its handlers |
//! | `waits` | how servers and the run meet |
//! | `changes` | registrations during a session |
//! | `link` | one server's connection, its state, its stop |
//! | `tool` | a server's tools in the registry |
//! | `resources` | the tools that reach resources |
//! | `section` | the part of the prompt that lists servers |
//! | `status` | what `/mcp` and the notices say |
//! | `settings` | `mcp.json` |

mod changes;
mod link;
mod manager;
mod resources;
mod section;
mod settings;
mod status;
mod tool;
mod waits;

use std::sync::Arc;

use futures::future::BoxFuture;

pub(crate) use manager::Mcp;

use crate::extension::{Extension, Thrown};
use crate::instance::{Command, Pi};

/// Whether the built-in MCP support is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Connector {
    /// It is, unless an extension registers `/mcp` in its factory (pi-host.md 3.4).
    #[default]
    Builtin,
    /// It is not: `--no-mcp`.
    Absent,
}

/// The extension that manages local models; only its command is there.
pub(crate) struct Llama;

impl Extension for Llama {
    fn path(&self) -> String {
        "builtin:llama.cpp".to_owned()
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        Box::pin(async move {
            let handler = Arc::new(|_, _| -> BoxFuture<'static, Result<(), Thrown>> {
                Box::pin(async {
                    Err(Thrown::error(
                        "/llama is not modelled by the simulated host",
                    ))
                })
            });
            let description = Some("Manage llama.cpp router models".to_owned());
            pi.register_command(
                "llama",
                Command {
                    description,
                    handler,
                },
            )
        })
    }
}

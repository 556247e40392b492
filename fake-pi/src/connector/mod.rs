//! Pi's built-in extensions: the MCP support, which connects servers, and what is only there to be listed.

mod reaching;

use std::sync::Arc;

use futures::future::BoxFuture;

pub(crate) use reaching::reaching_tools;

use crate::extension::{Extension, Thrown};
use crate::host::Shared;
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
                Box::pin(async { Err(Thrown::error("/llama is not modelled")) })
            });
            pi.register_command(
                "llama",
                Command {
                    description: Some("Manage llama.cpp router models".into()),
                    handler,
                },
            )
        })
    }
}

/// The extension that connects MCP servers.
pub(crate) struct Mcp {
    host: Arc<Shared>,
}

impl Mcp {
    pub(crate) fn new(host: &Arc<Shared>) -> Self {
        Self { host: host.clone() }
    }
}

impl Extension for Mcp {
    fn path(&self) -> String {
        "builtin:mcp".to_owned()
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        let _ = &self.host;
        Box::pin(async move {
            let _ = pi;
            Ok(())
        })
    }
}

//! Loading: one factory after the other, and what becomes of the registrations of one that throws.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::{Instance, Pi, Slot, Stage};
use crate::connector::{self, Connector};
use crate::extension::{Extension, Thrown, lock};
use crate::host::Shared as HostShared;
use crate::mode::Mode;

/// A factory that threw; the real Pi refuses to start (pi-host.md 1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoadFailure {
    path: String,
    thrown: Thrown,
}

impl LoadFailure {
    /// The line that Pi prints before it exits, and the error of a replacement that fails.
    pub(crate) fn text(&self) -> String {
        format!(
            "Failed to load extension \"{}\": Failed to load extension: {}",
            self.path, self.thrown.message
        )
    }
}

impl Instance {
    /// Loads all extensions of a new instance for a session in `cwd`: the given ones in their order, then, once it is
    /// known whether the project is trusted, the built-in ones.
    ///
    /// # Errors
    /// The first factory that threw; those after it are not called.
    pub(crate) async fn load(host: &Arc<HostShared>, cwd: &Path) -> Result<Arc<Self>, LoadFailure> {
        let instance = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            host: host.clone(),
            slots: Mutex::default(),
            servers: Mutex::default(),
            stale: Default::default(),
            session: Default::default(),
            listened: Default::default(),
            reported: Mutex::default(),
        });
        for extension in &host.options.extensions {
            instance.load_one(extension.as_ref(), "cli").await?;
        }
        instance.ask_for_trust(cwd).await;
        // A program that uses the SDK brings what it wants of Pi's own; our driver brings what connects servers.
        let source = match host.options.mode {
            Mode::Embedded { .. } => "inline",
            Mode::Rpc | Mode::Print | Mode::Json | Mode::Terminal => {
                instance.load_one(&connector::Llama, "builtin").await?;
                "builtin"
            }
        };
        if host.options.connector == Connector::Builtin {
            match instance.owner_of_mcp_command() {
                None => instance.load_one(&connector::Mcp::new(host), source).await?,
                Some(owner) => host.warn(format!(
                    "Warning: Extension package \"builtin:mcp\": Extension {owner} registers command `/mcp`, so built-in \
                     extension `mcp` was not loaded. To use `mcp`, run `pi config` and make sure it is enabled under \
                     Built-in extensions, then disable or remove the existing extension. We recommend only having one \
                     or the other loaded at a time."
                )),
            }
        }
        Ok(instance)
    }

    /// The extension whose factory registered `/mcp`: it replaces the built-in one, whatever the load order
    /// (pi-host.md 3.4).
    fn owner_of_mcp_command(&self) -> Option<String> {
        let owns = |slot: &Arc<Slot>| {
            lock(&slot.commands)
                .iter()
                .any(|command| command.name == "mcp")
        };
        self.slots()
            .iter()
            .find(|slot| owns(slot))
            .map(|slot| slot.path.clone())
    }

    async fn load_one(
        self: &Arc<Self>,
        extension: &dyn Extension,
        source: &'static str,
    ) -> Result<(), LoadFailure> {
        let slot = Arc::new(Slot::new(extension.path(), source));
        let outcome = extension.activate(Pi::new(self, &slot)).await;
        match outcome {
            Ok(()) => {
                let stage = std::mem::replace(&mut *lock(&slot.stage), Stage::Active);
                lock(&self.slots).push(slot);
                if let Stage::Loading(changes) = stage {
                    for change in changes {
                        change(self);
                    }
                }
                Ok(())
            }
            Err(thrown) => {
                *lock(&slot.stage) = Stage::Failed;
                Err(LoadFailure {
                    path: slot.path.clone(),
                    thrown,
                })
            }
        }
    }
}

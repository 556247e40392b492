//! The MCP servers that extensions registered: who owns a name, and which names clash (pi-host.md 3.2).

use serde_json::{Value, json};

use crate::extension::Thrown;
use crate::instance::Instance;
use crate::mcp::{self, ServerConfig};

/// A checked registration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Registration {
    pub(crate) name: String,
    pub(crate) config: ServerConfig,
    pub(crate) extension_path: String,
}

/// Checks a registration before anybody asks who owns the name, as Pi does.
///
/// # Errors
/// Pi's text (pi-host.md 3.1). A name that is no string fails in Pi's `name.replace`, after the checks.
pub(crate) fn validated(
    name: &Value,
    config: &Value,
    extension_path: &str,
) -> Result<Registration, Thrown> {
    let config = mcp::validate(name, config, extension_path).map_err(Thrown::error)?;
    match name {
        Value::String(name) => Ok(Registration {
            name: name.clone(),
            config,
            extension_path: extension_path.to_owned(),
        }),
        Value::Null => Err(Thrown::error(
            "Cannot read properties of undefined (reading 'replace')",
        )),
        _ => Err(Thrown::error("server.replace is not a function")),
    }
}

/// The registrations of one instance, in the order in which their names first came.
#[derive(Debug, Default)]
pub(crate) struct ServerRegistry {
    servers: Vec<Registration>,
}

impl ServerRegistry {
    /// Whether `server` may be registered.
    ///
    /// # Errors
    /// Pi's text when another extension owns the name, or when another name gives the same namespace.
    pub(crate) fn check(&self, server: &Registration) -> Result<(), Thrown> {
        let named = self.servers.iter().find(|known| known.name == server.name);
        if let Some(owner) = named.filter(|known| known.extension_path != server.extension_path) {
            return Err(Thrown::error(format!(
                "MCP server \"{}\" is already registered by extension \"{}\"",
                server.name, owner.extension_path
            )));
        }
        let namespace = mcp::naming::namespace(&server.name);
        let clash = |known: &&Registration| {
            known.name != server.name && mcp::naming::namespace(&known.name) == namespace
        };
        match self.servers.iter().find(clash) {
            Some(known) => Err(Thrown::error(format!(
                "MCP server \"{}\" conflicts with registered server \"{}\"",
                server.name, known.name
            ))),
            None => Ok(()),
        }
    }

    /// Stores a registration, replacing one of the same name in its place.
    pub(crate) fn register(&mut self, server: Registration) {
        match self
            .servers
            .iter_mut()
            .find(|known| known.name == server.name)
        {
            Some(known) => *known = server,
            None => self.servers.push(server),
        }
    }

    /// Removes a registration of this extension; says whether there was one.
    pub(crate) fn unregister(&mut self, name: &str, extension_path: &str) -> bool {
        let before = self.servers.len();
        self.servers
            .retain(|known| known.name != name || known.extension_path != extension_path);
        self.servers.len() != before
    }

    /// All registrations.
    pub(crate) fn list(&self) -> Vec<Registration> {
        self.servers.clone()
    }

    /// All registrations as `getMcpServers()` and `mcp_servers_change` show them.
    pub(crate) fn value(&self) -> Value {
        let shown = |server: &Registration| json!({"name": server.name, "config": server.config.json, "extensionPath": server.extension_path});
        self.servers.iter().map(shown).collect()
    }
}

impl Instance {
    /// Announces a change, once the instance is bound: the handlers' synchronous part runs before this returns, the
    /// rest is not awaited (pi-host.md 3.3).
    pub(crate) fn servers_changed(&self) {
        if self.session().is_err() {
            return;
        }
        let servers = crate::extension::lock(&self.servers).value();
        self.emit_detached(json!({"type": "mcp_servers_change", "servers": servers}));
        self.report_unconnected();
    }
}

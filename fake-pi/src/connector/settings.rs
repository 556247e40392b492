//! `mcp.json`: servers that a person configured, which win over registered ones (pi-host.md 3.5).

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde_json::{Map, Value};

use crate::mcp::{self, ServerConfig, naming};

/// Bytes of a file that are read at most.
const MOST_BYTES: u64 = 1024 * 1024;
/// What a project may change of a global server without defining it anew.
const OVERRIDES: [&str; 3] = ["enabled", "exposure", "toolExposure"];

/// A configured server and the file that defines it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Configured {
    pub(super) config: ServerConfig,
    pub(super) source: String,
}

/// What the files say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    pub(super) servers: Vec<Configured>,
    pub(super) errors: Vec<String>,
    pub(super) auto_enable_codemode: bool,
}

/// Reads the global file, and the project's own if it is trusted.
pub(super) fn load(agent_dir: &Path, project: Option<&Path>) -> Settings {
    let mut settings = Settings {
        servers: Vec::new(),
        errors: Vec::new(),
        auto_enable_codemode: true,
    };
    settings.read(&agent_dir.join("mcp.json"), false);
    if let Some(project) = project {
        settings.read(&project.join(".pi").join("mcp.json"), true);
    }
    settings
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a file"));
    }
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

impl Settings {
    fn read(&mut self, path: &Path, is_project: bool) {
        let source = path.to_string_lossy().into_owned();
        let text = match text_of(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return self.errors.push(format!("{source}: {error}")),
        };
        let parsed: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(parsed) => parsed,
            Err(error) => return self.errors.push(format!("{source}: {error}")),
        };
        let none = Map::new();
        let servers = match (parsed.is_object(), parsed.get("mcpServers")) {
            (true, None) => &none,
            (true, Some(Value::Object(servers))) => servers,
            _ => {
                return self.errors.push(format!(
                    "{source}: expected an object with an \"mcpServers\" object"
                ));
            }
        };
        match parsed.get("autoEnableCodemode") {
            None => {}
            Some(Value::Bool(enable)) => self.auto_enable_codemode = *enable,
            Some(_) => self
                .errors
                .push(format!("{source}: autoEnableCodemode must be a boolean")),
        }
        for (name, entry) in servers {
            if let Err(error) = self.add(name, entry, &source, is_project) {
                self.errors.push(format!("{source}: {error}"));
            }
        }
    }

    fn add(
        &mut self,
        name: &str,
        entry: &Value,
        source: &str,
        is_project: bool,
    ) -> Result<(), String> {
        let known = self
            .servers
            .iter()
            .position(|server| server.config.name == name);
        let defines = ["command", "url", "type"]
            .iter()
            .any(|key| entry.get(key).is_some());
        if let Some(changes) = entry.as_object().filter(|_| is_project && !defines) {
            let Some(index) = known else {
                return Err(format!(
                    "server \"{name}\" needs \"command\" or \"url\", or a global server to override"
                ));
            };
            if changes.keys().any(|key| !OVERRIDES.contains(&key.as_str())) {
                return Err(format!(
                    "server \"{name}\": an override can only set {}",
                    OVERRIDES.join(", ")
                ));
            }
            let mut merged = self.servers[index].config.json.clone();
            if let Value::Object(merged) = &mut merged {
                merged.extend(changes.clone());
            }
            self.servers[index].config = checked(name, &merged)?;
            return Ok(());
        }
        let config = checked(name, entry)?;
        let namespace = naming::namespace(name);
        let clash = |server: &&Configured| {
            server.config.name != name && naming::namespace(&server.config.name) == namespace
        };
        if let Some(clash) = self.servers.iter().find(clash) {
            return Err(format!(
                "server \"{name}\" conflicts with \"{}\"",
                clash.config.name
            ));
        }
        let configured = Configured {
            config,
            source: source.to_owned(),
        };
        match known {
            Some(index) => self.servers[index] = configured,
            None => self.servers.push(configured),
        }
        Ok(())
    }
}

/// An entry with the checks of a registration, without the words that name an extension.
fn checked(name: &str, entry: &Value) -> Result<ServerConfig, String> {
    mcp::validate(&name.into(), entry, "").map_err(|error| {
        let prefix = "Invalid MCP server registered by extension \"\": ";
        error.strip_prefix(prefix).unwrap_or(&error).to_owned()
    })
}

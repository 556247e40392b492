//! Values of a server's `env`, command and folder with what they refer to put in (pi-host.md 4.9).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::config::ServerConfig;
use super::launch::{Launch, ServerLauncher};
use crate::paths::normalised;

/// What a registration is resolved against.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The session's working directory.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: PathBuf,
    /// The variables of Pi's own environment.
    pub variables: BTreeMap<String, String>,
}

/// What to start for a registration; `None` for a server with a URL.
///
/// # Errors
/// Pi's text for a value of `env` that refers to nothing, such as
/// `Failed to resolve MCP server "s" env "T" from environment variable: TOKEN`.
pub async fn prepare(
    config: &ServerConfig,
    surroundings: &Surroundings,
    launcher: &dyn ServerLauncher,
) -> Result<Option<Launch>, String> {
    let Some(command) = &config.command else {
        return Ok(None);
    };
    let mut env = surroundings.variables.clone();
    for (name, value) in &config.env {
        let what = format!("MCP server \"{}\" env \"{name}\"", config.name);
        let value = resolve(value, &what, &surroundings.variables, launcher).await?;
        env.insert(name.clone(), value);
    }
    let expand = |text: &str| expand_home(text, &surroundings.home);
    let cwd = config.cwd.as_deref().unwrap_or(".");
    Ok(Some(Launch {
        command: expand(command),
        args: config.args.iter().map(|arg| expand(arg)).collect(),
        env,
        cwd: normalised(&surroundings.cwd.join(expand(cwd))),
    }))
}

/// The headers of a server over HTTP.
///
/// # Errors
/// Pi's text for a value that refers to nothing, such as
/// `Failed to resolve MCP server "s" header "X" from environment variable: TOKEN`.
pub async fn headers(
    config: &ServerConfig,
    surroundings: &Surroundings,
    launcher: &dyn ServerLauncher,
) -> Result<Vec<(String, String)>, String> {
    let mut headers = Vec::new();
    for (name, value) in &config.headers {
        let what = format!("MCP server \"{}\" header \"{name}\"", config.name);
        let value = resolve(value, &what, &surroundings.variables, launcher).await?;
        headers.push((name.clone(), value));
    }
    Ok(headers)
}

/// One value: `!command`, or a text with `$NAME` and `${NAME}` in it, where `$$` and `$!` stand for the second sign.
async fn resolve(
    value: &str,
    what: &str,
    variables: &BTreeMap<String, String>,
    launcher: &dyn ServerLauncher,
) -> Result<String, String> {
    if let Some(command) = value.strip_prefix('!') {
        let output = launcher
            .run_shell(command)
            .await
            .filter(|output| !output.is_empty());
        return output
            .ok_or_else(|| format!("Failed to resolve {what} from shell command: {command}"));
    }
    let mut missing: Vec<&str> = Vec::new();
    let mut text = String::new();
    for part in parts(value) {
        match part {
            Part::Text(literal) => text.push_str(literal),
            // An empty variable counts as none.
            Part::Variable(name) => match variables.get(name).filter(|value| !value.is_empty()) {
                Some(value) => text.push_str(value),
                None if missing.contains(&name) => {}
                None => missing.push(name),
            },
        }
    }
    match missing.as_slice() {
        [] => Ok(text),
        [name] => Err(format!(
            "Failed to resolve {what} from environment variable: {name}"
        )),
        names => Err(format!(
            "Failed to resolve {what} from environment variables: {}",
            names.join(", ")
        )),
    }
}

/// A piece of a value.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// Cuts a value at its references. A sign that starts none is text.
fn parts(value: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some(sign) = rest.find('$') {
        parts.push(Part::Text(&rest[..sign]));
        let after = &rest[sign + 1..];
        if after.starts_with(['$', '!']) {
            parts.push(Part::Text(&after[..1]));
            rest = &after[1..];
            continue;
        }
        let braced = after
            .strip_prefix('{')
            .and_then(|inner| Some(&inner[..inner.find('}')?]));
        if let Some(name) = braced {
            let is_name = !name.is_empty() && name_length(name) == name.len();
            parts.push(if is_name {
                Part::Variable(name)
            } else {
                Part::Text(&rest[sign..sign + name.len() + 3])
            });
            rest = &after[name.len() + 2..];
            continue;
        }
        let length = name_length(after);
        parts.push(if length > 0 {
            Part::Variable(&after[..length])
        } else {
            Part::Text("$")
        });
        rest = &after[length..];
    }
    parts.push(Part::Text(rest));
    parts
}

/// Length of the variable name that `text` starts with.
fn name_length(text: &str) -> usize {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return 0;
    }
    text.bytes().take_while(is_inside).count()
}

/// `~` and `~/…` name the home folder.
fn expand_home(text: &str, home: &Path) -> String {
    if text == "~" {
        return home.to_string_lossy().into_owned();
    }
    match text.strip_prefix("~/") {
        Some(rest) => home.join(rest).to_string_lossy().into_owned(),
        None => text.to_owned(),
    }
}

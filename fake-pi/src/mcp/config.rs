//! A registered server: what `registerMcpServer` accepts, and what it keeps (pi-host.md 3.1).

use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

use crate::tool::Exposure;

/// The exposures in the order in which Pi names them in its error texts.
const EXPOSURES: &str = r#""codemode", "deferred", "direct", "hidden""#;

/// Time that a request may take when the registration says nothing (pi-host.md 4.10).
const DEFAULT_TIMEOUT_SECONDS: f64 = 60.0;

/// How the tools of a server reach the model (pi-host.md 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpExposure {
    /// Called from codemode scripts; what a registration without `exposure` gets.
    Codemode,
    /// Loaded with `tool_search`.
    Deferred,
    /// Declared to the model.
    Direct,
    /// Reached by nobody.
    Hidden,
}

impl McpExposure {
    /// The exposure of this spelling, the older `codemode-deferred` included.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "codemode" | "codemode-deferred" => Some(Self::Codemode),
            "deferred" => Some(Self::Deferred),
            "direct" => Some(Self::Direct),
            "hidden" => Some(Self::Hidden),
            _ => None,
        }
    }

    /// Pi's spelling, as `/mcp` and the normalised registration show it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Codemode => "codemode",
            Self::Deferred => "deferred",
            Self::Direct => "direct",
            Self::Hidden => "hidden",
        }
    }

    /// What the registry of tools shows for it: `codemode` and `deferred` look alike there.
    #[must_use]
    pub fn tool_exposure(self) -> Exposure {
        match self {
            Self::Codemode | Self::Deferred => Exposure::Deferred,
            Self::Direct => Exposure::Direct,
            Self::Hidden => Exposure::Hidden,
        }
    }
}

/// A registration that passed Pi's checks.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// The server's name as registered.
    pub name: String,
    /// The program to start; absent for a server with a URL.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables laid over the inherited environment, references unresolved (`environment`).
    pub env: Vec<(String, String)>,
    /// Its working directory, to be resolved against the session's.
    pub cwd: Option<String>,
    /// The address of a server over HTTP. It wins over `command` (pi-host.md 3.1).
    pub url: Option<String>,
    /// Headers of each request to a server over HTTP, references unresolved.
    pub headers: Vec<(String, String)>,
    /// How its tools reach the model.
    pub exposure: McpExposure,
    /// Exceptions to `exposure`, as exact tool names or patterns with `*`, in the order given.
    pub tool_exposure: Vec<(String, McpExposure)>,
    /// Seconds per request, if given.
    pub timeout: Option<f64>,
    /// Whether it is to be connected at all.
    pub enabled: bool,
    /// The line that the prompt shows for it.
    pub description: Option<String>,
    /// The registration as `getMcpServers()` returns it: a copy with old exposure names replaced and unknown fields kept.
    pub json: Value,
}

impl ServerConfig {
    /// Whether a server over HTTP may ask the person to sign in: no header of its own names who asks.
    #[must_use]
    pub fn signs_in(&self) -> bool {
        let authorizes = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
        self.url.is_some() && !self.headers.iter().any(authorizes)
    }

    /// Exposure of one tool: an exact entry of `toolExposure`, else the first pattern that fits, else the server's.
    #[must_use]
    pub fn exposure_of(&self, tool: &str) -> McpExposure {
        let exact = self.tool_exposure.iter().find(|(name, _)| name == tool);
        let fitting = || {
            self.tool_exposure
                .iter()
                .find(|(pattern, _)| pattern.contains('*') && fits(pattern, tool))
        };
        exact
            .or_else(fitting)
            .map_or(self.exposure, |(_, exposure)| *exposure)
    }

    /// Time that one request may take; [`Duration::MAX`] for a timeout beyond every clock.
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        Duration::try_from_secs_f64(self.timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS))
            .unwrap_or(Duration::MAX)
    }
}

/// Whether `tool` fits a pattern in which `*` stands for any characters of one line.
fn fits(pattern: &str, tool: &str) -> bool {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).is_ok_and(|pattern| pattern.is_match(tool))
}

/// Checks a registration as `pi.registerMcpServer(name, config)` does.
///
/// `null` stands for JavaScript's `undefined` where a whole argument is missing, and a number that JSON cannot hold is
/// to be given as `null`: Pi's texts are the same.
///
/// # Errors
/// Pi's own message, prefix included. The inside of `oauth` is not checked, since no simulated server signs anybody in.
pub fn validate(
    name: &Value,
    config: &Value,
    extension_path: &str,
) -> Result<ServerConfig, String> {
    let name = js_string(name);
    check(&name, config).map_err(|reason| {
        format!("Invalid MCP server registered by extension \"{extension_path}\": {reason}")
    })
}

/// The checks in Pi's order; the first that fails names the reason.
fn check(name: &str, config: &Value) -> Result<ServerConfig, String> {
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    {
        return Err(format!(
            "invalid server name \"{name}\" (use letters, digits, \"_\" and \"-\")"
        ));
    }
    let Value::Object(given) = config else {
        return Err(format!("server \"{name}\" must be an object"));
    };
    let fields = with_current_exposures(given);
    let of_server = |reason: String| format!("server \"{name}\": {reason}");
    check_common(&fields).map_err(of_server)?;
    check_transport(name, &fields)?;
    check_exposures(&fields).map_err(of_server)?;
    if is_http(&fields) && fields.contains_key("auth") {
        return Err(of_server(
            "auth is not modelled by the simulated host".into(),
        ));
    }
    Ok(typed(name, fields))
}

/// Fields of every kind of server.
fn check_common(fields: &Map<String, Value>) -> Result<(), String> {
    let fails =
        |key: &str, fits: fn(&Value) -> bool| fields.get(key).is_some_and(|value| !fits(value));
    if fails("enabled", Value::is_boolean) {
        return Err("enabled must be a boolean".into());
    }
    if fails("description", Value::is_string) {
        return Err("description must be a string".into());
    }
    if fails("timeout", |value| {
        value.as_f64().is_some_and(|seconds| seconds > 0.0)
    }) {
        return Err("timeout must be a positive number of seconds".into());
    }
    Ok(())
}

/// Whether the entry is an HTTP server: a URL and no `type` that says otherwise.
fn is_http(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("type");
    fields.get("url").is_some_and(Value::is_string)
        && kind.is_none_or(|kind| kind == "http" || kind == "streamable-http")
}

/// Fields of the one kind of server that the entry turns out to be.
fn check_transport(name: &str, fields: &Map<String, Value>) -> Result<(), String> {
    let kind = fields.get("type");
    if kind.is_some_and(|kind| kind == "sse") {
        return Err(format!(
            "server \"{name}\": legacy SSE transport is not supported; use the streamable HTTP URL"
        ));
    }
    if is_http(fields) {
        let url = fields
            .get("url")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !is_http_url(url) {
            return Err(format!(
                "server \"{name}\": url must be an http or https URL"
            ));
        }
        if fields
            .get("headers")
            .is_some_and(|headers| !is_string_map(headers))
        {
            return Err(format!(
                "server \"{name}\": headers must map names to strings"
            ));
        }
        if fields.get("oauth").is_some_and(|oauth| !oauth.is_object()) {
            return Err(format!("server \"{name}\": oauth must be an object"));
        }
        return Ok(());
    }
    let is_stdio = fields.get("command").is_some_and(Value::is_string)
        && kind.is_none_or(|kind| kind == "stdio");
    if !is_stdio {
        return Err(format!(
            "server \"{name}\" needs either \"command\" (stdio) or \"url\" (streamable HTTP)"
        ));
    }
    if fields.get("args").is_some_and(|args| !is_string_list(args)) {
        return Err(format!(
            "server \"{name}\": args must be an array of strings"
        ));
    }
    if fields.get("env").is_some_and(|env| !is_string_map(env)) {
        return Err(format!("server \"{name}\": env must map names to strings"));
    }
    if fields.get("cwd").is_some_and(|cwd| !cwd.is_string()) {
        return Err(format!("server \"{name}\": cwd must be a string"));
    }
    Ok(())
}

/// The fields that Pi adds to the shape that MCP clients share.
fn check_exposures(fields: &Map<String, Value>) -> Result<(), String> {
    if fields
        .get("exposure")
        .is_some_and(|exposure| exposure_of(exposure).is_none())
    {
        return Err(format!("exposure must be one of {EXPOSURES}"));
    }
    match fields.get("toolExposure") {
        None => Ok(()),
        Some(Value::Object(tools)) => {
            match tools.iter().find(|(_, value)| exposure_of(value).is_none()) {
                None => Ok(()),
                Some((tool, _)) => Err(format!(
                    "toolExposure \"{tool}\" must be one of {EXPOSURES}"
                )),
            }
        }
        Some(_) => Err("toolExposure must map tool names to exposures".into()),
    }
}

/// A copy of the entry in which old exposure names are replaced by today's.
fn with_current_exposures(given: &Map<String, Value>) -> Map<String, Value> {
    let current = |value: &mut Value| {
        if value == "codemode-deferred" {
            *value = McpExposure::Codemode.as_str().into();
        }
    };
    let mut fields = given.clone();
    if let Some(exposure) = fields.get_mut("exposure") {
        current(exposure);
    }
    if let Some(Value::Object(tools)) = fields.get_mut("toolExposure") {
        tools.values_mut().for_each(current);
    }
    fields
}

/// The checked entry with its fields typed.
fn typed(name: &str, fields: Map<String, Value>) -> ServerConfig {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_http = is_http(&fields);
    let pairs = |key: &str| -> Vec<(String, Value)> {
        let map = fields.get(key).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let texts = |key: &str| -> Vec<(String, String)> {
        let pairs = pairs(key).into_iter();
        pairs
            .filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())))
            .collect()
    };
    let args = fields.get("args").and_then(Value::as_array);
    ServerConfig {
        name: name.to_owned(),
        command: if is_http { None } else { text("command") },
        args: args
            .into_iter()
            .flatten()
            .filter_map(|arg| arg.as_str().map(str::to_owned))
            .collect(),
        env: texts("env"),
        cwd: text("cwd"),
        url: if is_http { text("url") } else { None },
        headers: if is_http {
            texts("headers")
        } else {
            Vec::new()
        },
        exposure: fields
            .get("exposure")
            .and_then(exposure_of)
            .unwrap_or(McpExposure::Codemode),
        tool_exposure: pairs("toolExposure")
            .into_iter()
            .filter_map(|(tool, value)| Some((tool, exposure_of(&value)?)))
            .collect(),
        timeout: fields.get("timeout").and_then(Value::as_f64),
        enabled: fields
            .get("enabled")
            .and_then(Value::as_bool)
            .unwrap_or(true),
        description: text("description"),
        json: Value::Object(fields),
    }
}

fn exposure_of(value: &Value) -> Option<McpExposure> {
    McpExposure::parse(value.as_str()?)
}

fn is_string_list(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_string_map(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|map| map.values().all(Value::is_string))
}

/// Whether this has the form of a web address. The host itself is not looked at.
fn is_http_url(url: &str) -> bool {
    let lower = url.trim().to_ascii_lowercase();
    let rest = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with(['/', '?', '#', ':']) && !rest.contains(' ')
    })
}

/// The value as JavaScript makes a string of it: a name that is none is checked by its text.
fn js_string(value: &Value) -> String {
    match value {
        Value::Null => "undefined".into(),
        Value::String(text) => text.clone(),
        Value::Object(_) => "[object Object]".into(),
        Value::Array(items) => items.iter().map(js_string).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

//! What a fake Gortex is told to do: the tables `[daemon]` and `[hook]` of a case.

mod daemon;
mod hook;
mod request;

pub use daemon::{Becomes, CallRule, DaemonScript, FileChange, LaterChange, RpcError};
pub use hook::{Decision, HookRule, HookScript};
pub use request::{Progress, RequestRule};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything scripted about one Gortex. The default is a healthy one that never blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// What `gortex mcp` does.
    pub daemon: DaemonScript,
    /// What `gortex hook` answers.
    pub hook: HookScript,
    /// Further servers, by the name under which the program is called to be one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, DaemonScript>,
}

/// A script that is no script.
#[derive(Debug, thiserror::Error)]
#[error("the script is wrong: {0}")]
pub struct ScriptError(#[from] serde_json::Error);

impl Script {
    /// Reads a script from JSON, the form in which the binary gets it. Empty text is the default script.
    ///
    /// # Errors
    /// When the text is no JSON, or names a key that does not exist, or gives one a value of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        Ok(serde_json::from_str(text)?)
    }
}

/// Serde helper: whether a value is its type's default, and so need not be written.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_script_is_the_default_and_survives_a_round_trip() {
        let script = Script::from_json(" \n").expect("empty");
        assert_eq!(script, Script::default());
        assert_eq!(script.daemon.version, "0.65.0");
        let json = serde_json::to_string(&script).expect("json");
        assert_eq!(Script::from_json(&json).expect("back"), script);
    }

    #[test]
    fn reads_the_toml_of_a_case() {
        let script: Script = toml::from_str(
            r#"
            [daemon]
            initialize_after_ms = 1500
            tools = ["read", "edit"]
            calls = [
              { tool = "edit", when = { path = "a.rs" }, nth = 2, delay_ms = 50, exit = 1, partial_frame = true },
              { error = { code = -32602, message = "bad args" } },
            ]
            [hook]
            decisions = [
              { tool = "Read", when = { file_path = "a.rs" }, decision = { block = true, reason = "use the graph" } },
              { event = "session_start", hang = true },
            ]
            "#,
        )
        .expect("toml");
        assert_eq!(script.daemon.calls[0].nth, Some(2));
        assert_eq!(script.daemon.calls[0].when["path"], "a.rs");
        assert_eq!(
            script.daemon.calls[1].error.as_ref().expect("error").code,
            -32602
        );
        assert!(script.hook.decisions[1].hang);
        let json = serde_json::to_string(&script).expect("json");
        assert_eq!(Script::from_json(&json).expect("back"), script);
    }

    #[test]
    fn a_misspelt_key_is_named() {
        let error = Script::from_json(r#"{"daemon":{"cals":[]}}"#).expect_err("misspelt");
        assert!(error.to_string().contains("`cals`"), "{error}");
        let error =
            Script::from_json(r#"{"hook":{"decisions":[{"tols":"Read"}]}}"#).expect_err("misspelt");
        assert!(error.to_string().contains("`tols`"), "{error}");
    }

    #[test]
    fn every_field_of_the_schema_is_described() {
        let schema = serde_json::to_value(schemars::schema_for!(Script)).expect("schema");
        let mut missing = Vec::new();
        let mut seen = 0;
        for (name, body) in schema["$defs"].as_object().expect("definitions") {
            let Some(fields) = body["properties"].as_object() else {
                continue;
            };
            for (field, body) in fields {
                seen += 1;
                if body["description"].as_str().is_none_or(str::is_empty) {
                    missing.push(format!("{name}.{field}"));
                }
            }
        }
        assert!(seen > 30, "only {seen} fields seen");
        assert_eq!(missing, Vec::<String>::new());
    }
}

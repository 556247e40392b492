//! Tools of extensions beside ours.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool that another extension registers in its factory. It does the same at every call.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherTool {
    /// Its name.
    pub name: String,
    /// JSON Schema of its arguments; without it, it takes an object of whatever it is given.
    #[serde(default)]
    pub parameters: Option<Map<String, Value>>,
    /// Whether a batch with a call of it runs one call after the other.
    #[serde(default)]
    pub sequential: bool,
    /// Partial results that it reports at its start, as texts.
    #[serde(default)]
    pub updates: Vec<String>,
    /// How long it runs, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// The message of the error that it throws when it is aborted while it runs; without it, it runs to its end.
    #[serde(default)]
    pub on_abort: Option<String>,
    /// The message of the error that it throws at its end.
    #[serde(default)]
    pub throws: Option<String>,
    /// The text of its result.
    #[serde(default)]
    pub text: String,
    /// The images of its result, behind the text.
    #[serde(default)]
    pub images: Vec<Image>,
    /// The details of its result.
    #[serde(default)]
    pub details: Option<Value>,
    /// Whether it calls its result a failure.
    #[serde(default)]
    pub is_error: bool,
    /// Whether its result ends the run, if all others of the batch do too.
    #[serde(default)]
    pub terminate: bool,
}

/// An image, as Pi's messages hold it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Image {
    /// Its bytes in base64.
    pub data: String,
    /// Its media type, such as `image/png`.
    pub mime_type: String,
}

impl Image {
    /// The part of a message that stands for it.
    pub fn part(&self) -> Value {
        serde_json::json!({ "type": "image", "data": self.data, "mimeType": self.mime_type })
    }
}

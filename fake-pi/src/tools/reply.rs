//! Results and arguments in the forms that all tools share.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::tool::{ToolError, ToolOutput, ToolRun};

/// What a tool needs of its options at each run.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    pub(super) home: PathBuf,
    pub(super) temp_dir: PathBuf,
}

/// A result that is one text.
pub(super) fn text(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        content: vec![json!({"type": "text", "text": text.into()})],
        ..ToolOutput::default()
    }
}

/// A failure with this text.
pub(super) fn failure<T>(text: impl Into<String>) -> Result<T, ToolError> {
    Err(ToolError(text.into()))
}

/// Fails if the run was aborted before it started. File tools have no later moment: they do not wait.
pub(super) fn check_abort(run: &ToolRun) -> Result<(), ToolError> {
    if run.abort.is_cancelled() {
        failure("Operation aborted")
    } else {
        Ok(())
    }
}

/// The path argument. A handler may have put anything there; the text is JavaScript's then.
pub(super) fn path(input: &Value) -> Result<&str, ToolError> {
    match input.get("path") {
        Some(Value::String(path)) => Ok(path),
        None => failure("Cannot read properties of undefined (reading 'replace')"),
        Some(Value::Null) => failure("Cannot read properties of null (reading 'replace')"),
        Some(_) => failure("normalized.replace is not a function"),
    }
}

/// A number argument, if it is one.
pub(super) fn number(input: &Value, key: &str) -> Option<f64> {
    input.get(key).and_then(Value::as_f64)
}

/// A limit of results: at least one, a whole number.
pub(super) fn limit(input: &Value, default: usize) -> usize {
    let Some(given) = number(input, "limit") else {
        return default;
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is meant"
    )]
    let whole = given.floor() as usize;
    whole.max(1)
}

/// A number as JavaScript prints it and JSON holds it: whole ones without a fraction.
pub(super) fn js_number(number: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and within 2^53, so exact"
        )]
        let whole = number as i64;
        return whole.into();
    }
    number.into()
}

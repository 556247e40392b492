//! Answers that say, or show, that the context is too large for the model.

use regex::Regex;
use serde_json::Value;

use crate::host::{CONTEXT_WINDOW, MAX_OUTPUT};

/// Whether an answer failed because the context is larger than the model's window. Of the many wordings of providers
/// that Pi knows, those of OpenAI and of servers that follow it are modelled.
pub(crate) fn is_overflow(message: &Value) -> bool {
    let input = message["usage"]["input"].as_u64().unwrap_or_default();
    match message["stopReason"].as_str() {
        Some("error") => {
            let pattern = r"(?i)exceeds the context window|maximum context length is \d+ tokens|context[_ ]length[_ ]exceeded|^413(?:\s|:|$)";
            let text = message["errorMessage"].as_str().unwrap_or_default();
            // The pattern is a constant that the tests compile.
            Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
        }
        Some("stop") => input > CONTEXT_WINDOW,
        // A server that cuts the input to its window has no room left for an answer.
        Some("length") => message["usage"]["output"] == 0 && input * 100 >= CONTEXT_WINDOW * 99,
        _ => false,
    }
}

/// Whether an answer was cut off below the model's own limit, so that room in the context may help.
pub(crate) fn is_cut_short(message: &Value) -> bool {
    let output = message["usage"]["output"].as_u64().unwrap_or_default();
    message["stopReason"] == "length" && output < MAX_OUTPUT
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_about_the_window_count_and_others_do_not() {
        let failed =
            |text: &str| is_overflow(&json!({"stopReason": "error", "errorMessage": text}));
        assert!(failed(
            "400: Your input exceeds the context window of this model"
        ));
        assert!(failed("413: too large"));
        assert!(!failed("400: request 413 failed"));
        assert!(!failed("500: boom"));
    }

    #[test]
    fn an_answer_to_a_request_larger_than_the_window_counts() {
        let answered = |input: u64| {
            is_overflow(&json!({"stopReason": "stop", "usage": {"input": input, "output": 1}}))
        };
        assert!(answered(CONTEXT_WINDOW + 1));
        assert!(!answered(CONTEXT_WINDOW));
    }
}

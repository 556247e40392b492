//! Answers that say, or show, that the context is too large for the model.

use serde_json::Value;

use crate::host::{CONTEXT_WINDOW, MAX_OUTPUT};

/// Whether an answer failed because the context is larger than the model's window. Of the many wordings of providers
/// that Pi knows, those of OpenAI and of servers that follow it are modelled.
pub(crate) fn is_overflow(message: &Value) -> bool {
    let input = message["usage"]["input"].as_u64().unwrap_or_default();
    match message["stopReason"].as_str() {
        Some("error") => says_overflow(message["errorMessage"].as_str().unwrap_or_default()),
        Some("stop") => input > CONTEXT_WINDOW,
        // A server that cuts the input to its window has no room left for an answer.
        Some("length") => message["usage"]["output"] == 0 && input * 100 >= CONTEXT_WINDOW * 99,
        _ => false,
    }
}

fn says_overflow(error: &str) -> bool {
    let error = error.to_ascii_lowercase();
    let is_code = || error.replace('_', " ").contains("context length exceeded");
    let is_status = || {
        let rest = error.strip_prefix("413");
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|c: char| c == ':' || c.is_whitespace())
        })
    };
    error.contains("exceeds the context window") || names_limit(&error) || is_code() || is_status()
}

/// Whether an error says how many tokens are the most.
fn names_limit(error: &str) -> bool {
    let mut behind = error.split("maximum context length is ").skip(1);
    behind.any(|behind| {
        let unit = behind.trim_start_matches(|sign: char| sign.is_ascii_digit());
        unit.len() < behind.len() && unit.starts_with(" tokens")
    })
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
        for limit in [
            "400: This model's maximum context length is 128000 tokens, you asked for more",
            "maximum context length is unknown; the Maximum Context Length is 7 tokens",
        ] {
            assert!(failed(limit), "{limit}");
        }
        assert!(!failed("the maximum context length is  tokens"));
        assert!(!failed("the maximum context length is 128,000 tokens"));
        assert!(!failed("the maximum context length is 128000 characters"));
        for code in [
            "context_length_exceeded",
            "Context length exceeded",
            "400: CONTEXT_LENGTH exceeded.",
        ] {
            assert!(failed(code), "{code}");
        }
        assert!(!failed("context-length-exceeded"));
        assert!(!failed("exceeds_the_context_window"));
        for status in ["413", "413: too large", "413 too large", "413\nnobody"] {
            assert!(failed(status), "{status}");
        }
        assert!(!failed("4130: boom"));
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

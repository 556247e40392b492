//! Retries of a failed request (pi-host.md 1.5): the attempt is taken out of the context, and the run starts again.

use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Session;

/// How often a request is repeated.
const ATTEMPTS: u32 = 3;
/// The wait before the first repetition; each further one doubles it.
const BASE_DELAY: Duration = Duration::from_secs(2);

/// Whether an error is one that passes: a status that servers under load give. Of Pi's longer list only what a
/// simulated model can answer is modelled: statuses, and words about load.
fn passes(error: &str) -> bool {
    let pattern = r"(?i)(?:^|[^a-z0-9])(?:429|500|502|503|504|520|524)(?:[^a-z0-9]|$)|overloaded|rate.?limit|too many requests|server.?error|internal.?error";
    // The pattern is a constant that the tests compile.
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(error))
}

/// Whether a message is a failure worth repeating.
fn is_retryable(message: &Value) -> bool {
    message["stopReason"] == "error" && message["errorMessage"].as_str().is_some_and(passes)
}

impl Session {
    /// What `agent_end` tells the client.
    pub(super) fn will_retry(&self, messages: &[Value]) -> bool {
        let state = self.state();
        let last = messages
            .iter()
            .rev()
            .find(|message| message["role"] == "assistant");
        !state.abort_requested && state.retry_attempt < ATTEMPTS && last.is_some_and(is_retryable)
    }

    /// Prepares a repetition after a failed run; says whether one is due. Waits, unless aborted.
    pub(super) async fn prepare_retry(&self, message: &Value, entry: &str) -> bool {
        if !is_retryable(message) {
            return false;
        }
        let (attempt, wait) = {
            let mut state = self.state();
            if state.retry_attempt >= ATTEMPTS {
                return false;
            }
            state.retry_attempt += 1;
            let wait = CancellationToken::new();
            state.retry_wait = Some(wait.clone());
            (state.retry_attempt, wait)
        };
        let delay = BASE_DELAY * 2_u32.pow(attempt - 1);
        let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.record(
            json!({"type": "auto_retry_start", "attempt": attempt, "maxAttempts": ATTEMPTS,
            "delayMs": delay_ms, "errorMessage": message["errorMessage"]}),
        );
        let edit = self.append(
            "context_edit",
            json!({"targetId": entry, "replacement": null}),
        );
        self.announce_entry(&edit);
        let waited = tokio::select! {
            () = wait.cancelled() => false,
            () = sleep(delay) => true,
        };
        self.state().retry_wait = None;
        if !waited {
            self.cancel_retry();
        }
        waited
    }

    /// Tells that no repetition follows, if one was under way.
    pub(super) fn cancel_retry(&self) {
        self.give_up_retry("Retry cancelled");
    }

    /// Tells that the last repetition failed too, if there was one.
    pub(super) fn give_up_retry(&self, error: &str) {
        let attempt = std::mem::take(&mut self.state().retry_attempt);
        if attempt > 0 {
            self.record(json!({"type": "auto_retry_end", "success": false, "attempt": attempt, "finalError": error}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_counts_only_as_a_word() {
        assert!(passes("500: {\"message\":\"boom\"}"));
        assert!(passes("429: slow down"));
        assert!(!passes("400: {\"message\":\"boom\"}"));
        assert!(!passes("400: request req_5000 failed"));
    }
}

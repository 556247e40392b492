//! Retries of a failed request (pi-host.md 1.5): the attempt is taken out of the context, and the run starts again.

use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::compaction::overflow;
use crate::settings::RetrySettings;

/// The longest wait before a repetition.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Whether an error is one that passes: a status that servers under load give. Of Pi's longer list only what a
/// simulated model can answer is modelled: statuses, and words about load.
pub(crate) fn passes(error: &str) -> bool {
    let pattern = r"(?i)(?:^|[^a-z0-9])(?:429|500|502|503|504|520|524)(?:[^a-z0-9]|$)|overloaded|rate.?limit|too many requests|server.?error|internal.?error";
    // The pattern is a constant that the tests compile.
    Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(error))
}

/// The wait before a repetition; the first is 1.
pub(crate) fn delay(settings: RetrySettings, attempt: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
    settings
        .base_delay
        .saturating_mul(doubled)
        .min(LONGEST_DELAY)
}

pub(crate) fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a message is a failure worth repeating.
fn is_retryable(message: &Value) -> bool {
    message["stopReason"] == "error"
        && !overflow::is_overflow(message)
        && message["errorMessage"].as_str().is_some_and(passes)
}

impl Session {
    /// What `agent_end` tells the client.
    pub(super) fn will_retry(&self, messages: &[Value]) -> bool {
        let state = self.state();
        let last = messages
            .iter()
            .rev()
            .find(|message| message["role"] == "assistant");
        let retry = self.host.options.settings.retry;
        !state.abort_requested
            && retry.enabled
            && state.retry_attempt < retry.max_retries
            && last.is_some_and(is_retryable)
    }

    /// Prepares a repetition after a failed run; says whether one is due. Waits, unless aborted.
    pub(super) async fn prepare_retry(&self, message: &Value, entry: &str) -> bool {
        let retry = self.host.options.settings.retry;
        if !retry.enabled || !is_retryable(message) {
            return false;
        }
        let (attempt, wait) = {
            let mut state = self.state();
            if state.retry_attempt >= retry.max_retries {
                return false;
            }
            state.retry_attempt += 1;
            let wait = CancellationToken::new();
            state.retry_wait = Some(wait.clone());
            (state.retry_attempt, wait)
        };
        let delay = delay(retry, attempt);
        let delay_ms = whole_ms(delay);
        self.record(
            json!({"type": "auto_retry_start", "attempt": attempt, "maxAttempts": retry.max_retries,
            "delayMs": delay_ms, "errorMessage": message["errorMessage"]}),
        );
        self.omit_attempt(message, entry);
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

    /// Takes a failed attempt out of the model's context, with the results of its calls.
    pub(super) fn omit_attempt(&self, message: &Value, entry: &str) {
        let calls = message["content"].as_array().into_iter().flatten();
        let calls: Vec<&Value> = calls
            .filter(|part| part["type"] == "toolCall")
            .map(|part| &part["id"])
            .collect();
        let branch = self.branch();
        let after = branch
            .iter()
            .skip_while(|known| known["id"] != entry)
            .skip(1)
            .take_while(|known| known["message"]["role"] != "assistant");
        let results = after
            .filter(|known| {
                known["message"]["role"] == "toolResult"
                    && calls.contains(&&known["message"]["toolCallId"])
            })
            .filter_map(|known| known["id"].as_str());
        for target in std::iter::once(entry).chain(results) {
            let edit = self.append(
                "context_edit",
                json!({"targetId": target, "replacement": null}),
            );
            self.announce_entry(&edit);
        }
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

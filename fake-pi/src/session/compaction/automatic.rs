//! Compaction that nobody asked for: the context comes near the model's window, or an answer shows that it is over it.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Attempt, Failed, Reason, context_tokens, cut, overflow, tokens};
use crate::clock;
use crate::host::CONTEXT_WINDOW;
use crate::session::Session;

impl Session {
    /// Between two turns of a run: whether the next request would leave too little room.
    pub(crate) async fn compact_between_turns(&self) {
        let tokens = context_tokens(&self.branch());
        if self.is_too_full(tokens) {
            self.compact_by_itself(Reason::Threshold, false).await;
        }
    }

    fn is_too_full(&self, tokens: u64) -> bool {
        let settings = self.host.options.settings.compaction;
        settings.enabled && tokens > CONTEXT_WINDOW.saturating_sub(settings.reserve_tokens)
    }

    /// Before a run: looks at the last answer, an aborted one too.
    pub(crate) async fn compact_before_run(&self) {
        let projection = crate::extension::lock(&self.history).projection();
        let answer = projection.iter().rev().find_map(|entry| {
            let mut answers = entry
                .messages
                .iter()
                .filter(|message| message["role"] == "assistant");
            answers
                .next()
                .map(|answer| (answer.clone(), entry.id().to_owned()))
        });
        if let Some((message, entry)) = answer {
            self.compact_after(&message, &entry).await;
        }
    }

    /// Looks at an answer after its run, and compacts where it shows that this is needed. Says whether the run goes on:
    /// a request that was too large is repeated, once, and what waits meanwhile is delivered.
    pub(crate) async fn compact_after(&self, message: &Value, entry: &str) -> bool {
        if !self.host.options.settings.compaction.enabled {
            return false;
        }
        let branch = self.branch();
        let compacted = branch.iter().rfind(|entry| entry["type"] == "compaction");
        let at_ms =
            |entry: &Value| clock::ms_of_iso(entry["timestamp"].as_str().unwrap_or_default());
        // An answer from before the last compaction says nothing about what is there now.
        let is_stale = |message: &Value| {
            compacted.is_some_and(|entry| message["timestamp"].as_u64() <= Some(at_ms(entry)))
        };
        if is_stale(message) {
            return false;
        }
        let projection = crate::extension::lock(&self.history).projection();
        let is_there = projection
            .iter()
            .any(|known| known.id() == entry && !known.messages.is_empty());
        let after: Vec<&Value> = branch
            .iter()
            .skip_while(|known| known["id"] != entry)
            .skip(1)
            .collect();
        let edited = after.iter().any(|known| known["type"] == "context_edit");
        let given_up = after
            .iter()
            .rfind(|known| known["type"] == "context_edit" && known["targetId"] == entry)
            .is_some_and(|edit| edit["replacement"].is_null());
        let too_large = overflow::is_overflow(message)
            && if message["stopReason"] == "error" {
                !given_up
            } else {
                is_there && !edited
            };
        if too_large || (is_there && overflow::is_cut_short(message)) {
            return self.recover(message, entry, too_large).await;
        }
        let has_edits = projection.iter().any(|known| known.is("context_edit"));
        let total = message["usage"]["totalTokens"].as_u64().unwrap_or_default();
        let tokens = if has_edits {
            tokens::of_context(&projection, &branch)
        } else if message["stopReason"] == "error" || total == 0 {
            let messages = self.messages();
            let (tokens, answer) = tokens::of_messages(&messages);
            if answer.is_some_and(|answer| is_stale(&messages[answer])) {
                return false;
            }
            tokens
        } else {
            total
        };
        self.is_too_full(tokens) && self.compact_by_itself(Reason::Threshold, false).await
    }

    /// Makes room after an answer that showed a lack of it, and says whether the request is repeated.
    async fn recover(&self, message: &Value, entry: &str, too_large: bool) -> bool {
        if message["stopReason"] == "stop" {
            return self.compact_by_itself(Reason::Overflow, false).await;
        }
        if std::mem::replace(&mut self.state().overflow_tried, true) {
            let text = if too_large {
                "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or \
                 switching to a larger-context model."
            } else {
                "Truncated response recovery failed after one compact-and-retry attempt."
            };
            let told = |kind: &str| {
                json!({"type": kind, "reason": "overflow", "aborted": false,
                "willRetry": false, "errorMessage": text})
            };
            self.record(told("compaction_end"));
            let mut event = told("session_compact_failed");
            event["fromExtension"] = false.into();
            self.instance().emit(event).await;
            return false;
        }
        self.omit_attempt(message, entry);
        self.compact_by_itself(Reason::Overflow, true).await
    }

    async fn compact_by_itself(&self, reason: Reason, will_retry: bool) -> bool {
        let branch = self.branch();
        let keep = self.host.options.settings.compaction.keep_recent_tokens;
        let Some(prepared) = cut::prepare(&branch, keep) else {
            return false;
        };
        let signal = CancellationToken::new();
        self.state().auto_compaction = Some(signal.clone());
        self.record(json!({"type": "compaction_start", "reason": reason.word()}));
        let attempt = Attempt {
            reason,
            will_retry,
            focus: None,
            signal,
        };
        let made: Result<Value, Failed> = self.compacted(&attempt, &prepared, &branch).await;
        let goes_on = match made {
            Ok(result) => {
                self.tell_compacted(&attempt, &result);
                will_retry || !self.state().queue.is_empty()
            }
            Err(failed) => {
                self.tell_failed(&attempt, &failed).await;
                false
            }
        };
        self.state().auto_compaction = None;
        self.wake_if_idle();
        goes_on
    }
}

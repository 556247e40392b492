//! Compaction: a summary takes the place of older messages (Pi's compaction documentation; observed on Pi 1.6.0).

mod automatic;
mod cut;
mod files;
pub(crate) mod overflow;
pub(crate) mod summary;
pub(crate) mod tokens;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) use self::files::Files;

use self::cut::Preparation;
use self::summary::{Asked, NoSummary, Short};
use super::Session;
use super::projection;
use crate::agent::system;
use crate::instance::truthy;

/// Pi's text for a compaction that was aborted, or that a handler cancelled.
const CANCELLED: &str = "Compaction cancelled";

/// What asks for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Manual,
    Threshold,
    Overflow,
}

impl Reason {
    fn word(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }

    /// How the client reads a failure.
    fn failure(self, error: &str) -> String {
        match self {
            Self::Manual => format!("Compaction failed: {error}"),
            Self::Threshold => format!("Auto-compaction failed: {error}"),
            Self::Overflow => format!("Context overflow recovery failed: {error}"),
        }
    }
}

/// One compaction that is under way.
struct Attempt<'a> {
    reason: Reason,
    will_retry: bool,
    focus: Option<&'a str>,
    signal: CancellationToken,
}

/// What a compaction puts in the place of messages.
struct Made {
    summary: String,
    first_kept: Value,
    tokens_before: Value,
    details: Value,
    from_extension: bool,
}

/// Why a compaction came to nothing.
struct Failed {
    error: String,
    /// Whether it was aborted or cancelled, and nothing went wrong.
    aborted: bool,
    from_extension: bool,
}

impl Session {
    /// Compacts the session, after aborting what runs. Gives the result for the response.
    ///
    /// # Errors
    /// Pi's text: nothing to compact, cancelled, or why there is no summary.
    pub(crate) async fn compact(&self, focus: Option<&str>) -> Result<Value, String> {
        self.abort().await;
        let signal = CancellationToken::new();
        self.state().compaction = Some(signal.clone());
        self.record(json!({"type": "compaction_start", "reason": "manual"}));
        let attempt = Attempt {
            reason: Reason::Manual,
            will_retry: false,
            focus,
            signal,
        };
        let branch = self.branch();
        let made = match cut::prepare(&branch, self.keep_tokens()) {
            Some(prepared) => self.compacted(&attempt, &prepared, &branch).await,
            None => Err(Failed {
                error: if branch
                    .last()
                    .is_some_and(|entry| entry["type"] == "compaction")
                {
                    "Already compacted".to_owned()
                } else {
                    "Nothing to compact (session too small)".to_owned()
                },
                aborted: false,
                from_extension: false,
            }),
        };
        self.state().compaction = None;
        self.wake_if_idle();
        match made {
            Ok(result) => {
                self.tell_compacted(&attempt, &result);
                Ok(result)
            }
            Err(failed) => {
                self.tell_failed(&attempt, &failed).await;
                Err(failed.error)
            }
        }
    }

    fn keep_tokens(&self) -> u64 {
        self.host.options.settings.compaction.keep_recent_tokens
    }

    /// Whether a compaction or the summary of a branch is under way.
    pub(crate) fn is_compacting(&self) -> bool {
        let state = self.state();
        state.compaction.is_some()
            || state.auto_compaction.is_some()
            || state.branch_summary.is_some()
    }

    /// Makes the summary, appends it, and tells the extensions. Gives the result.
    async fn compacted(
        &self,
        attempt: &Attempt<'_>,
        prepared: &Preparation,
        branch: &[Value],
    ) -> Result<Value, Failed> {
        let made = self.made(attempt, prepared, branch).await?;
        let failed = |error: &str| Failed {
            error: error.to_owned(),
            aborted: true,
            from_extension: made.from_extension,
        };
        if attempt.signal.is_cancelled() {
            return Err(failed(CANCELLED));
        }
        let entry = self.append_compaction(&made);
        let event = json!({"type": "session_compact", "compactionEntry": entry,
            "fromExtension": made.from_extension, "reason": attempt.reason.word(), "willRetry": attempt.will_retry});
        let after: u64 = self.messages().iter().map(tokens::of_message).sum();
        self.instance().emit(event).await;
        let mut result = json!({"summary": made.summary, "firstKeptEntryId": made.first_kept,
            "tokensBefore": made.tokens_before, "estimatedTokensAfter": after});
        if !made.details.is_null() {
            result["details"] = made.details;
        }
        Ok(result)
    }

    /// What a handler of `session_before_compact` gives, or else the model.
    async fn made(
        &self,
        attempt: &Attempt<'_>,
        prepared: &Preparation,
        branch: &[Value],
    ) -> Result<Made, Failed> {
        let failed = |error: String, aborted: bool| Failed {
            error,
            aborted: aborted || attempt.signal.is_cancelled(),
            from_extension: false,
        };
        let instance = self.instance();
        if instance.has_handlers("session_before_compact") {
            let settings = self.host.options.settings.compaction;
            let mut event = json!({"type": "session_before_compact", "preparation": prepared.shown(settings),
                "branchEntries": branch, "reason": attempt.reason.word(), "willRetry": attempt.will_retry});
            if let Some(focus) = attempt.focus {
                event["customInstructions"] = focus.into();
            }
            let asked = instance.emit(event).await;
            if truthy(&asked["cancel"]) {
                return Err(failed(CANCELLED.to_owned(), true));
            }
            let own = &asked["compaction"];
            if truthy(own) {
                return Ok(Made {
                    summary: own["summary"].as_str().unwrap_or_default().to_owned(),
                    first_kept: own["firstKeptEntryId"].clone(),
                    tokens_before: own["tokensBefore"].clone(),
                    details: own["details"].clone(),
                    from_extension: true,
                });
            }
        }
        let summary = self
            .summed_up(attempt, prepared)
            .await
            .map_err(|error| match error {
                NoSummary::Aborted => failed(CANCELLED.to_owned(), true),
                NoSummary::Failed(error) => failed(error, false),
            })?;
        Ok(Made {
            summary: summary + &prepared.files.written(),
            first_kept: prepared.first_kept.clone().into(),
            tokens_before: prepared.tokens_before.into(),
            details: prepared.files.details(),
            from_extension: false,
        })
    }

    async fn summed_up(
        &self,
        attempt: &Attempt<'_>,
        prepared: &Preparation,
    ) -> Result<String, NoSummary> {
        const LABEL: &str = "Summarization";
        let source = json!({"source": "compaction", "reason": attempt.reason.word()});
        let whole = Asked {
            messages: &prepared.history,
            previous: prepared.previous.as_deref(),
            focus: attempt.focus,
            label: LABEL,
        };
        let ask = async |text: String, label: &str, short| {
            self.ask_for_summary(&text, label, short, &source, &attempt.signal)
                .await
        };
        if prepared.prefix.is_empty() {
            return ask(summary::of_conversation(&whole), whole.label, Short::Whole).await;
        }
        let before = if prepared.history.is_empty() {
            let previous = prepared.previous.clone();
            previous.unwrap_or_else(|| "No prior history.".to_owned())
        } else {
            ask(summary::of_conversation(&whole), whole.label, Short::Whole).await?
        };
        let prefix = Asked {
            messages: &prepared.prefix,
            previous: None,
            label: "Turn prefix summarization",
            ..whole
        };
        let of_prefix = ask(summary::of_prefix(&prefix), prefix.label, Short::Prefix).await?;
        Ok(format!(
            "{before}\n\n---\n\n**Turn Context (split turn):**\n\n{of_prefix}"
        ))
    }

    /// Appends the entry, with the prompt and the tools as they stand. Gives it.
    fn append_compaction(&self, made: &Made) -> Value {
        let prompt = system::current(&self.messages());
        let mut members = json!({"summary": made.summary, "firstKeptEntryId": made.first_kept,
            "tokensBefore": made.tokens_before});
        if !made.details.is_null() {
            members["details"] = made.details.clone();
        }
        members["fromHook"] = made.from_extension.into();
        if let Some(mut prompt) = prompt {
            prompt["timestamp"] = self.host.clock.now_ms().into();
            members["systemMessage"] = prompt;
        }
        let id = self.append("compaction", members);
        let branch = self.branch();
        let appended = branch.into_iter().rfind(|entry| entry["id"] == *id);
        appended.unwrap_or_default()
    }

    fn tell_compacted(&self, attempt: &Attempt<'_>, result: &Value) {
        self.record(
            json!({"type": "compaction_end", "reason": attempt.reason.word(), "result": result, "aborted": false,
                "willRetry": attempt.will_retry}),
        );
    }

    async fn tell_failed(&self, attempt: &Attempt<'_>, failed: &Failed) {
        let text = (!failed.aborted).then(|| attempt.reason.failure(&failed.error));
        let told = |kind: &str| {
            let mut told = json!({"type": kind, "reason": attempt.reason.word(), "aborted": failed.aborted,
                "willRetry": false});
            if let Some(text) = &text {
                told["errorMessage"] = text.clone().into();
            }
            told
        };
        self.record(told("compaction_end"));
        // Who waited for the session to be idle goes first: an abort is answered before what it aborted.
        tokio::task::yield_now().await;
        let mut event = told("session_compact_failed");
        event["fromExtension"] = failed.from_extension.into();
        self.instance().emit(event).await;
    }
}

/// The tokens of a branch's context.
fn context_tokens(branch: &[Value]) -> u64 {
    tokens::of_context(&projection::of(branch), branch)
}

//! Going to another entry of the session's tree, with or without a summary of the branch that is left.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Session;
use super::compaction::summary::{self, Asked, NoSummary, Short};
use super::compaction::{Files, tokens};
use super::projection;
use crate::extension::lock;
use crate::host::CONTEXT_WINDOW;
use crate::instance::truthy;

/// Stands for the sentences with which Pi begins a branch's summary.
const PREAMBLE: &str = "<a branch that was left>\n\n";

/// The tokens that a request for a branch's summary leaves free; Pi's default.
const RESERVE: u64 = 16_384;

/// How to go to another entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NavigateOptions {
    /// Whether the model sums up the branch that is left.
    pub summarize: bool,
    /// What the summary is to look at.
    pub instructions: Option<String>,
    /// A label for the summary, or for the entry when there is none.
    pub label: Option<String>,
}

/// A summary of the branch that is left.
struct Summary {
    text: String,
    details: Value,
    from_extension: bool,
}

impl Session {
    /// Goes to an entry: behind it, or before it when it is a prompt or a custom message, which the person is then given
    /// to write anew. Says whether it was cancelled.
    ///
    /// # Errors
    /// Pi's text: something runs, there is no such entry, or why there is no summary.
    pub(crate) async fn navigate(
        &self,
        target: &str,
        options: NavigateOptions,
    ) -> Result<bool, String> {
        if self.is_running() || self.state().preflights > 0 {
            return Err(
                "Wait for the current response to finish before navigating the session tree."
                    .to_owned(),
            );
        }
        if self.is_compacting() {
            return Err("Wait for the current compaction or tree navigation to finish before navigating the session \
                        tree."
                .to_owned());
        }
        if self.leaf().as_deref() == Some(target) {
            return Ok(false);
        }
        let entry = self.history().entry(target);
        let entry = entry.ok_or_else(|| format!("Entry {target} not found"))?;
        let signal = CancellationToken::new();
        self.state().branch_summary = Some(signal.clone());
        let done = self.go(&entry, options, &signal).await;
        self.state().branch_summary = None;
        self.wake_if_idle();
        // Who waited for the session to be idle goes first: an abort is answered before what it aborted.
        tokio::task::yield_now().await;
        done
    }

    async fn go(
        &self,
        entry: &Value,
        mut options: NavigateOptions,
        signal: &CancellationToken,
    ) -> Result<bool, String> {
        let target = entry["id"].as_str().unwrap_or_default();
        let old_leaf = self.leaf();
        let (left, ancestor) = self.branch_left(old_leaf.as_deref(), target);
        let preparation = json!({"targetId": target, "oldLeafId": old_leaf, "commonAncestorId": ancestor,
            "entriesToSummarize": left, "userWantsSummary": options.summarize,
            "customInstructions": options.instructions, "label": options.label});
        let event = json!({"type": "session_before_tree", "preparation": preparation});
        let asked = self.instance().emit(event).await;
        if truthy(&asked["cancel"]) {
            return Ok(true);
        }
        if let Some(instructions) = asked["customInstructions"].as_str() {
            options.instructions = Some(instructions.to_owned());
        }
        if let Some(label) = asked["label"].as_str() {
            options.label = Some(label.to_owned());
        }
        let own = &asked["summary"];
        let summary = if !options.summarize {
            None
        } else if truthy(own) {
            Some(Summary {
                text: own["summary"].as_str().unwrap_or_default().to_owned(),
                details: own["details"].clone(),
                from_extension: true,
            })
        } else if left.is_empty() {
            None
        } else {
            match self
                .sum_up(&left, options.instructions.as_deref(), signal)
                .await
            {
                Ok(summary) => Some(summary),
                Err(NoSummary::Aborted) => return Ok(true),
                Err(NoSummary::Failed(error)) => return Err(error),
            }
        };
        let summary = summary.filter(|summary| !summary.text.is_empty());
        let is_written_anew = entry["type"] == "custom_message"
            || (entry["type"] == "message" && entry["message"]["role"] == "user");
        let leaf = if is_written_anew {
            entry["parentId"].as_str().map(str::to_owned)
        } else {
            Some(target.to_owned())
        };
        lock(&self.history).go_to(leaf);
        self.keep_stored();
        let summarised = summary
            .as_ref()
            .map(|summary| self.append_summary(summary, old_leaf.as_deref()));
        if let Some(label) = options.label.filter(|label| !label.is_empty()) {
            let labelled = summarised.as_deref().unwrap_or(target);
            self.append("label", json!({"targetId": labelled, "label": label}));
        }
        self.restore_tools();
        self.state().branch_summary = None;
        let mut event =
            json!({"type": "session_tree", "newLeafId": self.leaf(), "oldLeafId": old_leaf});
        if let (Some(id), Some(summary)) = (summarised, summary) {
            event["summaryEntry"] = self.history().entry(&id).unwrap_or_default();
            event["fromExtension"] = summary.from_extension.into();
        }
        self.instance().emit(event).await;
        Ok(false)
    }

    /// The entries of the branch that is left, and the last entry that both branches have.
    fn branch_left(&self, leaf: Option<&str>, target: &str) -> (Vec<Value>, Option<String>) {
        let history = self.history();
        let Some(leaf) = leaf else {
            return (Vec::new(), None);
        };
        let old = history.branch_to(leaf);
        let new = history.branch_to(target);
        let common = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old["id"] == new["id"])
            .count();
        let ancestor = common.checked_sub(1).and_then(|at| old[at]["id"].as_str());
        (old[common..].to_vec(), ancestor.map(str::to_owned))
    }

    async fn sum_up(
        &self,
        left: &[Value],
        focus: Option<&str>,
        signal: &CancellationToken,
    ) -> Result<Summary, NoSummary> {
        let (messages, files) = told(left);
        let text = if messages.is_empty() {
            "No content to summarize".to_owned()
        } else {
            let asked = Asked {
                messages: &messages,
                previous: None,
                focus,
                label: "Branch summarization",
            };
            let request = summary::of_conversation(&asked);
            let source = json!({"source": "branchSummary"});
            let text = self
                .ask_for_summary(&request, asked.label, Short::Branch, &source, signal)
                .await?;
            format!("{PREAMBLE}{text}{}", files.written())
        };
        Ok(Summary {
            text,
            details: files.details(),
            from_extension: false,
        })
    }

    fn append_summary(&self, summary: &Summary, from: Option<&str>) -> String {
        let mut members = json!({"fromId": from.unwrap_or("root"), "summary": summary.text});
        if !summary.details.is_null() {
            members["details"] = summary.details.clone();
        }
        members["fromHook"] = summary.from_extension.into();
        self.append("branch_summary", members)
    }
}

/// What of a branch is summed up: from its end back as much as fits, results of tools left out, and the files of it.
fn told(left: &[Value]) -> (Vec<Value>, Files) {
    let mut files = Files::default();
    for entry in left
        .iter()
        .filter(|entry| entry["type"] == "branch_summary")
    {
        files.take_up(entry);
    }
    let mut messages = Vec::new();
    let mut sum = 0;
    for known in projection::each(left).into_iter().rev() {
        let is_summary = known.is("branch_summary") || known.is("compaction");
        let Some(message) = known
            .messages
            .into_iter()
            .rfind(|message| message["role"] != "toolResult")
        else {
            continue;
        };
        files.note(&message);
        let tokens = tokens::of_message(&message);
        let budget = CONTEXT_WINDOW - RESERVE;
        if sum + tokens > budget {
            if is_summary && sum * 10 < budget * 9 {
                messages.push(message);
            }
            break;
        }
        sum += tokens;
        messages.push(message);
    }
    messages.reverse();
    (messages, files)
}

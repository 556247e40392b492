//! The two points at which handlers may ask for another request: the end of a turn, and of a run.

use serde_json::{Value, json};

use super::Session;
use crate::agent::request;

impl Session {
    /// `turn_end` for the extensions. Says whether one of them asked to go on.
    pub(crate) async fn end_turn(&self, message: &Value, results: &[Value]) -> bool {
        let outcome = match message["stopReason"].as_str() {
            Some("aborted") => "aborted",
            Some("error") => "error",
            _ => "completed",
        };
        let (index, entry) = {
            let mut state = self.state();
            state.outcome = outcome;
            (
                state.turn_index,
                state.last_assistant.as_ref().map(|(_, id)| id.clone()),
            )
        };
        let instance = self.instance();
        if self.is_disposed() || !instance.has_handlers("turn_end") {
            return false;
        }
        let ids = self.result_entries(results);
        let base = json!({
            "type": "turn_end", "turnIndex": index, "message": message, "toolResults": results,
            "messageEntryId": entry, "toolResultEntryIds": ids, "outcome": outcome
        });
        let decided = instance
            .emit_boundary(&base, || self.boundary_context(true))
            .await;
        if decided.go_on && self.boundary_context(true)["canContinue"] != true {
            self.report_invalid("turn_end");
            return false;
        }
        decided.go_on
    }

    fn result_entries(&self, results: &[Value]) -> Vec<Value> {
        let branch = self.branch();
        let entry_of = |result: &Value| {
            let same = |entry: &&Value| entry["type"] == "message" && entry["message"] == *result;
            branch
                .iter()
                .rev()
                .find(same)
                .map(|entry| entry["id"].clone())
        };
        results.iter().filter_map(entry_of).collect()
    }

    /// `agent_before_settle`. Says whether the run goes on.
    pub(super) async fn before_settle(&self) -> bool {
        let instance = self.instance();
        if !instance.has_handlers("agent_before_settle") {
            return !self.state().queue.is_empty();
        }
        let outcome = {
            let mut state = self.state();
            state.before_settle = true;
            state.abort_before_settle = false;
            state.outcome
        };
        let base = json!({"type": "agent_before_settle", "outcome": outcome});
        let decided = instance
            .emit_boundary(&base, || self.boundary_context(false))
            .await;
        self.flush_custom_messages();
        let (aborted, queued) = {
            let mut state = self.state();
            state.before_settle = false;
            (state.abort_before_settle, !state.queue.is_empty())
        };
        if aborted || !(decided.go_on || queued) {
            return false;
        }
        if self.boundary_context(false)["canContinue"] != true {
            if decided.go_on {
                self.report_invalid("agent_before_settle");
            }
            return false;
        }
        true
    }

    fn report_invalid(&self, event: &str) {
        let text = format!("{event} requested continuation without runnable model context");
        self.instance().report("<boundary>", event, &text);
    }

    /// The `context` member of both events.
    fn boundary_context(&self, ends_turn: bool) -> Value {
        let projection = crate::extension::lock(&self.history).projection();
        let entries: Vec<Value> = projection
            .iter()
            .map(|(entry, messages)| json!({"sourceEntry": entry, "messages": messages}))
            .collect();
        let messages: Vec<Value> = projection
            .into_iter()
            .flat_map(|(_, messages)| messages)
            .collect();
        let llm: Vec<Value> = messages.iter().map(request::to_llm).collect();
        let last = llm
            .last()
            .map(|message| message["role"].clone())
            .unwrap_or_default();
        let (queued, mut pending, custom) = {
            let state = self.state();
            (
                !state.queue.is_empty(),
                state.queue.next(),
                state.pending_custom.clone(),
            )
        };
        let talks = llm.iter().any(|message| message["role"] != "system");
        let can_continue = (talks && last != "assistant")
            || !custom.is_empty()
            || (queued && (ends_turn || last == "assistant"));
        pending.extend(custom);
        json!({"contextEntries": entries, "contextMessages": messages, "llmMessages": llm,
            "pendingMessages": pending, "canContinue": can_continue})
    }
}

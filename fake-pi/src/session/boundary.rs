//! The two points at which handlers may ask for another request: the end of a turn, and of a run.

use serde_json::{Value, json};

use super::{Session, projection};
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
            .emit_boundary(
                &base,
                |drafts| self.boundary_context(drafts, true),
                || self.stands_at(),
            )
            .await;
        self.append_drafts(&decided.entries);
        if decided.go_on && !self.can_continue(true) {
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
            .emit_boundary(
                &base,
                |drafts| self.boundary_context(drafts, false),
                || self.stands_at(),
            )
            .await;
        self.append_drafts(&decided.entries);
        self.flush_custom_messages();
        let (aborted, queued) = {
            let mut state = self.state();
            state.before_settle = false;
            (state.abort_before_settle, !state.queue.is_empty())
        };
        if aborted || !(decided.go_on || queued) {
            return false;
        }
        if !self.can_continue(false) {
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

    /// Its last entry, and how many messages wait.
    fn stands_at(&self) -> (Option<String>, usize) {
        let state = self.state();
        let waiting = state.queue.len() + state.pending_custom.len();
        drop(state);
        (self.leaf(), waiting)
    }

    fn can_continue(&self, ends_turn: bool) -> bool {
        let context = self.boundary_context(&Value::Null, ends_turn);
        context.is_ok_and(|context| context["canContinue"] == true)
    }

    /// The `context` member of both events, as it would be with the entries that handlers asked for so far.
    ///
    /// # Errors
    /// Why one of them cannot be appended.
    fn boundary_context(&self, drafts: &Value, ends_turn: bool) -> Result<Value, String> {
        let projection = self.with_drafts(drafts)?.projection();
        let entries: Vec<Value> = projection
            .iter()
            .map(|known| json!({"sourceEntry": known.entry, "messages": known.messages}))
            .collect();
        let messages = projection::messages(&projection);
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
        Ok(
            json!({"contextEntries": entries, "contextMessages": messages, "llmMessages": llm,
            "pendingMessages": pending, "canContinue": can_continue}),
        )
    }
}

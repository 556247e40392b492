//! Entries that handlers of a turn's or a run's end ask to append (Pi's extension documentation, boundary events).

use serde_json::{Map, Value, json};

use super::Session;
use super::compaction::tokens;
use super::history::History;
use super::projection;
use crate::agent::system;
use crate::clock::{Clock, Ids};
use crate::extension::lock;

impl History {
    /// Appends the entry that a handler described. Gives its id; `None` for a kind that handlers cannot append.
    ///
    /// # Errors
    /// Pi's text for an edit that cannot be made.
    fn append_draft(
        &mut self,
        draft: &Value,
        ids: &Ids,
        clock: &Clock,
    ) -> Result<Option<String>, String> {
        let kind = draft["type"].as_str().unwrap_or_default();
        let members = match kind {
            "custom" => picked(draft, &["customType", "data"]),
            "custom_message" => picked(draft, &["customType", "content", "display", "details"]),
            "context_edit" => self.edit(draft)?,
            "compaction" => {
                let branch = self.branch();
                let projection = projection::of(&branch);
                let mut members = picked(draft, &["summary", "firstKeptEntryId"]);
                members.insert(
                    "tokensBefore".to_owned(),
                    tokens::of_context(&projection, &branch).into(),
                );
                members.extend(picked(draft, &["details", "usage"]));
                members.insert("fromHook".to_owned(), true.into());
                if let Some(mut prompt) = system::current(&projection::messages(&projection)) {
                    prompt["timestamp"] = clock.now_ms().into();
                    members.insert("systemMessage".to_owned(), prompt);
                }
                members
            }
            _ => return Ok(None),
        };
        Ok(Some(self.append(kind, members, ids, clock)))
    }

    fn edit(&self, draft: &Value) -> Result<Map<String, Value>, String> {
        let replacement = &draft["replacement"];
        let content = &replacement["content"];
        if !replacement.is_null() && !content.is_string() && !content.is_array() {
            return Err(
                "Context edit replacement must be null or contain string/array content".to_owned(),
            );
        }
        let target = draft["targetId"].as_str().unwrap_or_default();
        let entry = self
            .entry(target)
            .ok_or_else(|| format!("Entry {target} not found"))?;
        if !self.branch().iter().any(|known| known["id"] == target) {
            return Err(format!("Entry {target} is not on the active branch"));
        }
        let role = entry["message"]["role"].as_str().unwrap_or_default();
        let editable = entry["type"] == "custom_message"
            || (entry["type"] == "message" && ["user", "assistant", "toolResult"].contains(&role));
        if !editable {
            return Err(format!(
                "Entry {target} does not contribute editable model content"
            ));
        }
        let replacement = match content.as_str() {
            Some(text) if role == "assistant" || role == "toolResult" => {
                json!({"content": [{"type": "text", "text": text}]})
            }
            _ => replacement.clone(),
        };
        let mut members = Map::new();
        members.insert("targetId".to_owned(), target.into());
        members.insert("replacement".to_owned(), replacement);
        Ok(members)
    }
}

impl Session {
    /// The history as it would be with these entries.
    ///
    /// # Errors
    /// Why one of them cannot be appended.
    pub(super) fn with_drafts(&self, drafts: &Value) -> Result<History, String> {
        let mut history = self.history();
        let ids = Ids::new(0);
        for draft in drafts.as_array().into_iter().flatten() {
            history.append_draft(draft, &ids, &self.host.clock)?;
        }
        Ok(history)
    }

    /// Appends entries that were tried before, and tells the client.
    pub(super) fn append_drafts(&self, drafts: &Value) {
        let mut appended = Vec::new();
        for draft in drafts.as_array().into_iter().flatten() {
            let made = lock(&self.history).append_draft(draft, &self.host.ids, &self.host.clock);
            // What cannot be appended was reported when it was tried, and nothing is appended then.
            appended.extend(made.ok().flatten());
        }
        self.keep_stored();
        for id in appended {
            self.announce_entry(&id);
        }
    }
}

fn picked(from: &Value, names: &[&str]) -> Map<String, Value> {
    let present = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
    present.collect()
}

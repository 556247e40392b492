//! What a branch of the history amounts to for the model: entry by entry, the messages that each adds.

use serde_json::{Value, json};

use crate::clock;

/// An entry with the messages that it adds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projected {
    pub(crate) entry: Value,
    pub(crate) messages: Vec<Value>,
}

impl Projected {
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.entry["type"] == kind
    }

    pub(crate) fn id(&self) -> &str {
        self.entry["id"].as_str().unwrap_or_default()
    }
}

/// Projects a branch, root first.
///
/// The last compaction stands for all before it that it did not keep, and comes first. A `context_edit` takes back or
/// replaces what an earlier entry added.
pub(crate) fn of(branch: &[Value]) -> Vec<Projected> {
    let context = context(branch);
    context
        .iter()
        .enumerate()
        .map(|(at, entry)| Projected {
            entry: (*entry).clone(),
            // One that is not at the front was kept by the one that is, and says nothing any more.
            messages: if at > 0 && entry["type"] == "compaction" {
                Vec::new()
            } else {
                edited(entry_messages(entry), edit_of(entry, &context))
            },
        })
        .collect()
}

/// Projects entries one by one, none standing for others; edits among them count.
pub(crate) fn each(entries: &[Value]) -> Vec<Projected> {
    let all: Vec<&Value> = entries.iter().collect();
    entries
        .iter()
        .map(|entry| Projected {
            entry: entry.clone(),
            messages: edited(entry_messages(entry), edit_of(entry, &all)),
        })
        .collect()
}

/// What the last edit of an entry puts in its place.
fn edit_of<'a>(entry: &Value, among: &[&'a Value]) -> Option<&'a Value> {
    let edits = among
        .iter()
        .rev()
        .filter(|edit| edit["type"] == "context_edit");
    edits
        .map(|edit| (&edit["targetId"], &edit["replacement"]))
        .find(|(target, _)| **target == entry["id"])
        .map(|(_, replacement)| replacement)
}

/// The messages of a projection.
pub(crate) fn messages(projection: &[Projected]) -> Vec<Value> {
    let all = projection.iter().flat_map(|entry| &entry.messages);
    all.cloned().collect()
}

/// The entries that count: the last compaction first, then what it kept, then what came after it.
fn context(branch: &[Value]) -> Vec<&Value> {
    let Some(at) = branch
        .iter()
        .rposition(|entry| entry["type"] == "compaction")
    else {
        return branch.iter().collect();
    };
    let kept = branch[..at]
        .iter()
        .skip_while(|entry| entry["id"] != branch[at]["firstKeptEntryId"])
        // The compaction holds the prompt and the tools as they were.
        .filter(|entry| entry["message"]["role"] != "system");
    std::iter::once(&branch[at])
        .chain(kept)
        .chain(&branch[at + 1..])
        .collect()
}

/// The messages that an entry adds, if no other one changes that.
pub(crate) fn entry_messages(entry: &Value) -> Vec<Value> {
    let at_ms = || {
        let text = entry["timestamp"].as_str().unwrap_or_default();
        clock::ms_of_iso(text)
    };
    match entry["type"].as_str() {
        Some("message") => vec![entry["message"].clone()],
        Some("custom_message") => {
            let mut message = json!({"role": "custom"});
            for member in ["customType", "content", "display", "details"] {
                if let Some(value) = entry.get(member) {
                    message[member] = value.clone();
                }
            }
            message["timestamp"] = at_ms().into();
            vec![message]
        }
        Some("branch_summary") => {
            vec![
                json!({"role": "branchSummary", "summary": entry["summary"], "fromId": entry["fromId"],
                "timestamp": at_ms()}),
            ]
        }
        Some("compaction") => {
            let summary = json!({"role": "compactionSummary", "summary": entry["summary"],
                "tokensBefore": entry["tokensBefore"], "timestamp": at_ms()});
            let prompt = entry.get("systemMessage").cloned();
            prompt.into_iter().chain([summary]).collect()
        }
        _ => Vec::new(),
    }
}

fn edited(messages: Vec<Value>, replacement: Option<&Value>) -> Vec<Value> {
    let Some(replacement) = replacement else {
        return messages;
    };
    if replacement.is_null() {
        return Vec::new();
    }
    let replaced = |mut message: Value| {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        if ["user", "assistant", "toolResult", "custom"].contains(&role.as_str()) {
            let content = &replacement["content"];
            message["content"] = match content {
                Value::String(text) if role == "assistant" || role == "toolResult" => {
                    json!([{"type": "text", "text": text}])
                }
                content => content.clone(),
            };
        }
        message
    };
    messages.into_iter().map(replaced).collect()
}

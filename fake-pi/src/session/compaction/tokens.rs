//! How large messages are, in tokens, as Pi guesses it: a quarter of their characters.

use serde_json::Value;

use crate::agent::system;
use crate::session::projection::{self, Projected};
use crate::utf16::units;

/// What an image counts for, in characters.
const IMAGE: usize = 4800;

/// Guesses the tokens of one message.
pub(crate) fn of_message(message: &Value) -> u64 {
    let written = |value: &Value| value.to_string();
    let chars = match message["role"].as_str() {
        Some("system") => {
            let sections = message["sections"].as_object().into_iter().flatten();
            let sections: usize = sections
                .filter_map(|(_, text)| text.as_str())
                .map(units)
                .sum();
            let tools = message
                .get("toolsAdded")
                .map_or(0, |tools| units(&written(tools)));
            of_content(&message["content"]) + sections + tools
        }
        Some("assistant") => {
            let parts = message["content"].as_array().into_iter().flatten();
            let of_part = |part: &Value| match part["type"].as_str() {
                Some("text") => units(part["text"].as_str().unwrap_or_default()),
                Some("toolCall") => {
                    units(part["name"].as_str().unwrap_or_default())
                        + units(&written(&part["arguments"]))
                }
                _ => 0,
            };
            parts.map(of_part).sum()
        }
        Some("branchSummary" | "compactionSummary") => {
            units(message["summary"].as_str().unwrap_or_default())
        }
        _ => of_content(&message["content"]),
    };
    u64::try_from(chars.div_ceil(4)).unwrap_or(u64::MAX)
}

fn of_content(content: &Value) -> usize {
    match content {
        Value::String(text) => units(text),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match part["type"].as_str() {
                Some("text") => units(part["text"].as_str().unwrap_or_default()),
                Some("image") => IMAGE,
                _ => 0,
            })
            .sum(),
        _ => 0,
    }
}

/// The tokens that the provider said an answer and its request took; none for an answer that did not come to its end.
pub(crate) fn said(message: &Value) -> Option<u64> {
    let ended = message["role"] == "assistant"
        && message["stopReason"] != "aborted"
        && message["stopReason"] != "error";
    let total = message["usage"]["totalTokens"].as_u64()?;
    (ended && total > 0).then_some(total)
}

/// The tokens of some messages, the last answer's own word taken for it and all before it. Gives the place of that
/// answer too.
pub(crate) fn of_messages(messages: &[Value]) -> (u64, Option<usize>) {
    let last = messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, message)| said(message).map(|tokens| (at, tokens)));
    match last {
        Some((at, tokens)) => {
            let behind: u64 = messages[at + 1..].iter().map(of_message).sum();
            (tokens + behind, Some(at))
        }
        None => (messages.iter().map(of_message).sum(), None),
    }
}

/// The tokens of a branch's context. An answer's own word counts only as long as nothing was taken out of the context
/// after it.
pub(crate) fn of_context(projection: &[Projected], branch: &[Value]) -> u64 {
    let messages = projection::messages(projection);
    let (tokens, answer) = of_messages(&messages);
    if let Some(answer) = answer {
        let mut before = 0;
        let entry = projection.iter().find(|entry| {
            before += entry.messages.len();
            answer < before
        });
        let place = |id: &str| branch.iter().position(|known| known["id"] == id);
        let answered = entry.and_then(|entry| place(entry.id()));
        let changed = branch
            .iter()
            .rposition(|entry| entry["type"] == "context_edit" || entry["type"] == "compaction");
        if answered > changed {
            return tokens;
        }
    }
    let prompt = system::current(&messages);
    let rest = messages
        .iter()
        .filter(|message| message["role"] != "system");
    prompt.iter().chain(rest).map(of_message).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_counts_a_quarter_of_its_characters_rounded_up() {
        assert_eq!(of_message(&json!({"role": "user", "content": "12345"})), 2);
        let image = json!({"role": "toolResult", "content": [{"type": "text", "text": "1234"}, {"type": "image"}]});
        assert_eq!(of_message(&image), 1201);
        let call = json!({"role": "assistant", "content": [{"type": "toolCall", "name": "read", "arguments": {"a": 1}}]});
        assert_eq!(of_message(&call), 3);
    }

    #[test]
    fn an_answers_own_word_counts_for_all_before_it() {
        let answer = |stop: &str| json!({"role": "assistant", "stopReason": stop, "content": [], "usage": {"totalTokens": 100}});
        let user = json!({"role": "user", "content": "1234"});
        let messages = [user.clone(), answer("stop"), user.clone()];
        assert_eq!(of_messages(&messages), (101, Some(1)));
        let aborted = [user.clone(), answer("aborted"), user];
        assert_eq!(of_messages(&aborted), (2, None));
    }
}

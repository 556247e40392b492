//! What a call's result says of the calls that it made: `nestedCalls` of the message (pi-host.md 10).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::agent::respond::elapsed_ms;

/// Calls that are kept of one call; later ones are left out.
const MOST_CALLS: usize = 256;

/// Bytes of one call's arguments, and of all of them together; beyond them the size stands in their place.
const MOST_BYTES_EACH: usize = 8 * 1024;
const MOST_BYTES: usize = 32 * 1024;

/// UTF-16 units of an error's text.
const MOST_ERROR: usize = 500;

/// The nested calls of a session's calls in flight.
#[derive(Debug, Default)]
pub(crate) struct NestedCalls(BTreeMap<String, Calls>);

#[derive(Debug)]
struct Calls {
    made: usize,
    kept: Vec<(Value, Option<Instant>)>,
    bytes: usize,
    complete: bool,
}

impl NestedCalls {
    /// Notes that `caller` makes a call, and gives the call's id.
    pub(super) fn begin(&mut self, caller: &str, name: &str, arguments: &Value) -> String {
        let calls = self.0.entry(caller.to_owned()).or_insert(Calls {
            made: 0,
            kept: Vec::new(),
            bytes: 0,
            complete: true,
        });
        calls.made += 1;
        let id = format!("{caller}/{}", calls.made);
        if calls.kept.len() >= MOST_CALLS {
            calls.complete = false;
            return id;
        }
        let mut kept = json!({"id": id, "name": name, "status": "unfinished"});
        let bytes = arguments.to_string().len();
        if bytes > MOST_BYTES_EACH || calls.bytes + bytes > MOST_BYTES {
            kept["argumentsBytes"] = bytes.into();
            calls.complete = false;
        } else {
            kept["arguments"] = arguments.clone();
            calls.bytes += bytes;
        }
        calls.kept.push((kept, Some(Instant::now())));
        id
    }

    /// Notes how a call ended; nothing when the caller's own result was there before.
    pub(super) fn end(&mut self, caller: &str, id: &str, error: Option<&str>) {
        let calls = self.0.get_mut(caller);
        let mut kept = calls.into_iter().flat_map(|calls| &mut calls.kept);
        let Some((call, started)) = kept.find(|(call, _)| call["id"] == id) else {
            return;
        };
        call["status"] = if error.is_some() { "error" } else { "ok" }.into();
        call["durationMs"] = started.take().map_or(0, elapsed_ms).into();
        if let Some(text) = error.filter(|text| !text.is_empty()) {
            call["error"] = crate::utf16::head(text, MOST_ERROR).into();
        }
    }

    /// The record of a caller's calls as they stand, which is then forgotten; none when it made none.
    pub(crate) fn take(&mut self, caller: &str) -> Option<Value> {
        let calls = self.0.remove(caller)?;
        let unfinished = |(call, _): &(Value, Option<Instant>)| call["status"] == "unfinished";
        let complete = calls.complete && !calls.kept.iter().any(unfinished);
        let kept: Vec<Value> = calls.kept.into_iter().map(|(call, _)| call).collect();
        Some(json!({"calls": kept, "complete": complete}))
    }

    /// Forgets all, as at the end of a run.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_too_large_are_left_out_and_said_to_be() {
        let mut calls = NestedCalls::default();
        let large = json!({"text": "x".repeat(MOST_BYTES_EACH)});
        let first = calls.begin("c", "write", &large);
        let second = calls.begin("c", "read", &json!({"path": "a"}));
        assert_eq!((first.as_str(), second.as_str()), ("c/1", "c/2"));
        calls.end("c", "c/1", None);
        calls.end("c", "c/2", Some("gone"));
        let record = calls.take("c").expect("a record");
        assert_eq!(record["complete"], false);
        assert_eq!(record["calls"][0].get("arguments"), None);
        assert_eq!(record["calls"][0]["argumentsBytes"], MOST_BYTES_EACH + 11);
        assert_eq!(record["calls"][1]["error"], "gone");
        assert_eq!(calls.take("c"), None);
    }

    #[test]
    fn a_call_that_goes_on_is_unfinished_and_one_too_many_is_left_out() {
        let mut calls = NestedCalls::default();
        for _ in 0..=MOST_CALLS {
            let id = calls.begin("c", "ls", &json!({}));
            calls.end("c", &id, None);
        }
        let record = calls.take("c").expect("a record");
        assert_eq!(record["calls"].as_array().map(Vec::len), Some(MOST_CALLS));
        assert_eq!(record["complete"], false);

        calls.begin("d", "ls", &json!({}));
        let record = calls.take("d").expect("a record");
        assert_eq!(record["calls"][0]["status"], "unfinished");
        assert_eq!(record["complete"], false);
    }
}

//! Compares two traces of one case, lane by lane.
//!
//! Order within a lane, and everything in a payload, must be equal. Order between lanes is not compared: on the real
//! host the lanes are seen by different processes. So is each MCP server: within the lane `mcp` the events of each server
//! are compared by themselves, in their order, and the requests for a server's own stream by themselves too, since they
//! travel on a connection of their own beside its others. Times are not compared: a case that depends on them says so in its
//! expectations. Nothing else is let pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use similar::{ChangeTag, DiffOp, TextDiff};

use super::{Event, Lane, Trace, uuid};

/// One place in which two traces differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The lane it is in.
    pub lane: Lane,
    /// The server whose events they are, in the lane of servers, or its own stream; none is Gortex.
    pub server: Option<String>,
    /// The place as a unified diff of the two lanes' events, `-` the first trace, `+` the second.
    pub text: String,
}

/// Lists where two traces differ; empty when they tell the same.
pub fn compare(first: &Trace, second: &Trace) -> Vec<Difference> {
    let (first, second) = (parts(first), parts(second));
    let all: BTreeSet<&Part> = first.keys().chain(second.keys()).collect();
    all.into_iter()
        .flat_map(|part| compare_part(part, of(&first, part), of(&second, part)))
        .collect()
}

/// What is compared in its order: a lane, and in that of servers one server.
type Part = (Lane, Option<String>);

fn of<'a>(parts: &'a BTreeMap<Part, Vec<String>>, part: &Part) -> &'a [String] {
    parts.get(part).map_or(&[], Vec::as_slice)
}

fn compare_part(part: &Part, first: &[String], second: &[String]) -> Vec<Difference> {
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let second: Vec<&str> = second.iter().map(String::as_str).collect();
    let diff = TextDiff::from_slices(&first, &second);
    diff.grouped_ops(1)
        .iter()
        .map(|group| Difference {
            lane: part.0,
            server: part.1.clone(),
            text: group
                .iter()
                .fold(String::new(), |text, op| text + &lines(&diff, op)),
        })
        .collect()
}

fn lines<'a>(diff: &TextDiff<'a, 'a, str>, op: &DiffOp) -> String {
    let mut text = String::new();
    for change in diff.iter_changes(op) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{sign} {}", change.value());
    }
    text
}

/// Each part's events as one comparable line each: sorted members, ids replaced by their order of appearance.
fn parts(trace: &Trace) -> BTreeMap<Part, Vec<String>> {
    let mut ids = Ids::default();
    let mut parts: BTreeMap<Part, Vec<String>> = BTreeMap::new();
    for lane in Lane::ALL {
        // Ids are counted server by server too, so that they do not tell how servers took turns.
        let mut events: Vec<(Option<String>, &Event)> = trace
            .lane(lane)
            .map(|event| (server(event), event))
            .collect();
        events.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (server, event) in events {
            let line = line(event, &mut ids);
            parts.entry((lane, server)).or_default().push(line);
        }
    }
    parts
}

/// The server whose event it is; none is Gortex, or an event of another lane.
fn server(event: &Event) -> Option<String> {
    let name = event.payload.get("server").and_then(|name| name.as_str());
    let name = name.filter(|_| event.lane == Lane::Mcp)?;
    Some(match event.event.as_str() {
        "stream" => format!("{name}, its own stream"),
        _ => name.to_owned(),
    })
}

fn line(event: &Event, ids: &mut Ids) -> String {
    // A cause is derived from the events, across lanes; what it is derived from is compared.
    let whole = json!({ "event": event.event, "payload": event.payload });
    ids.replace(&sorted(&whole)).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let ordered: BTreeMap<&String, Value> = members
                .iter()
                .map(|(key, item)| (key, sorted(item)))
                .collect();
            json!(ordered)
        }
        other => other.clone(),
    }
}

/// Replaces UUIDs, the form of Pi's session ids, by the order in which they appear.
#[derive(Debug, Default)]
struct Ids(Vec<String>);

impl Ids {
    fn replace(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace_in(text)),
            Value::Array(items) => items.iter().map(|item| self.replace(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, item)| (key.clone(), self.replace(item)))
                .collect(),
            other => other.clone(),
        }
    }

    fn replace_in(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest
            .char_indices()
            .map(|(at, _)| at)
            .find(|&at| uuid::begins(&rest[at..]))
        {
            out.push_str(&rest[..start]);
            let id = &rest[start..start + uuid::LENGTH];
            let number = self
                .0
                .iter()
                .position(|known| known == id)
                .unwrap_or_else(|| {
                    self.0.push(id.to_owned());
                    self.0.len() - 1
                });
            let _ = write!(out, "<id {}>", number + 1);
            rest = &rest[start + uuid::LENGTH..];
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Event, Header, Lane, Trace};
    use super::compare;

    fn trace(events: &[(Lane, &str, serde_json::Value)]) -> Trace {
        Trace {
            header: Header {
                trace: 1,
                case: "a/b".into(),
                host: "sim".into(),
                pi: "1.6.0".into(),
                seed: None,
            },
            events: events
                .iter()
                .enumerate()
                .map(|(t, (lane, event, payload))| Event {
                    t: t as u64,
                    lane: *lane,
                    event: (*event).into(),
                    cause: None,
                    payload: payload.clone(),
                })
                .collect(),
        }
    }

    #[test]
    fn order_between_lanes_and_of_members_is_free() {
        let one = trace(&[
            (Lane::Host, "a", json!({"x": 1, "y": 2})),
            (Lane::Mcp, "b", json!({})),
        ]);
        let two = trace(&[
            (Lane::Mcp, "b", json!({})),
            (Lane::Host, "a", json!({"y": 2, "x": 1})),
        ]);
        assert_eq!(compare(&one, &two), []);
    }

    #[test]
    fn swapped_events_dropped_members_and_other_texts_are_each_found() {
        let base = trace(&[
            (Lane::Host, "a", json!({})),
            (Lane::Host, "b", json!({"x": null})),
            (Lane::Host, "c", json!({"text": "t"})),
        ]);
        let swapped = trace(&[
            (Lane::Host, "b", json!({"x": null})),
            (Lane::Host, "a", json!({})),
            (Lane::Host, "c", json!({"text": "t"})),
        ]);
        let dropped = trace(&[
            (Lane::Host, "a", json!({})),
            (Lane::Host, "b", json!({})),
            (Lane::Host, "c", json!({"text": "t"})),
        ]);
        let other = trace(&[
            (Lane::Host, "a", json!({})),
            (Lane::Host, "b", json!({"x": null})),
            (Lane::Host, "c", json!({"text": "u"})),
        ]);
        for changed in [swapped, dropped, other] {
            assert_ne!(compare(&base, &changed), []);
        }
    }

    #[test]
    fn servers_take_turns_freely_but_each_keeps_its_order() {
        let said = |server: Option<&str>, number: u32| {
            let mut payload = json!({ "id": number });
            if let Some(server) = server {
                payload["server"] = json!(server);
            }
            (Lane::Mcp, "recv", payload)
        };
        let (a, b) = (Some("a"), Some("b"));
        let one = trace(&[said(a, 1), said(b, 1), said(None, 1), said(a, 2)]);
        let other = trace(&[said(None, 1), said(b, 1), said(a, 1), said(a, 2)]);
        assert_eq!(compare(&one, &other), []);
        let swapped = trace(&[said(None, 1), said(b, 1), said(a, 2), said(a, 1)]);
        let moved = trace(&[said(a, 1), said(b, 1), said(b, 1), said(a, 2)]);
        for changed in [swapped, moved] {
            let found = compare(&one, &changed);
            assert!(
                found.iter().any(|place| place.lane == Lane::Mcp),
                "{found:?}"
            );
        }
        // A server is a part of the lane of servers only: elsewhere a member of that name is a value like any.
        let host = |server: &str| (Lane::Host, "e", json!({ "server": server }));
        let (one, other) = ([host("a"), host("b")], [host("b"), host("a")]);
        assert_ne!(compare(&trace(&one), &trace(&other)), []);
    }

    #[test]
    fn ids_are_equal_by_order_of_appearance_only() {
        let (a, b) = (
            "01a22c3f-be7b-7737-bf41-b8751afa4e43",
            "01a22c3f-be7b-7737-bf41-b8751afa4e44",
        );
        let one = trace(&[
            (Lane::Hook, "ask", json!({"s": a})),
            (Lane::Hook, "ask", json!({"s": a})),
        ]);
        let same = trace(&[
            (Lane::Hook, "ask", json!({"s": b})),
            (Lane::Hook, "ask", json!({"s": b})),
        ]);
        let changed = trace(&[
            (Lane::Hook, "ask", json!({"s": a})),
            (Lane::Hook, "ask", json!({"s": b})),
        ]);
        assert_eq!(compare(&one, &same), []);
        assert_ne!(compare(&one, &changed), []);
    }
}

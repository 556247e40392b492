//! All changes of a trace in one place.

use std::collections::BTreeSet;

use scenarios::trace::{Event, Lane, Trace};
use serde_json::{Value, json};

/// Two traces that differ in one place.
pub(crate) struct Change {
    /// The change in words.
    pub(crate) what: String,
    /// The lane of the event.
    pub(crate) lane: Lane,
    pub(crate) base: Trace,
    pub(crate) changed: Trace,
}

/// Every change of every event: gone, there twice, before the one that it follows, of another name; and of everything
/// in its payload.
pub(crate) fn changes(trace: &Trace) -> impl Iterator<Item = Change> + '_ {
    let mut seen = BTreeSet::new();
    let events = trace.events.iter().enumerate();
    events.flat_map(move |(at, event)| {
        of_place(trace, at, event).chain(of_payload(trace, at, event, &mut seen))
    })
}

fn of_place<'a>(
    trace: &'a Trace,
    at: usize,
    event: &'a Event,
) -> impl Iterator<Item = Change> + use<'a> {
    let change = move |what: &str, edit: &dyn Fn(&mut Vec<Event>)| {
        let mut changed = trace.clone();
        edit(&mut changed.events);
        Change {
            what: format!("event {at} ({}) {what}", event.event),
            lane: event.lane,
            base: trace.clone(),
            changed,
        }
    };
    let mut all = vec![
        change("dropped", &|events| drop(events.remove(at))),
        change("doubled", &|events| events.insert(at, events[at].clone())),
        change("renamed", &|events| events[at].event.push('x')),
    ];
    let next = (at + 1..trace.events.len()).find(|&next| trace.events[next].lane == event.lane);
    // Two events that are the same can change places.
    if let Some(next) = next.filter(|&next| !alike(event, &trace.events[next])) {
        all.push(change("after the next of its lane", &|events| {
            events.swap(at, next);
        }));
    }
    let other = if event.lane == Lane::Host {
        Lane::Person
    } else {
        Lane::Host
    };
    all.push(change("in another lane", &|events| events[at].lane = other));
    all.into_iter()
}

fn alike(one: &Event, other: &Event) -> bool {
    one.event == other.event && one.payload == other.payload
}

fn of_payload<'a>(
    trace: &'a Trace,
    at: usize,
    event: &'a Event,
    seen: &mut BTreeSet<String>,
) -> impl Iterator<Item = Change> + use<'a> {
    // A trace of this event alone: what stands around it is the same in both, and there are thousands of changes.
    let alone = |event: Event| Trace {
        header: trace.header.clone(),
        events: vec![event],
    };
    let mut all = Vec::new();
    collect(
        &event.payload,
        &mut vec![event.event.clone()],
        seen,
        &mut all,
    );
    all.into_iter().map(move |(what, (way, other))| {
        let mut changed = event.clone();
        changed.payload = replaced(&event.payload, &way[1..], &other);
        Change {
            what: format!("event {at}, {}: {what}", way.join("/")),
            lane: event.lane,
            base: alone(event.clone()),
            changed: alone(changed),
        }
    })
}

type Edit = (&'static str, (Vec<String>, Value));

/// Every other value for every place in `value`. `way` is the event's name and the members and places behind it; what
/// was `seen` under the same way is not changed again, for requests repeat whatever the ones before them held.
fn collect(value: &Value, way: &mut Vec<String>, seen: &mut BTreeSet<String>, all: &mut Vec<Edit>) {
    if !seen.insert(format!("{}={value}", way.join("/"))) {
        return;
    }
    let mut add = |what, other| all.push((what, (way.clone(), other)));
    match value {
        Value::Null => add("no longer null", json!(false)),
        Value::Bool(is) => add("the contrary", json!(!is)),
        Value::Number(number) => {
            add(
                "another number",
                json!(number.as_f64().unwrap_or_default() + 1.0),
            );
            add("a text", json!(number.to_string()));
        }
        Value::String(text) => {
            add("longer by a letter", json!(format!("{text}x")));
            if !text.is_empty() {
                add("empty", json!(""));
            }
            add("null", Value::Null);
        }
        Value::Array(items) => {
            add(
                "an item more",
                json!([items.as_slice(), &[json!("x")]].concat()),
            );
            for index in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(index);
                add("an item less", json!(fewer));
                if index > 0 && items[index] != items[index - 1] {
                    let mut other = items.clone();
                    other.swap(index, index - 1);
                    add("in another order", json!(other));
                }
            }
        }
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("another".into(), Value::Null);
            add("a member more", json!(more));
            for name in members.keys() {
                let mut fewer = members.clone();
                let value = fewer.remove(name);
                add("a member less", json!(fewer));
                fewer.insert(format!("{name}x"), value.unwrap_or_default());
                add("a member renamed", json!(fewer));
            }
        }
    }
    for (name, item) in inner(value) {
        way.push(name);
        collect(item, way, seen, all);
        way.pop();
    }
}

/// `value` with `other` in the place that `way` leads to.
fn replaced(value: &Value, way: &[String], other: &Value) -> Value {
    let Some((name, rest)) = way.split_first() else {
        return other.clone();
    };
    let mut changed = value.clone();
    let place = match &mut changed {
        Value::Array(items) => name.parse().ok().and_then(|at: usize| items.get_mut(at)),
        Value::Object(members) => members.get_mut(name),
        _ => None,
    };
    let place = place.expect("a way leads to its place");
    *place = replaced(place, rest, other);
    changed
}

/// The text with every UUID made another one, the same ones alike.
pub(crate) fn with_other_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = (0..rest.len()).find(|&at| rest.get(at..at + 36).is_some_and(is_uuid)) {
        out.push_str(&rest[..at]);
        let turned: String = rest[at..at + 36]
            .chars()
            .map(|sign| {
                if sign == '-' {
                    sign
                } else {
                    char::from_digit(15 - sign.to_digit(16).expect("hexadecimal"), 16)
                        .expect("a digit")
                }
            })
            .collect();
        out.push_str(&turned);
        rest = &rest[at + 36..];
    }
    out + rest
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
        })
}

/// What lies directly in a value, by name or place.
pub fn inner(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Array(items) => (0..).map(|at: usize| at.to_string()).zip(items).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, item)| (name.clone(), item))
            .collect(),
        _ => Vec::new(),
    }
}

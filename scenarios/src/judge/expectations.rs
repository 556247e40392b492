//! What a case expects of the events of its trace.

use serde_json::Value;

use super::Failure;
use crate::case::{Case, Expectation};
use crate::trace::{Event, Trace};

/// The expectations that the trace does not meet.
pub fn unmet(case: &Case, trace: &Trace) -> Vec<Failure> {
    let checked = case.expect.iter().enumerate();
    checked
        .filter_map(|(index, expected)| check(index + 1, expected, trace))
        .collect()
}

fn check(number: usize, expected: &Expectation, trace: &Trace) -> Option<Failure> {
    let name = format!("expectation {number}");
    let all: Vec<&Event> = trace.named(expected.lane, &expected.event).collect();
    let chosen: Vec<&Event> = match expected.nth {
        Some(nth) => all.get(nth.wrapping_sub(1)).copied().into_iter().collect(),
        None => all.clone(),
    };
    let matching: Vec<&Event> = chosen
        .iter()
        .copied()
        .filter(|event| fault(expected, event).is_none())
        .collect();
    let enough = match expected.count {
        Some(count) => matching.len() == count,
        None => !matching.is_empty(),
    };
    if !enough {
        let wanted = expected
            .count
            .map_or("one or more".to_owned(), |count| count.to_string());
        let reason = chosen
            .iter()
            .find_map(|event| fault(expected, event))
            .map_or(String::new(), |why| format!("; {why}"));
        let what = format!(
            "of {} `{}` events in lane {}, {} match and {wanted} should{reason}",
            all.len(),
            expected.event,
            expected.lane,
            matching.len()
        );
        let failure = Failure::new(&name, what);
        return Some(match chosen.first() {
            Some(event) => failure.at(trace, event),
            None => failure,
        });
    }
    let [earliest, latest] = expected.between_ms.filter(|_| trace.header.host == "sim")?;
    let late = matching
        .iter()
        .find(|event| !(earliest..=latest).contains(&event.t))?;
    let what = format!(
        "`{}` came at {} ms, not within {earliest} to {latest}",
        expected.event, late.t
    );
    Some(Failure::new(&name, what).at(trace, late))
}

/// Why an event is not the one that is meant.
fn fault(expected: &Expectation, event: &Event) -> Option<String> {
    let is = expected.is.iter().find_map(|(path, value)| {
        let found = at(&event.payload, path);
        (found != value).then(|| format!("`{path}` is {found}"))
    });
    let text = |path: &String| text_at(&event.payload, path);
    // Where nothing stands, nothing was looked at: a path that leads nowhere must not pass as a text that is absent.
    let missing = || {
        let mut paths = expected.contains.keys().chain(expected.lacks.keys());
        paths
            .find(|path| text(path).is_none())
            .map(|path| format!("nothing stands at `{path}`"))
    };
    let contains = || {
        let mut wanted = expected.contains.iter();
        let absent = wanted
            .find(|(path, wanted)| !text(path).is_some_and(|text| text.contains(wanted.as_str())));
        absent.map(|(path, wanted)| format!("`{path}` does not contain {wanted:?}"))
    };
    let lacks = || {
        let mut unwanted = expected.lacks.iter();
        let present = unwanted.find(|(path, unwanted)| {
            text(path).is_some_and(|text| text.contains(unwanted.as_str()))
        });
        present.map(|(path, unwanted)| format!("`{path}` contains {unwanted:?}"))
    };
    is.or_else(missing).or_else(contains).or_else(lacks)
}

/// What stands at a dotted path, `null` where nothing does.
fn at<'a>(payload: &'a Value, path: &str) -> &'a Value {
    path.split('.')
        .filter(|part| !part.is_empty())
        .fold(payload, |value, part| match value {
            Value::Array(items) => part
                .parse()
                .ok()
                .and_then(|index: usize| items.get(index))
                .unwrap_or(&Value::Null),
            other => other.get(part).unwrap_or(&Value::Null),
        })
}

/// The same as text: a string as it is, all else as JSON; nothing where nothing stands.
fn text_at(payload: &Value, path: &str) -> Option<String> {
    match at(payload, path) {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

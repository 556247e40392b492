//! The comparison tells every change of a trace, but for the few things that it is not to look at.
//!
//! The traces in `traces/` were recorded on the real Pi 1.6.0. Each of their events, members and leaves is changed in
//! every way that [`changes`] knows, one change at a time.

mod changes;
mod normal;

use std::fs;
use std::path::Path;

use scenarios::trace::Trace;
use scenarios::trace::compare::compare;

use self::changes::{Change, changes};

fn recorded() -> Vec<(String, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compare/traces");
    let mut traces: Vec<(String, Trace)> = fs::read_dir(folder)
        .expect("listed")
        .map(|entry| {
            let path = entry.expect("listed").path();
            let text = fs::read_to_string(&path).expect("read");
            let name = path.file_stem().expect("named").to_string_lossy();
            (name.into_owned(), Trace::read(&text).expect("a trace"))
        })
        .collect();
    traces.sort_by(|(one, _), (other, _)| one.cmp(other));
    traces
}

#[test]
fn a_trace_is_like_itself() {
    for (name, trace) in recorded() {
        assert_eq!(
            trace.header.host, "pi",
            "{name} was recorded on the real Pi"
        );
        assert_eq!(compare(&trace, &trace), [], "{name}");
    }
}

#[test]
fn every_change_is_told_and_in_its_own_lane() {
    let mut told = 0_usize;
    for (name, trace) in recorded() {
        for change in changes(&trace) {
            let Change {
                what,
                lane,
                base,
                changed,
            } = change;
            let places = compare(&base, &changed);
            assert!(!places.is_empty(), "{name}: {what} is not told");
            // In other lanes too, where an id is counted anew behind the change.
            let own = places.iter().any(|place| place.lane == lane);
            assert!(
                own,
                "{name}: {what} is told in another lane than {lane}: {places:#?}"
            );
            told += 1;
        }
    }
    // So that an empty list of changes cannot pass.
    assert!(told > 5_000, "only {told} changes were tried");
}

#[test]
fn what_is_not_looked_at_is_exactly_this() {
    for (name, trace) in recorded() {
        let mut other = trace.clone();
        other.header.host = "sim".into();
        other.header.seed = Some(1);
        for event in &mut other.events {
            event.t += 1;
            event.cause = None;
        }
        // Ids count by the order in which they appear.
        let text: Vec<String> = other
            .events
            .iter()
            .map(|event| serde_json::to_string(event).expect("JSON"))
            .collect();
        for (event, text) in other.events.iter_mut().zip(text) {
            let renamed = changes::with_other_ids(&text);
            *event = serde_json::from_str(&renamed).expect("an event");
        }
        assert_eq!(compare(&trace, &other), [], "{name}");
    }
}

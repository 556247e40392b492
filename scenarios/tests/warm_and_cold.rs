//! (H8) A decision is the same, byte for byte, whether a hook child waited for the question or not.

use std::path::Path;

use scenarios::case::Case;
use scenarios::hosts::sim::{self, Options};
use scenarios::suite::{self, Named};
use scenarios::trace::compare::{Difference, compare};
use scenarios::trace::{Lane, Trace};

fn cases(areas: &[&str]) -> Vec<Named> {
    let areas: Vec<String> = areas.iter().map(|area| (*area).to_owned()).collect();
    suite::read(Path::new("cases"), &areas).expect("cases")
}

fn play(named: &Named, warm: &str) -> Trace {
    let mut case: Case = named.case.clone();
    let variable = "GORTEX_WARM_HOOK".to_owned();
    case.config.env.insert(variable, warm.to_owned());
    sim::play(&named.name, &case, &Options::default()).expect("a play")
}

/// Both plays of a case, without what tells how many children waited. A hook that does not wait for its question is
/// started once more a run, in vain, and one that waits as its host is killed reads nothing to its end: their own journal
/// tells so. What was decided stands in the other lanes.
fn differences(named: &Named) -> Vec<Difference> {
    let unread = named.case.hook.ignore_stdin;
    let [warm, cold] = ["1", "0"].map(|warm| {
        let mut trace = play(named, warm);
        let mut asked = true;
        trace.events.retain(|event| {
            if event.lane == Lane::Hook && event.event == "ask" {
                asked = event.payload["raw"] != "";
            }
            event.event != "hooks" && !(event.lane == Lane::Hook && (unread || !asked))
        });
        trace
    });
    compare(&warm, &cold)
}

#[test]
fn h8_every_case_tells_the_same_warm_and_cold() {
    let all = cases(&[]);
    assert!(all.len() > 150, "{}", all.len());
    for named in &all {
        let found = differences(named);
        let text: String = found.iter().map(|one| one.text.as_str()).collect();
        assert!(found.is_empty(), "{}:\n{text}", named.name);
    }
}

/// The two cases that the real Pi plays too are one script: so their traces there are equal as well.
#[test]
fn h8_the_cases_warm_and_cold_are_one_script_and_tell_the_same() {
    let [warm, cold] = ["hook/warm", "hook/cold"].map(|name| {
        let found = cases(&[name]);
        assert_eq!(found.len(), 1, "{name}");
        let played = suite::play_on_sim(&found[0], &Options::default());
        assert!(played.held(), "{name}: {:?}", played.failures);
        let mut trace = played.trace.expect("a trace");
        let counted = trace.events.iter().filter(|event| event.event == "hooks");
        let waited = counted.filter(|event| event.payload["count"] == 1).count();
        trace.events.retain(|event| event.event != "hooks");
        (waited, trace)
    });
    assert_eq!((warm.0, cold.0), (4, 0));
    let found = compare(&warm.1, &cold.1);
    let text: String = found.iter().map(|one| one.text.as_str()).collect();
    assert!(found.is_empty(), "{text}");
}

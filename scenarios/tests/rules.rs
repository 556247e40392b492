//! Every rule is held by a case or a test, and none is cited that is not there.

use scenarios::rules::{Coverage, cited_tests, coverage};
use scenarios::suite;

#[test]
fn every_rule_has_a_case_or_a_test() {
    let cases = suite::read(&suite::own_cases(), &[]).expect("cases");
    let tests = cited_tests(&suite::workspace()).expect("tests");
    let all = coverage(&cases, &tests);
    let missing: Vec<&str> = all
        .iter()
        .filter(|covered| covered.is_missing())
        .map(|covered| covered.rule.id)
        .collect();
    assert_eq!(
        missing, [""; 0],
        "no case covers these and no test cites them"
    );
    // Found at all: the scan would else be satisfied by an empty folder.
    let of = |id: &str| {
        all.iter()
            .find(|covered| covered.rule.id == id)
            .expect("rule")
    };
    assert!(!of("C1").tests.is_empty() && !of("F2").tests.is_empty());
    assert!(!of("R5").cases.is_empty());
}

#[test]
fn without_cases_and_tests_every_rule_is_missing() {
    let all = coverage(&[], &[]);
    assert!(all.len() > 40 && all.iter().all(Coverage::is_missing));
}

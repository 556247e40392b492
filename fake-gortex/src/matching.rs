//! Which rule of a script a call or an envelope falls under.

use std::io;

use serde_json::{Map, Value};

use crate::State;

/// A rule's own part in being chosen.
pub(crate) trait Rule {
    /// The section of the script it stands in; its counters go by that name.
    const SECTION: &'static str;
    /// Which match it waits for, if not for any.
    fn nth(&self) -> Option<u64>;
}

/// The first rule that matches, after counting all that match and wait for their turn: a rule that another one beats is
/// counted too, so that "the second edit" is the second edit whatever the first was answered. Each `server` counts for
/// itself; none is Gortex.
pub(crate) fn choose<'rules, R: Rule>(
    rules: &'rules [R],
    state: &State,
    server: Option<&str>,
    matches: impl Fn(&R) -> bool,
) -> io::Result<Option<&'rules R>> {
    let matching: Vec<(usize, &R)> = rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| matches(rule))
        .collect();
    let keys: Vec<String> = matching
        .iter()
        .filter(|(_, rule)| rule.nth().is_some())
        .map(|(index, _)| match server {
            None => format!("{}.{index}", R::SECTION),
            Some(server) => format!("{server}/{}.{index}", R::SECTION),
        })
        .collect();
    let mut counts = state.bump(&keys)?.into_iter();
    for (_, rule) in matching {
        match rule.nth() {
            None => return Ok(Some(rule)),
            Some(nth) if counts.next() == Some(nth) => return Ok(Some(rule)),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Whether `have` holds everything that `want` names.
pub(crate) fn holds(have: &Map<String, Value>, want: &Map<String, Value>) -> bool {
    want.iter()
        .all(|(key, want)| have.get(key).is_some_and(|have| part_of(want, have)))
}

fn part_of(want: &Value, have: &Value) -> bool {
    match (want, have) {
        (Value::Object(want), Value::Object(have)) => holds(have, want),
        // 1 and 1.0 are one number: TOML and JSON writers differ in which they choose.
        (Value::Number(want), Value::Number(have)) => {
            want == have || want.as_f64() == have.as_f64()
        }
        _ => want == have,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Numbered(Option<u64>);

    impl Rule for Numbered {
        const SECTION: &'static str = "test";
        fn nth(&self) -> Option<u64> {
            self.0
        }
    }

    #[test]
    fn counts_a_rule_that_was_beaten() {
        let rules = [Numbered(Some(1)), Numbered(Some(2)), Numbered(None)];
        let state = State::memory();
        let chosen: Vec<_> = (0..4)
            .map(|_| {
                choose(&rules, &state, None, |_| true)
                    .expect("memory")
                    .and_then(Rule::nth)
            })
            .collect();
        assert_eq!(chosen, [Some(1), Some(2), None, None]);
    }

    #[test]
    fn a_rule_that_does_not_match_is_not_counted() {
        let rules = [Numbered(Some(1))];
        let state = State::memory();
        assert!(
            choose(&rules, &state, None, |_| false)
                .expect("memory")
                .is_none()
        );
        assert!(
            choose(&rules, &state, None, |_| true)
                .expect("memory")
                .is_some()
        );
    }

    #[test]
    fn a_table_matches_a_part_and_a_list_the_whole() {
        let have = json!({ "path": "a", "target": { "file": "a", "symbol": "b" }, "n": 1, "list": [1, 2] });
        let have = have.as_object().expect("object");
        let want = |value: Value| value.as_object().expect("object").clone();
        assert!(holds(have, &want(json!({}))));
        assert!(holds(have, &want(json!({ "target": { "file": "a" } }))));
        assert!(holds(have, &want(json!({ "n": 1.0, "list": [1, 2] }))));
        assert!(!holds(have, &want(json!({ "list": [1] }))));
        assert!(!holds(have, &want(json!({ "path": null }))));
        assert!(!holds(have, &want(json!({ "absent": null }))));
    }
}

//! What holds for the diff of any two texts (E2, E4, E5): it is true, it is shortest, and its two forms say the same.

use adapter::diff::{CONTEXT_LINES, Effort, PartKind, Script, diff, patch};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// A line without its end: often one of few, so that texts have much in common in more than one way.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["", "a", "b", "}", "    x"]).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.replace('\n', "\r")),
        1 => prop::sample::select(vec!["--- a", "+++ b", "@@ -1 +1 @@", "\\ No newline at end of file", "a\u{2028}b"])
            .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..40), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if !ended {
            text.pop();
        }
        text
    })
}

/// A text and what some edits made of it, or two texts that have nothing to do with each other.
fn pair() -> impl Strategy<Value = (String, String)> {
    let edit = (
        any::<prop::sample::Index>(),
        0..4_usize,
        prop::collection::vec(line(), 0..4),
    );
    let edited = (text(), prop::collection::vec(edit, 0..5)).prop_map(|(old, edits)| {
        let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
        for (at, removed, added) in edits {
            let from = at.index(lines.len() + 1);
            let to = (from + removed).min(lines.len());
            lines.splice(from..to, added.iter().map(|line| format!("{line}\n")));
        }
        (old, lines.concat())
    });
    prop_oneof![3 => edited, 1 => (text(), text())]
}

/// How many lines two texts can have in common, by the table that needs no cleverness.
fn longest_common(old: &[&str], new: &[&str]) -> usize {
    let mut row = vec![0; new.len() + 1];
    for left in old {
        let mut before = 0;
        for (at, right) in new.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if left == right {
                before + 1
            } else {
                above.max(row[at])
            };
            before = above;
        }
    }
    row[new.len()]
}

fn config() -> Config {
    Config {
        cases: 3_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    // diffy misplaces a hunk that removes lines and has no context; Pi's has four.
    #[test]
    fn e2_e4_a_patch_applied_gives_the_text_after((old, new) in pair(), context in 1..6_usize) {
        let script = Script::between(&old, &new, &Effort::UNBOUNDED).expect("unbounded");
        for written in [patch("src/a b.rs", &old, &new), script.patch("p", context)] {
            if old == new {
                continue;
            }
            let read = diffy::Patch::from_str(&written).expect("a patch");
            prop_assert_eq!(diffy::apply(&old, &read).expect("applies"), new.as_str());
            prop_assert_eq!(diffy::apply(&new, &read.reverse()).expect("applies back"), old.as_str());
        }
    }

    #[test]
    fn e2_the_parts_are_both_texts_and_no_shorter_script_exists((old, new) in pair()) {
        let script = Script::between(&old, &new, &Effort::UNBOUNDED).expect("unbounded");
        let side = |without: PartKind| -> String {
            let parts = script.parts().iter().filter(|part| part.kind != without);
            parts.flat_map(|part| script.lines(part)).copied().collect()
        };
        prop_assert_eq!(side(PartKind::Added), old.as_str());
        prop_assert_eq!(side(PartKind::Removed), new.as_str());
        let edits: usize = script.parts().iter().filter(|part| part.kind != PartKind::Equal).map(|part| part.len).sum();
        let lines = |text: &'_ str| text.split_inclusive('\n').count();
        let (old_lines, new_lines): (Vec<_>, Vec<_>) =
            (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
        let common = longest_common(&old_lines, &new_lines);
        prop_assert_eq!(edits, lines(&old) + lines(&new) - 2 * common);
        prop_assert!(script.parts().windows(2).all(|two| two[0].kind != two[1].kind));
    }

    #[test]
    fn e2_each_shown_line_stands_where_it_says((old, new) in pair()) {
        let shown = diff(&old, &new);
        let (old_lines, new_lines): (Vec<_>, Vec<_>) = (old.split('\n').collect(), new.split('\n').collect());
        prop_assert_eq!(shown.diff.is_empty(), old == new);
        prop_assert_eq!(shown.first_changed_line.is_none(), old == new);
        for line in shown.diff.split('\n').filter(|_| old != new) {
            let (sign, rest) = line.split_at(1);
            let rest = rest.trim_start_matches(' ');
            if sign == " " && rest == "..." {
                continue;
            }
            let (number, text) = rest.split_once(' ').expect("a number, a space, a text");
            let number: usize = number.parse().expect("a number");
            let lines = if sign == "+" { &new_lines } else { &old_lines };
            prop_assert_eq!(lines[number - 1], text);
        }
    }

    #[test]
    fn e4_a_bounded_search_finds_the_same_or_nothing((old, new) in pair(), steps in 0..1500_u64) {
        let full = Script::between(&old, &new, &Effort::UNBOUNDED).expect("unbounded");
        let effort = Effort { steps, expired: &|| false };
        if let Some(script) = Script::between(&old, &new, &effort) {
            prop_assert_eq!(script.parts(), full.parts());
            prop_assert_eq!(script.display(CONTEXT_LINES), full.display(CONTEXT_LINES));
        } else {
            prop_assert!(steps < full.steps());
        }
    }
}

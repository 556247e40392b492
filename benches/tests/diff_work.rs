//! How much work the diffs of the benches take, counted and not timed: the same on each machine.
//!
//! What a step is, `Effort` says. More steps than stand here mean a slower search,
//! or another script; fewer are a gain, and the numbers are to follow.

use adapter::diff::{Effort, Script};
use adapter::edits::{Budget, Entry};
use adapter::texts;
use benches::diff_inputs::{Aim, inputs};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[test]
fn e4_a_comparison_takes_as_many_steps_as_it_did() {
    let steps = inputs().map(|input| {
        let script = Script::between(&input.before, &input.after, &Effort::UNBOUNDED);
        script.map(|script| script.steps())
    });
    assert_eq!(
        steps,
        [
            Some(7_585),
            Some(76_963),
            Some(980_317),
            Some(14_500_695),
            Some(1_820_001),
            Some(6_500_001)
        ]
    );
}

#[test]
fn e4_o09_what_takes_too_many_steps_ends_in_a_note_without_a_clock() {
    for input in inputs() {
        let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
        let entry = Entry::of_texts("p", &input.before, &input.after, &mut budget);
        let noted = matches!(&entry, Some(Entry::Note { note, .. }) if *note == texts::NOTE_COSTLY);
        assert_eq!(noted, input.aim == Aim::Note, "{}", input.name);
    }
}

//! How much work the diffs of the benches take, counted and not timed: the same on each machine.
//!
//! A step is a diagonal visited or a pair of equal lines walked over. More steps than stand here mean a slower search,
//! or another script; fewer are a gain, and the numbers are to follow.

use adapter::diff::{Effort, Script};
use adapter::edits::{Budget, Entry};
use adapter::texts;
use benches::diff_inputs::inputs;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

#[test]
fn e4_the_search_takes_as_many_steps_as_it_did() {
    let steps = inputs().map(|input| {
        let script = Script::between(&input.before, &input.after, &Effort::UNBOUNDED);
        script.map(|script| script.steps())
    });
    assert_eq!(
        steps,
        [Some(1_517), Some(15_643), Some(905_929), Some(14_409_615)]
    );
}

#[test]
fn e4_o09_what_takes_too_many_steps_ends_in_a_note_without_a_clock() {
    let [.., costly] = inputs();
    let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
    let entry = Entry::of_texts("p", &costly.before, &costly.after, &mut budget);
    assert!(
        matches!(&entry, Some(Entry::Note { note, .. }) if *note == texts::NOTE_COSTLY),
        "{entry:?}"
    );
}

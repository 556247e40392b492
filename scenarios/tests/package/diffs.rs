//! The adapter's diffs against Pi's own functions, live (E2, E5). `pi-bench diffs` compares ten times as many.

use scenarios::diffs::{Difference, Generator, Pair, PiDiffs, Shown, compare};

use crate::gate::real_pi;

#[test]
fn e2_e5_random_texts_give_what_pis_functions_give() {
    let Some(pi) = real_pi() else { return };
    let mut functions = PiDiffs::start(&pi).expect("Node starts");
    let tally = compare(Generator::new(2).take(1_000), &mut functions, || true).expect("answers");
    let shown = |difference: &Difference| format!("{difference:#?}");
    assert_eq!(
        (tally.equal, tally.total),
        (1_000, 1_000),
        "{:?}",
        tally.differences.first().map(shown)
    );
}

#[test]
fn e2_the_comparison_sees_another_script_of_the_same_length() {
    let Some(pi) = real_pi() else { return };
    let mut functions = PiDiffs::start(&pi).expect("Node starts");
    let pair = Pair {
        path: "p".to_owned(),
        old: "a\nb\n".to_owned(),
        new: "b\na\n".to_owned(),
    };
    let asked = functions.ask(&pair).expect("an answer");
    assert_eq!(asked, Shown::by_adapter(&pair));
    // Keeping the other line costs two edits as well.
    assert_ne!(asked.diff, "+1 b\n 1 a\n-2 b");
    assert_eq!(asked.diff, "-1 a\n 2 b\n+2 a");
}

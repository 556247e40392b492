//! The table of cases by versions is whole, and every cell of it is explained.

use std::env;

use scenarios::matrix::{self, Matrix};
use scenarios::suite;

/// A new case need not be compared in five versions before its tests pass. With `CI=true` it must have been.
#[test]
#[expect(clippy::print_stdout, reason = "what was not compared must be said")]
fn every_case_was_compared_in_every_version() {
    let cases = suite::read(&suite::own_cases(), &[]).expect("cases");
    let kept = Matrix::read(&matrix::own_file()).expect("a matrix");
    let missing = kept.missing(&cases);
    if missing.is_empty() {
        return;
    }
    let text = format!(
        "NOT COMPARED in every version, run `pi-bench conform --write-matrix`: {missing:?}"
    );
    assert!(env::var("CI").as_deref() != Ok("true"), "{text}");
    println!("{text}");
}

#[test]
fn every_cell_is_as_its_case_says() {
    let cases = suite::read(&suite::own_cases(), &[]).expect("cases");
    let kept = Matrix::read(&matrix::own_file()).expect("a matrix");
    assert!(!kept.0.is_empty(), "there is a matrix");
    let complaints = kept.complaints(&cases);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

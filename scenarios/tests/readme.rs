//! The README shows what the program prints.

use std::fs;
use std::path::Path;

use scenarios::hosts::sim::DEFAULT_SEED;
use scenarios::report::{Format, run};
use scenarios::suite;

const BEGIN: &str = "<!-- table of cases: generated, see scenarios/tests/readme.rs -->\n```text\n";
const END: &str = "```\n<!-- end of table -->";

/// With `UPDATE_README=1` the table is written instead of compared.
#[test]
fn the_table_of_an_area_is_the_one_that_run_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(&path).expect("README");
    let (head, rest) = readme.split_once(BEGIN).expect("the table begins");
    let (kept, tail) = rest.split_once(END).expect("the table ends");
    let cases = suite::read(&suite::own_cases(), &["readiness/".to_owned()]).expect("cases");
    let plays: Vec<_> = cases
        .iter()
        .map(|named| (named, Some(suite::play_on_sim(named, DEFAULT_SEED))))
        .collect();
    let mut printed = Vec::new();
    run::write(&mut printed, Format::Text, "sim", &plays).expect("report");
    let printed = String::from_utf8(printed).expect("text");
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{printed}{END}{tail}")).expect("written");
        return;
    }
    assert_eq!(
        kept, printed,
        "run UPDATE_README=1 cargo nextest run -p scenarios readme"
    );
}

//! The README shows what the program prints, and what was measured.

use std::fs;
use std::path::Path;

use scenarios::hosts::sim::Options;
use scenarios::matrix::{self, Matrix};
use scenarios::report::matrix::markdown;
use scenarios::report::{Format, run};
use scenarios::suite;

/// A part of the README, between two marks.
struct Part {
    begin: &'static str,
    end: &'static str,
}

impl Part {
    /// Compares the part with what it has to be; with `UPDATE_README=1` it is written instead.
    fn is(&self, wanted: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        // Each test is a process of its own, and two may want to write.
        let held = fs::File::open(&path).expect("README");
        held.lock().expect("locked");
        let readme = fs::read_to_string(&path).expect("README");
        let (head, rest) = readme.split_once(self.begin).expect("the part begins");
        let (kept, tail) = rest.split_once(self.end).expect("the part ends");
        if std::env::var_os("UPDATE_README").is_some() {
            let (begin, end) = (self.begin, self.end);
            fs::write(&path, format!("{head}{begin}{wanted}{end}{tail}")).expect("written");
            return;
        }
        assert_eq!(
            kept, wanted,
            "run UPDATE_README=1 cargo nextest run -p scenarios readme"
        );
    }
}

#[test]
fn the_readme_shows_the_table_that_run_prints() {
    let cases = suite::read(&suite::own_cases(), &["readiness/".to_owned()]).expect("cases");
    let plays: Vec<_> = cases
        .iter()
        .map(|named| (named, Some(suite::play_on_sim(named, &Options::default()))))
        .collect();
    let mut printed = Vec::new();
    run::write(&mut printed, Format::Text, "sim", &plays).expect("report");
    let part = Part {
        begin: "<!-- table of cases: generated, see scenarios/tests/readme.rs -->\n```text\n",
        end: "```\n<!-- end of table -->",
    };
    part.is(&String::from_utf8(printed).expect("text"));
}

#[test]
fn the_readme_shows_the_versions_that_were_measured() {
    let cases = suite::read(&suite::own_cases(), &[]).expect("cases");
    let kept = Matrix::read(&matrix::own_file()).expect("a matrix");
    let part = Part {
        begin: "<!-- versions: generated, see scenarios/tests/readme.rs -->\n",
        end: "<!-- end of versions -->",
    };
    part.is(&markdown(&kept, &cases));
}

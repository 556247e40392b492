//! A wrong case is told once, with its line, the cause and the remedy.

use std::fs;
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use scenarios::case::load::parse;

#[test]
fn every_wrong_case_is_told_with_its_line_and_remedy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("folder")
        .map(|entry| entry.expect("entry").path())
        .collect();
    files.sort();
    let mut told = String::new();
    for file in files {
        let name = file
            .file_name()
            .expect("name")
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&file).expect("text");
        let problem = parse(&name, &text).expect_err(&name);
        assert!(problem.line().is_some(), "{name} has no line");
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
            .with_width(100)
            .render_report(&mut told, &*problem)
            .expect("report");
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_folder_or_a_huge_file_is_no_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(scenarios::case::load(folder).is_err());
    let huge = tempfile::NamedTempFile::new().expect("file");
    huge.as_file().set_len(2 * 1024 * 1024).expect("length");
    let problem = scenarios::case::load(huge.path()).expect_err("huge");
    assert!(problem.to_string().contains("2097152 bytes"), "{problem}");
}

#[test]
fn the_schema_in_the_repository_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("case.schema.json");
    let kept = fs::read_to_string(path).expect("schema");
    let text = scenarios::cli::schema_text();
    assert!(
        kept.trim_end() == text,
        "run `cargo run -- schema > scenarios/case.schema.json`"
    );
}

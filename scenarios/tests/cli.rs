//! The command line, as a person or a script calls it.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pi-bench"))
        .args(args)
        .output()
        .expect("pi-bench runs")
}

fn json_lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn run_plays_all_cases_and_ends_with_a_summary() {
    let output = bench(&["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = json_lines(&output);
    let summary = &lines.last().expect("a last line")["summary"];
    let count = |name: &str| summary[name].as_u64().expect(name);
    assert!(count("cases") >= 8);
    assert_eq!(count("held") + count("skipped"), count("cases"));
    assert_eq!(count("failed"), 0);
    assert_eq!(lines.len() as u64, count("cases") + 1);
    assert!(lines[0]["case"].is_string());
}

#[test]
fn two_runs_write_the_same_bytes() {
    let folder = tempfile::tempdir().expect("folder");
    let traces = ["one", "two"].map(|name| {
        let folder = folder.path().join(name);
        let output = bench(&[
            "run",
            "diffs/batch-two-files",
            "--traces",
            folder.to_str().expect("path"),
        ]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        fs::read(folder.join("diffs.batch-two-files.sim.jsonl")).expect("trace")
    });
    assert!(!traces[0].is_empty());
    assert_eq!(traces[0], traces[1]);
}

#[test]
fn a_folder_without_a_history_is_a_wrong_call_where_one_was_asked_for() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().to_str().expect("path");
    let output = bench(&["diffs", "--pairs", "0", "--history", path]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("no git history"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_filter_without_a_case_is_a_wrong_call() {
    for args in [
        &["run", "no-such-case"][..],
        &["list", "no-such-case"],
        &["show", "no-such-case"],
    ] {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains("no-such-case"),
            "{args:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn check_names_line_and_key_and_exits_with_2() {
    let wrong = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong/unknown-key.toml");
    let output = bench(&["check", wrong]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("unknown-key.toml:4")
            && told.contains("`promt`")
            && told.contains("`prompt`"),
        "{told}"
    );

    let right = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/hook/block.toml");
    let output = bench(&["check", right, wrong, "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let lines = json_lines(&output);
    assert_eq!(
        (&lines[0]["verdict"], &lines[1]["line"]),
        (&"right".into(), &4.into())
    );
    assert_eq!(lines[2]["summary"]["wrong"], 1);
}

#[test]
fn a_case_that_does_not_hold_fails_the_run_and_shows_where() {
    let folder = tempfile::tempdir().expect("folder");
    let case = r#"
        title = "Expects what does not happen"
        [[model]]
        say = "Hello."
        [[person]]
        prompt = "Hello."
        [[expect]]
        lane = "model"
        event = "request"
        contains = { messages = "Good morning" }
    "#;
    fs::write(folder.path().join("wrong.toml"), case).expect("case");
    let output = bench(&["run", "--cases", folder.path().to_str().expect("path")]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("expectation 1") && told.contains("Good morning"),
        "{told}"
    );
}

#[test]
fn a_version_that_is_none_is_a_wrong_call() {
    let output = bench(&["setup", "--pi-version", "../1.6.0"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn older_versions_are_modelled_and_others_are_a_wrong_call() {
    let traces = tempfile::tempdir().expect("folder");
    let folder = traces.path().to_str().expect("path");
    let output = bench(&[
        "run",
        "host/steered",
        "--pi-version",
        "1.0.3",
        "--traces",
        folder,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let trace =
        fs::read_to_string(traces.path().join("host.steered.sim-1.0.3.jsonl")).expect("trace");
    assert!(trace.contains(r#""pi":"1.0.3""#), "{trace}");
    assert!(!trace.contains("durationMs"), "1.0.3 tells no durations");
    for args in [
        &["run", "--pi-version", "1.5.0"][..],
        &["conform", "--pi-version", "1.5.0"],
        &["show", "host/steered", "--pi-version", "1.5.0"],
    ] {
        let output = bench(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let told = stderr(&output);
        assert!(
            told.contains("1.5.0") && told.contains("1.0.3, 1.3.0"),
            "{told}"
        );
    }
}

#[test]
fn nobody_reads_and_nothing_breaks() {
    let status = Command::new("sh")
        .args([
            "-c",
            &format!("{} list | head -n 0", env!("CARGO_BIN_EXE_pi-bench")),
        ])
        .output()
        .expect("a shell");
    assert!(!stderr(&status).contains("panicked"), "{}", stderr(&status));
}

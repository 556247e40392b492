//! What the real Pi did: 41 diffs of its own functions and 20 runs of its tools.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::display::{Window, number_width, show};
use super::super::prepare;
use super::bench::Bench;

fn records(kind: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/diff-cases.json");
    let records: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    records
        .into_iter()
        .filter(|record| record["kind"] == kind)
        .collect()
}

#[test]
fn diffs_of_whole_texts_are_those_of_the_real_pi() {
    let records = records("generateDiffString+generateUnifiedPatch");
    assert_eq!(records.len(), 41);
    for record in &records {
        let text = |key: &str| record[key].as_str().unwrap();
        let (old, new) = (text("old"), text("new"));
        let whole = Window {
            old,
            new,
            old_line: 0,
            new_line: 0,
        };
        let context = usize::try_from(record["contextLines"].as_u64().unwrap()).unwrap();
        let shown = show(text("path"), &[whole], number_width(old, new), context);
        assert_eq!(shown.diff, text("diff"), "{}", record["name"]);
        assert_eq!(shown.patch, text("patch"), "{}", record["name"]);
        let first = record.get("firstChangedLine").and_then(Value::as_u64);
        assert_eq!(
            shown.first_changed_line.map(|line| line as u64),
            first,
            "{}",
            record["name"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn edits_and_writes_are_those_of_the_real_pi() {
    let records: Vec<Value> = ["edit-tool", "write-tool"]
        .into_iter()
        .flat_map(records)
        .collect();
    assert_eq!(records.len(), 20);
    for record in &records {
        let bench = Bench::new();
        let path = record["path"].as_str().unwrap();
        if let Some(before) = record["before"].as_str() {
            bench.write(path, before);
        }
        let kind = record["kind"].as_str().unwrap();
        let tool = kind.strip_suffix("-tool").unwrap();
        let name = &record["name"];
        assert_eq!(
            prepare(tool, record["input"].clone()),
            record["eventInput"],
            "{name}"
        );
        let (text, details, is_error) = match bench.run(tool, record["input"].clone()).await {
            Ok(output) => (
                output.content[0]["text"].clone(),
                output.details,
                output.is_error,
            ),
            // The host gives the result of a tool that threw empty details.
            Err(error) => (json!(error.0), Some(json!({})), true),
        };
        assert_eq!(json!([text]), record["text"], "{name}");
        assert_eq!(json!(is_error), record["isError"], "{name}");
        assert_eq!(details.unwrap_or_default(), record["details"], "{name}");
        assert_eq!(
            bench.read(path).map(Value::from).unwrap_or_default(),
            record["after"],
            "{name}"
        );
    }
}

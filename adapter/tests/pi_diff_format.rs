//! Diffs against what the real Pi wrote for the same texts (E2, E5, pi-host.md 13).

use std::path::Path;

use adapter::diff::{Effort, Script};
use serde_json::Value;

/// What the real Pi 1.6.0 answered.
fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pi-diff-cases.json");
    let text = std::fs::read_to_string(&path).expect("recorded diff cases");
    serde_json::from_str(&text).expect("JSON")
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

#[test]
fn e2_equals_pi_for_every_recorded_pair() {
    let mut compared = 0;
    for case in cases() {
        if case["kind"] != "generateDiffString+generateUnifiedPatch" {
            continue;
        }
        let context = case["contextLines"].as_u64().expect("context") as usize;
        let script = Script::between(text(&case, "old"), text(&case, "new"), &Effort::UNBOUNDED)
            .expect("unbounded");
        let shown = script.display(context);
        let name = text(&case, "name");
        assert_eq!(shown.diff, text(&case, "diff"), "{name}: diff");
        assert_eq!(
            shown.first_changed_line.map(|line| line as u64),
            case["firstChangedLine"].as_u64(),
            "{name}"
        );
        assert_eq!(
            script.patch(text(&case, "path"), context),
            text(&case, "patch"),
            "{name}: patch"
        );
        compared += 1;
    }
    assert_eq!(compared, 41);
}

#[test]
fn e2_equals_what_pis_edit_tool_stored() {
    let mut compared = 0;
    for case in cases() {
        if case["kind"] != "edit-tool" || !case["details"]["diff"].is_string() {
            continue;
        }
        let plain = |key| {
            text(&case, key)
                .trim_start_matches('\u{feff}')
                .replace("\r\n", "\n")
        };
        let (old, new) = (plain("before"), plain("after"));
        let shown = adapter::diff::diff(&old, &new);
        let name = text(&case, "name");
        assert_eq!(shown.diff, text(&case["details"], "diff"), "{name}");
        assert_eq!(
            shown.first_changed_line.map(|line| line as u64),
            case["details"]["firstChangedLine"].as_u64(),
            "{name}"
        );
        assert_eq!(
            adapter::diff::patch(text(&case, "path"), &old, &new),
            text(&case["details"], "patch"),
            "{name}"
        );
        compared += 1;
    }
    assert!(compared >= 9, "only {compared} recorded edits had details");
}

#[test]
fn e4_a_search_ends_at_its_steps() {
    let old: String = (0..40_000).map(|line| format!("a{line}\n")).collect();
    let new: String = (0..40_000).map(|line| format!("b{line}\n")).collect();
    assert!(
        Script::between(
            &old,
            &new,
            &Effort {
                steps: 100_000,
                expired: &|| false
            }
        )
        .is_none()
    );
    assert!(
        Script::between(
            &old,
            &new,
            &Effort {
                steps: u64::MAX,
                expired: &|| true
            }
        )
        .is_none()
    );
}

#[test]
fn e4_a_search_that_cannot_end_within_its_steps_does_not_begin() {
    let text = "x\n".repeat(10_000);
    let effort = |steps| Effort {
        steps,
        expired: &|| panic!("a look at the clock"),
    };
    assert!(Script::between(&text, "", &effort(100_000)).is_none());
    assert!(Script::between(&text, &text, &effort(30_000)).is_none());
}

#[test]
fn e4_a_long_deletion_is_cheap() {
    let lines: Vec<String> = (0..10_020).map(|line| format!("line {line}\n")).collect();
    let (old, new) = (
        lines.concat(),
        [&lines[..10], &lines[10_010..]].concat().concat(),
    );
    let script = Script::between(
        &old,
        &new,
        &Effort {
            steps: 2_000_000,
            expired: &|| false,
        },
    )
    .expect("cheap");
    assert_eq!(
        script
            .parts()
            .iter()
            .map(|part| part.len)
            .collect::<Vec<_>>(),
        [10, 10_000, 10]
    );
}

#[test]
fn o06_only_lf_ends_a_line() {
    let shown = adapter::diff::diff("a\u{2028}b\nc\n", "a\u{2028}B\nc\n");
    assert_eq!(shown.diff, "-1 a\u{2028}b\n+1 a\u{2028}B\n 2 c");
}

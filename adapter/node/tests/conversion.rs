//! The conversions that need no Node: reading text, and patches as differences.
//!
//! An addon has no library that a test could link, so the two modules are compiled in here.

#[path = "../src/patch.rs"]
mod patch;
#[path = "../src/text.rs"]
mod text;

use adapter::ResultPatch;
use patch::{Difference, Original};
use serde_json::{Value, json};

fn value(text: &str) -> Value {
    text::read(text).expect("readable")
}

#[test]
fn a_lone_surrogate_costs_one_character() {
    assert_eq!(value(r#""a\ud800b""#), json!("a\u{fffd}b"));
    assert_eq!(value(r#""\udc00\ud800""#), json!("\u{fffd}\u{fffd}"));
    assert_eq!(
        value(r#"{"\ud800":"\ud800A"}"#),
        json!({"\u{fffd}": "\u{fffd}A"})
    );
}

#[test]
fn pairs_and_escaped_backslashes_stay() {
    assert_eq!(value(r#""\ud83d\ude00""#), json!("\u{1f600}"));
    assert_eq!(value(r#""\\ud800""#), json!("\\ud800"));
    assert_eq!(value(r#""\\\ud800""#), json!("\\\u{fffd}"));
}

#[test]
fn broken_text_is_an_error_and_no_panic() {
    for broken in [r#""\ud8"#, r#""\ud800\"#, "\\", r#""\uD8é0""#, "{", "\\é"] {
        assert!(text::read::<Value>(broken).is_err(), "{broken}");
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(text::read::<Value>(&deep).is_err());
}

#[test]
fn numbers_come_back_as_they_were() {
    // The last digits are lost by a parser that rounds for speed.
    for number in [
        "1.7976931348623157e308",
        "5e-324",
        "0.1",
        "2.2250738585072014e-308",
        "9007199254740993.5",
    ] {
        let parsed = value(number).as_f64().expect("a number");
        assert_eq!(Some(parsed), number.parse().ok(), "{number}");
    }
}

fn difference(original: &Original, patch: ResultPatch) -> Value {
    serde_json::to_value(Difference::new(original, patch)).expect("plain data")
}

fn original() -> Original {
    Original {
        content: Some(vec![
            json!({"type": "text", "text": "A"}),
            json!({"type": "image", "data": "…"}),
        ]),
        details: Some(json!({"server": "gortex", "tool": "edit"})),
        structured_content: Some(json!({"content": [1, 2]})),
    }
}

#[test]
fn what_is_kept_is_not_sent_back() {
    let mut content = original().content.expect("given");
    content.push(json!({"type": "text", "text": "guidance"}));
    let patch = ResultPatch {
        content: Some(content),
        details: Some(json!({"server": "gortex", "tool": "edit", "diff": "+1 a"})),
        structured_content: original().structured_content,
        is_error: Some(false),
    };
    let expected = json!({
        "content": {"keep": 2, "then": [{"type": "text", "text": "guidance"}]},
        "details": {"merge": {"diff": "+1 a"}},
        "structuredContent": {"merge": {}},
        "isError": false,
    });
    assert_eq!(difference(&original(), patch), expected);
}

#[test]
fn what_is_taken_away_or_of_another_kind_is_sent_whole() {
    let patch = ResultPatch {
        content: Some(vec![json!({"type": "text", "text": "B"})]),
        details: Some(json!({"server": "gortex"})),
        structured_content: Some(json!([1])),
        is_error: None,
    };
    let expected = json!({
        "content": {"keep": 0, "then": [{"type": "text", "text": "B"}]},
        "details": {"set": {"server": "gortex"}},
        "structuredContent": {"set": [1]},
    });
    assert_eq!(difference(&original(), patch), expected);
}

#[test]
fn a_member_with_a_new_value_is_sent() {
    let patch = ResultPatch {
        details: Some(json!({"server": "gortex", "tool": "other"})),
        ..ResultPatch::default()
    };
    assert_eq!(
        difference(&original(), patch),
        json!({"details": {"merge": {"tool": "other"}}})
    );
}

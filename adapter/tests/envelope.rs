//! The question about a call, byte for byte (H1, H2): the input is never copied into a tree of its own, and still reads as
//! if it were.

use std::path::Path;

use adapter::hook::{Envelope, translate};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What is sent, made the plain way: the input is copied, the canonical keys are put into the copy.
fn plainly(name: &str, input: &Value) -> Vec<u8> {
    let mut sent = input.as_object().cloned().unwrap_or_default();
    let graph = name
        .strip_prefix("mcp__gortex__")
        .filter(|bare| !bare.is_empty());
    let tool = match name {
        "read" => "Read",
        "grep" => "Grep",
        "find" | "ls" => "Glob",
        "bash" | "powershell" => "Bash",
        "edit" => "Edit",
        "write" => "Write",
        other => graph.unwrap_or(other),
    };
    if graph.is_none() {
        let given = sent.clone();
        let first = |keys: &[&str]| {
            let texts = keys.iter().filter_map(|key| given.get(*key)?.as_str());
            texts
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .next()
        };
        let file = first(&["file_path", "path", "file", "filepath", "absolute_path"]);
        let mut pattern = first(&["pattern", "glob", "query", "regex", "name"]);
        if pattern.is_none() && tool == "Glob" {
            pattern.clone_from(&file);
        }
        let command = first(&["command", "cmd", "script"]);
        let canonical = [
            ("file_path", file),
            ("pattern", pattern),
            ("command", command),
        ];
        for (key, text) in canonical {
            if let Some(text) = text {
                sent.insert(key.to_owned(), Value::String(text));
            }
        }
    }
    let envelope = json!({
        "event": "tool_call", "cwd": "/repo/ä", "session_id": "s-1", "tool_name": tool, "tool_input": sent,
        "is_gortex_tool": graph.is_some(),
    });
    serde_json::to_vec(&envelope).expect("JSON")
}

fn sent(name: &str, input: &Value) -> Vec<u8> {
    let call = translate(name, input);
    let envelope = Envelope::tool_call(Path::new("/repo/ä"), "s-1", &call).expect("UTF-8");
    envelope.to_bytes().expect("not too large")
}

fn tool() -> impl Strategy<Value = String> {
    let names = [
        "read",
        "grep",
        "find",
        "ls",
        "bash",
        "powershell",
        "edit",
        "write",
        "codemode",
        "mcp__gortex__read",
        "mcp__gortex__",
        "mcp__other__find",
    ];
    prop_oneof![
        prop::sample::select(names.to_vec()).prop_map(str::to_owned),
        any::<String>(),
    ]
}

/// A key that means something to the translation, or any other.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "file_path",
        "path",
        "file",
        "filepath",
        "absolute_path",
        "pattern",
        "glob",
        "query",
        "regex",
        "name",
        "command",
        "cmd",
        "script",
    ];
    prop_oneof![
        4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        any::<String>(),
        "[a\"\\\\\u{0}-\u{1f}\u{7f}\u{2028}\u{2029}\u{1f600}é]{1,8}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::String),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn input() -> impl Strategy<Value = Value> {
    let object = prop::collection::vec((key(), value()), 0..8)
        .prop_map(|entries| Value::Object(Map::from_iter(entries)));
    prop_oneof![9 => object, 1 => value()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn h1_h2_an_envelope_is_that_of_a_copy_with_the_keys_put_in(name in tool(), input in input()) {
        let [sent, plainly] = [sent, plainly].map(|make| make(&name, &input));
        let [sent, plainly] = [&sent, &plainly].map(|bytes| String::from_utf8_lossy(bytes));
        prop_assert_eq!(sent, plainly);
    }
}

/// The places of the keys, spelled out.
#[test]
fn h2_a_key_keeps_its_place_and_a_new_one_comes_last() {
    let input = json!({"pattern": "", "command": 7, "a": [1], "query": "q", "path": "p", "z": {"path": ""}});
    let text = String::from_utf8(sent("bash", &input)).expect("UTF-8");
    let put = r#""tool_input":{"pattern":"q","command":7,"a":[1],"query":"q","path":"p","z":{"path":""},"file_path":"p"}"#;
    assert!(text.contains(put), "{text}");
}

/// A call whose envelope weighs this much.
fn weighing(bytes: usize) -> Value {
    let around = sent("write", &json!({"content": ""})).len();
    json!({"content": "x".repeat(bytes - around)})
}

#[test]
fn h1_an_envelope_of_16_mib_is_sent_and_one_of_a_byte_more_is_not() {
    let most = weighing(Envelope::MAX_BYTES);
    assert_eq!(sent("write", &most).len(), Envelope::MAX_BYTES);
    let more = weighing(Envelope::MAX_BYTES + 1);
    let call = translate("write", &more);
    let envelope = Envelope::tool_call(Path::new("/repo/ä"), "s-1", &call).expect("UTF-8");
    assert_eq!(envelope.to_bytes(), None);
}

//! Results as the model reads them (pi-host.md 4.8, trace 04-result-conversion).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::super::result::{ResultOptions, convert};
use crate::tool::{ToolError, ToolOutput};

fn converted_in(temp_dir: &Path, answer: Value) -> Result<ToolOutput, ToolError> {
    let options = ResultOptions {
        temp_dir: temp_dir.to_owned(),
        has_readable_resources: false,
    };
    convert("s", "t", answer, &options)
}

fn converted(answer: Value) -> ToolOutput {
    converted_in(Path::new("/nonexistent"), answer).unwrap()
}

/// The text of the only block that `block` becomes.
fn read(block: Value) -> String {
    let output = converted(json!({"content": [block]}));
    assert_eq!(output.content.len(), 1);
    output.content[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn errors_keep_what_the_server_said() {
    let output = converted(
        json!({"content": [{"type": "text", "text": "FAIL"}], "isError": true, "_meta": {"x": 1}}),
    );
    assert_eq!(output.content, [json!({"type": "text", "text": "FAIL"})]);
    assert!(output.is_error);
    let kept = json!({"content": [{"type": "text", "text": "FAIL"}], "isError": true});
    assert_eq!(output.structured_content, Some(kept));
    let silent = converted(json!({"content": [], "isError": true}));
    assert_eq!(
        silent.content,
        [json!({"type": "text", "text": "MCP tool s/t returned an error"})]
    );
}

#[test]
fn structured_content_is_read_only_without_other_content() {
    let only = converted(json!({"structuredContent": {"a": [1, {}], "b": []}}));
    let pretty = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}";
    assert_eq!(only.content, [json!({"type": "text", "text": pretty})]);
    assert_eq!(
        only.structured_content.unwrap().to_string(),
        r#"{"structuredContent":{"a":[1,{}],"b":[]},"content":[]}"#
    );
    let both = converted(
        json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}),
    );
    assert_eq!(both.content.len(), 1);
    assert!(converted(json!({"content": []})).content.is_empty());
}

#[test]
fn what_is_no_result_fails() {
    let invalid = Err(ToolError("Invalid MCP tools/call result".into()));
    for answer in [
        Value::Null,
        json!([]),
        json!({"content": "x"}),
        json!({"content": null}),
    ] {
        assert_eq!(converted_in(Path::new("/"), answer), invalid);
    }
    let odd = converted_in(Path::new("/"), json!({"content": [null]}));
    assert_eq!(
        odd,
        Err(ToolError(
            "Cannot read properties of null (reading 'type')".into()
        ))
    );
}

#[test]
fn other_blocks_become_texts() {
    assert_eq!(
        read(json!({"type": "audio", "mimeType": "audio/wav", "data": ""})),
        "[audio audio/wav omitted]"
    );
    let link = json!({"type": "resource_link", "uri": "file:///x", "name": "nm"});
    assert_eq!(read(link), "[Resource file:///x \"nm\"]");
    let full = json!({"type": "resource_link", "uri": "u", "name": "n", "title": "T", "mimeType": "a/b", "size": 2048,
        "description": "D"});
    assert_eq!(read(full), "[Resource u \"T\" (a/b, 2.0KB): D]");
    assert_eq!(
        read(json!({"type": "resource", "resource": {"uri": "u", "text": "inside"}})),
        "inside"
    );
    let blob = json!({"type": "resource", "resource": {"uri": "u", "mimeType": "application/json", "blob": "e30="}});
    assert_eq!(read(blob), "{}");
    assert_eq!(
        read(json!({"type": "weird"})),
        "[unsupported MCP content weird]"
    );
    assert_eq!(read(json!(5)), "[unsupported MCP content undefined]");
    let image =
        json!({"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": {}});
    let output = converted(json!({"content": [image]}));
    assert_eq!(
        output.content,
        [json!({"type": "image", "data": "AA==", "mimeType": "image/png"})]
    );
}

#[test]
fn a_binary_resource_is_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let block = json!({"type": "resource", "resource": {"uri": "file:///a.bin2", "blob": "AAEC"}});
    let output = converted_in(folder.path(), json!({"content": [block]})).unwrap();
    let text = output.content[0]["text"].as_str().unwrap();
    let path = text
        .strip_prefix("[Binary resource file:///a.bin2 (unknown type, 3B) saved to ")
        .unwrap();
    let path = path.strip_suffix(']').unwrap();
    assert!(path.ends_with(".bin2"));
    assert_eq!(std::fs::read(path).unwrap(), [0, 1, 2]);
}

#[test]
fn a_long_text_is_cut_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let fits = "x".repeat(20480);
    let output = converted_in(
        folder.path(),
        json!({"content": [{"type": "text", "text": fits}]}),
    )
    .unwrap();
    assert_eq!(output.content[0]["text"].as_str().unwrap().len(), 20480);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    // Both cuts fall into a character of three bytes: 10240 = 2 + 3 * 3412 + 2.
    let long = format!("ab{}\n", "€".repeat(7000));
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let blocks = json!([{"type": "text", "text": long}, image, {"type": "text", "text": "end\n"}]);
    let output = converted_in(folder.path(), json!({"content": blocks})).unwrap();
    let full = format!("{long}\nend\n");
    let details = output.details.unwrap();
    let path = details["fullOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), full);
    assert_eq!(
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    assert_eq!(
        (name.len(), &name[..7], &name[23..]),
        (27, "pi-mcp-", ".txt")
    );
    let kept_tail = (full.len() - 10240).next_multiple_of(3) + 2 - 3;
    let tail = full
        .get(kept_tail..)
        .or_else(|| full.get(kept_tail + 1..))
        .unwrap_or_default();
    let head = &full[..2 + 3 * 3412];
    let removed = full.chars().count() - head.chars().count() - tail.chars().count();
    let expected = format!(
        "Warning: truncated output (original token count: {})\nTotal output lines: 3\n\n{head}…{removed} chars \
         truncated…{tail}\n\n[Full output: {path} (read it with offset/limit)]",
        full.len().div_ceil(4)
    );
    assert_eq!(
        output.content,
        [json!({"type": "text", "text": expected}), image]
    );
    assert_eq!(
        output.structured_content.unwrap()["content"][0]["text"],
        long
    );
}

#[test]
fn a_text_that_cannot_be_kept_says_so() {
    let output = converted(json!({"content": [{"type": "text", "text": "x".repeat(20481)}]}));
    let text = output.content[0]["text"].as_str().unwrap();
    assert!(
        text.contains("\n\n[Could not save the full output: "),
        "{}",
        &text[text.len() - 200..]
    );
    assert_eq!(output.details, Some(json!({"server": "s", "tool": "t"})));
}

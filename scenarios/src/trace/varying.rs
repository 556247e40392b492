//! What stands inside the answers of tools and is never the same in two plays: how long a script, its calls and a command
//! took, and the digits in the names of files that keep what was cut. That each stands there matters; what varies is
//! replaced.

use serde_json::{Value, json};

use super::normal::DURATION;

/// Stands for a number of seconds.
const SECONDS: &str = "<s>";

/// The tool whose result tells how long a script took.
const SCRIPTS: &str = "codemode";

/// How such a result begins: `Script completed` or `Script failed`, and on the next line its time.
const BEGINS: [&str; 2] = ["Script completed\nWall time ", "Script failed\nWall time "];

/// The member by which `bash` tells scripts its time (pi-host.md 10). A script may print it.
const WALL: &str = "wall_time_seconds";

/// How the names of files begin that keep what was cut (pi-host.md 4.8), and the hexadecimal digits that follow.
const KEPT: [&str; 3] = ["pi-bash-", "pi-codemode-", "pi-mcp-"];
const DIGITS: usize = 16;

/// Stands for these digits.
const HEX: &str = "<hex>";

/// An event about a call, as Pi tells it or as an extension sees it.
pub(super) fn call_event(payload: &Value) -> Value {
    if payload.get("toolCallId").is_none() {
        return payload.clone();
    }
    let mut kept = without_digits(payload);
    let is_script = kept["toolName"] == SCRIPTS;
    result(&mut kept, is_script);
    for member in ["result", "partialResult"] {
        if let Some(inner) = kept.get_mut(member) {
            result(inner, is_script);
        }
    }
    kept
}

/// A message of the history.
pub(super) fn message(message: &Value) -> Value {
    if message["role"] != "toolResult" {
        return message.clone();
    }
    let mut kept = without_digits(message);
    let is_script = kept["toolName"] == SCRIPTS;
    result(&mut kept, is_script);
    rows(&mut kept, "nestedCalls");
    kept
}

/// A message of a request. A tool's message does not name its tool, but no other tool of a case begins as a script does.
pub(super) fn read(message: &Value) -> Value {
    if message["role"] != "tool" {
        return message.clone();
    }
    let mut kept = without_digits(message);
    if let Some(text) = kept["content"].as_str() {
        kept["content"] = script_text(text).into();
    }
    kept
}

fn result(result: &mut Value, is_script: bool) {
    if let Some(wall) = result.pointer_mut(&format!("/structuredContent/{WALL}")) {
        *wall = json!(SECONDS);
    }
    if !is_script {
        return;
    }
    rows(result, "details");
    let blocks = result.get_mut("content").and_then(Value::as_array_mut);
    for block in blocks.into_iter().flatten() {
        // What a script prints stands in a block of its own behind the one that tells the time.
        if let Some(text) = block["text"].as_str() {
            block["text"] = without_walls(&without_time(text)).into();
        }
    }
}

/// The same with the digits in the names of kept files replaced, wherever they stand.
fn without_digits(value: &Value) -> Value {
    match value {
        Value::String(text) => KEPT
            .iter()
            .fold(text.clone(), |text, begin| unnamed(&text, begin))
            .into(),
        Value::Array(items) => items.iter().map(without_digits).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, item)| (name.clone(), without_digits(item)))
            .collect(),
        other => other.clone(),
    }
}

fn unnamed(text: &str, begin: &str) -> String {
    let mut parts = text.split(begin);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        let digits = part.split_at_checked(DIGITS).filter(|(digits, _)| {
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            digits.bytes().all(is_digit)
        });
        match digits {
            Some((_, rest)) => format!("{told}{begin}{HEX}{rest}"),
            None => format!("{told}{begin}{part}"),
        }
    })
}

/// Replaces the times of a script's calls.
fn rows(value: &mut Value, member: &str) {
    let calls = value.pointer_mut(&format!("/{member}/calls"));
    for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(duration) = call.get_mut("durationMs") {
            *duration = json!(DURATION);
        }
    }
}

/// The text of a script's result without its times; any other text as it is.
fn script_text(text: &str) -> String {
    if BEGINS.iter().any(|begin| text.starts_with(begin)) {
        without_walls(&without_time(text))
    } else {
        text.to_owned()
    }
}

fn without_time(text: &str) -> String {
    let split = |begin: &&'static str| Some((*begin, text.strip_prefix(*begin)?));
    match BEGINS.iter().find_map(split) {
        Some((begin, rest)) => format!("{begin}{SECONDS}{}", rest.trim_start_matches(is_of_number)),
        None => text.to_owned(),
    }
}

fn without_walls(text: &str) -> String {
    let mark = format!("\"{WALL}\":");
    let mut parts = text.split(&mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        format!(
            "{told}{mark}{SECONDS}{}",
            part.trim_start_matches(is_of_number)
        )
    })
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || character == '.'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_of_a_script_are_replaced_and_nothing_else() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let event = |wall: &str, bash: &str, ms: f64| {
            json!({ "toolCallId": "c", "toolName": "codemode", "result": {
                "content": [text(&format!("Script completed\nWall time {wall} seconds\nOutput:\n")),
                    text(&format!("{{\"wall_time_seconds\":{bash},\"n\":7}}")), text("7")],
                "details": { "calls": [{ "id": "c/1", "durationMs": ms }] } } })
        };
        let one = call_event(&event("0.1", "0", 3.5));
        assert_eq!(one, call_event(&event("12.0", "0.3", 4.0)));
        assert_eq!(
            one["result"]["content"],
            json!([
                text("Script completed\nWall time <s> seconds\nOutput:\n"),
                text("{\"wall_time_seconds\":<s>,\"n\":7}"),
                text("7")
            ])
        );
        assert_eq!(one["result"]["details"]["calls"][0]["durationMs"], DURATION);

        let other = json!({ "toolCallId": "c", "toolName": "read", "result": { "content": [text("Wall time 3 seconds")] } });
        assert_eq!(call_event(&other), other);
        let bash = json!({ "toolCallId": "c", "toolName": "bash", "structuredContent": { "wall_time_seconds": 0.1 } });
        assert_eq!(call_event(&bash)["structuredContent"][WALL], SECONDS);
    }

    #[test]
    fn digits_of_kept_files_are_replaced_and_other_names_are_not() {
        let read_by = |content: &str| read(&json!({ "role": "tool", "content": content }));
        assert_eq!(
            read_by("[Full output: <case>/run/pi-codemode-34c4a5fcc3e4aad1.txt (read")["content"],
            "[Full output: <case>/run/pi-codemode-<hex>.txt (read"
        );
        let other = "pi-codemode-worker and pi-mcp-34c4";
        assert_eq!(read_by(other)["content"], other);
    }

    #[test]
    fn a_model_reads_a_script_without_its_time() {
        let read_by = |content: &str| read(&json!({ "role": "tool", "content": content }));
        assert_eq!(
            read_by("Script failed\nWall time 0.4 seconds\nOutput:\n\nx")["content"],
            "Script failed\nWall time <s> seconds\nOutput:\n\nx"
        );
        assert_eq!(
            read_by("Wall time 0.4 seconds")["content"],
            "Wall time 0.4 seconds"
        );
    }

    #[test]
    fn calls_of_a_message_keep_all_but_their_times() {
        let kept = message(
            &json!({ "role": "toolResult", "toolName": "codemode", "nestedCalls": {
            "calls": [{ "id": "c/1", "status": "ok", "durationMs": 3 }, { "id": "c/2", "status": "unfinished" }],
            "complete": false } }),
        );
        assert_eq!(
            kept["nestedCalls"]["calls"],
            json!([{ "id": "c/1", "status": "ok", "durationMs": DURATION }, { "id": "c/2", "status": "unfinished" }])
        );
    }
}

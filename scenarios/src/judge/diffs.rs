//! Check 6: every diff is true. Applied to the text before its call it gives the text after, all its forms say the same,
//! and no other call in flight wrote that file.

use serde_json::Value;

use super::Failure;
use super::call::{Call, id_of};
use crate::trace::{Lane, Trace};

const CHECK: &str = "6 every diff is true";

/// The members by which the adapter shows diffs.
const SINGLE: [&str; 2] = ["diff", "firstChangedLine"];

/// Looks at each result of a graph tool whose details show a diff.
pub fn every_diff_is_true(trace: &Trace) -> Vec<Failure> {
    let calls = Call::all(trace);
    let mut failures = Vec::new();
    for call in &calls {
        let Some(result) = call
            .result("last")
            .filter(|_| call.tool().starts_with("mcp__gortex__"))
        else {
            continue;
        };
        let details = &result.payload["details"];
        let mut tell = |what: String| failures.push(Failure::new(CHECK, what).at(trace, result));
        if let Some(what) = inconsistent(details) {
            tell(format!("call {}: {what}", call.id));
        }
        for entry in details["diffs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|entry| entry.get("patch").is_some())
        {
            let path = entry["path"].as_str().unwrap_or_default();
            if let Some(what) = untrue(trace, call.id, path, entry) {
                tell(format!("call {}: {what}", call.id));
            }
            // A dry run writes nothing, whatever it names (E2).
            let contested = calls.iter().filter(|other| {
                other.id != call.id
                    && call.overlaps(other)
                    && other.preflight.payload["input"]["dry_run"] != true
            });
            for other in
                contested.filter(|other| names(&other.preflight.payload["input"], &plain(path)))
            {
                tell(format!(
                    "call {} shows a diff of {path}, which call {} names in flight too",
                    call.id, other.id
                ));
            }
        }
    }
    failures
}

/// Whether `diff`, `patch` and `firstChangedLine` beside `diffs` say something else than these.
fn inconsistent(details: &Value) -> Option<String> {
    let diffs: Vec<&Value> = details["diffs"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("patch").is_some())
        .collect();
    let single = match diffs.as_slice() {
        [] => {
            let left = ["diff", "patch", "firstChangedLine"]
                .into_iter()
                .find(|name| details.get(name).is_some())?;
            return Some(format!("`{left}` stands there without an entry in `diffs`"));
        }
        [one] => Some(*one),
        _ => None,
    };
    if let Some(one) = single
        && let Some(name) = SINGLE
            .into_iter()
            .find(|name| details.get(name) != one.get(name))
    {
        return Some(format!("`{name}` is not that of the only diff"));
    }
    let mut rest = details["patch"].as_str().unwrap_or_default();
    for entry in diffs {
        let patch = entry["patch"].as_str().unwrap_or_default().trim_end();
        match rest.trim_start().strip_prefix(patch) {
            Some(behind) => rest = behind,
            None => return Some("`patch` is not the patches of `diffs` joined".into()),
        }
    }
    (!rest.trim().is_empty()).then(|| "`patch` holds more than the patches of `diffs`".into())
}

fn untrue(trace: &Trace, id: &str, path: &str, entry: &Value) -> Option<String> {
    let text = |moment: &str| -> Option<String> {
        let event = trace
            .named(Lane::Disk, moment)
            .find(|event| id_of(event) == Some(id))?;
        let files = &event.payload["files"];
        Some(content(
            files
                .get(plain(path))
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ))
    };
    let (Some(before), Some(after)) = (text("before"), text("after")) else {
        return Some(format!(
            "a diff of {path}, and no recorder saw the file around it"
        ));
    };
    let patch = match diffy::Patch::from_str(entry["patch"].as_str().unwrap_or_default()) {
        Ok(patch) => patch,
        Err(error) => return Some(format!("the patch of {path} is none: {error}")),
    };
    match diffy::apply(&before, &patch) {
        Ok(result) if result == after => {}
        Ok(_) => {
            return Some(format!(
                "the patch of {path} does not give the text after the call"
            ));
        }
        Err(error) => {
            return Some(format!(
                "the patch of {path} does not apply to the text before: {error}"
            ));
        }
    }
    if let Some(line) = misnumbered(entry["diff"].as_str().unwrap_or_default(), &before, &after) {
        return Some(format!(
            "the diff of {path} shows {line:?}, which stands in neither text at that number"
        ));
    }
    let changed = before
        .split('\n')
        .zip(after.split('\n'))
        .take_while(|(old, new)| old == new)
        .count()
        + 1;
    let named = entry["firstChangedLine"].as_u64().unwrap_or_default() as usize;
    (named > after.split('\n').count().max(1) || named < changed.min(after.split('\n').count()))
        .then(|| format!("the first changed line of {path} is {changed}, and {named} is shown"))
}

/// The first line of a shown diff that is not in the text it is said to be of (pi-host.md 13: sign, number, space, text).
fn misnumbered<'a>(diff: &'a str, before: &str, after: &str) -> Option<&'a str> {
    if diff.is_empty() {
        return Some(diff);
    }
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split('\n').collect(), after.split('\n').collect());
    diff.split('\n').find(|line| {
        let (sign, rest) = line.split_at_checked(1).unwrap_or_default();
        let rest = rest.trim_start_matches(' ');
        if sign == " " && rest == "..." {
            return false;
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, text) = rest.split_at(digits);
        let lines = if sign == "+" { &after } else { &before };
        let stands = number
            .parse::<usize>()
            .ok()
            .and_then(|number| lines.get(number.wrapping_sub(1)));
        stands.copied() != text.strip_prefix(' ')
    })
}

/// A path as the recorders name files: relative to the project, without `.` and `..`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", Some(_)) | (".", None) => {}
            ("..", Some(&above)) if above != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    // In front may stand the case's folder, or what leads out of the project, and then the project's own name.
    let mut inside = parts.as_slice();
    for front in ["<case>", "..", "proj"] {
        inside = inside
            .strip_prefix([front].as_slice())
            .filter(|rest| !rest.is_empty())
            .unwrap_or(inside);
    }
    inside.join("/")
}

/// Whether some text in a call's input names a file.
fn names(input: &Value, path: &str) -> bool {
    match input {
        Value::String(text) => {
            let file = text.split("::").next().unwrap_or(text);
            plain(file) == path
                || (text.starts_with(['[', '{'])
                    && serde_json::from_str(text).is_ok_and(|inner: Value| names(&inner, path)))
        }
        Value::Array(items) => items.iter().any(|item| names(item, path)),
        Value::Object(members) => members.values().any(|item| names(item, path)),
        _ => false,
    }
}

/// What a person reads is the content: line endings and a byte-order mark are not part of it (E5).
fn content(text: &str) -> String {
    text.trim_start_matches('\u{feff}')
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

//! Check 6: every diff is true. Applied to the text before its call it gives the text after, and no other call in flight
//! wrote that file.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Failure;
use super::failures::call;
use crate::trace::{Event, Lane, Trace};

const CHECK: &str = "6 every diff is true";

/// Looks at each diff that stands in a result's details when all handlers are done.
pub fn every_diff_is_true(trace: &Trace) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut writers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in trace.named(Lane::Extension, "tool_result") {
        let (Some(id), Some(diffs)) = (call(event), event.payload["details"]["diffs"].as_array())
        else {
            continue;
        };
        for diff in diffs.iter().filter(|diff| diff.get("patch").is_some()) {
            let path = diff["path"].as_str().unwrap_or_default().to_owned();
            if let Some(what) = untrue(trace, id, &path, diff["patch"].as_str().unwrap_or_default())
            {
                failures.push(Failure::new(CHECK, what).at(trace, event));
            }
            writers.entry(path).or_default().push(id.to_owned());
        }
    }
    for (path, ids) in &writers {
        for (index, first) in ids.iter().enumerate() {
            for second in &ids[index + 1..] {
                if overlap(trace, first, second) {
                    let what = format!(
                        "calls {first} and {second} were in flight together and both show a diff of {path}"
                    );
                    failures.push(Failure::new(CHECK, what));
                }
            }
        }
    }
    failures
}

fn untrue(trace: &Trace, id: &str, path: &str, patch: &str) -> Option<String> {
    let text = |moment: &str| -> Option<String> {
        let event = trace
            .named(Lane::Disk, moment)
            .find(|event| call(event) == Some(id))?;
        Some(
            file(&event.payload["files"], path)
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let (Some(before), Some(after)) = (text("before"), text("after")) else {
        return Some(format!(
            "call {id} shows a diff of {path}, and no recorder saw the file around it"
        ));
    };
    // What a person reads is the content: line endings and a byte-order mark are not part of it (E5).
    let (before, after) = (content(&before), content(&after));
    let patch = match diffy::Patch::from_str(patch) {
        Ok(patch) => patch,
        Err(error) => return Some(format!("the patch of {path} by call {id} is none: {error}")),
    };
    match diffy::apply(&before, &patch) {
        Ok(result) if result == after => None,
        Ok(_) => Some(format!(
            "the diff of {path} by call {id} does not give the text after the call"
        )),
        Err(error) => Some(format!(
            "the diff of {path} by call {id} does not apply to the text before: {error}"
        )),
    }
}

/// A file of a snapshot by the name that a diff gives it: relative to the project, as such or behind its placeholder or
/// the repository's name.
fn file<'a>(files: &'a Value, path: &str) -> Option<&'a str> {
    let bare = path.trim_start_matches("<case>/").trim_start_matches("./");
    let bare = bare.strip_prefix("proj/").unwrap_or(bare);
    files
        .get(bare)
        .or_else(|| files.get(path))
        .and_then(Value::as_str)
}

fn content(text: &str) -> String {
    text.trim_start_matches('\u{feff}')
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

/// Whether two calls were between their preflight and their result at one time.
fn overlap(trace: &Trace, first: &str, second: &str) -> bool {
    let span = |id: &str| {
        let place = |name: &str| -> Option<usize> {
            let found: &Event = trace
                .named(Lane::Extension, name)
                .find(|event| call(event) == Some(id))?;
            trace
                .events
                .iter()
                .position(|event| std::ptr::eq(event, found))
        };
        Some((place("tool_call")?, place("tool_result")?))
    };
    match (span(first), span(second)) {
        (Some((start, end)), Some((other_start, other_end))) => {
            start < other_end && other_start < end
        }
        _ => false,
    }
}

//! How a Gortex of each posture steers reads of indexed source (wire.md, "Postures").

use std::io;

use serde_json::{Map, Value};

use crate::State;
use crate::script::Decision;

/// `nudge` blocks the call that makes a streak of so many without a graph tool among them.
const STREAK: u64 = 3;

/// What the posture that `args` name decides about a call; `None` for an envelope that asks for none.
///
/// # Errors
/// When what a session did before cannot be read or kept.
pub(crate) fn decide(
    indexed: &[String],
    args: &[String],
    state: &State,
    envelope: &Map<String, Value>,
) -> io::Result<Option<Decision>> {
    let text = |key: &str| envelope.get(key).and_then(Value::as_str);
    if indexed.is_empty() || text("event") != Some("tool_call") {
        return Ok(None);
    }
    let mode = args.iter().find_map(|arg| arg.strip_prefix("--mode="));
    let key = |what: &str| format!("posture.{what}.{}", text("session_id").unwrap_or_default());
    let (consulted, streak) = (key("consulted"), key("streak"));
    if envelope.get("is_gortex_tool") == Some(&Value::Bool(true)) {
        state.change(&consulted, |_| 1)?;
        state.change(&streak, |_| 0)?;
        return Ok(None);
    }
    let Some(tool) = text("tool_name").filter(|tool| looks_at(indexed, tool, envelope)) else {
        return Ok(None);
    };
    let advice = format!("{tool} looks at indexed source: use the graph tool `read` or `search`.");
    let block = Decision {
        block: Some(true),
        reason: Some(advice.clone()),
        ..Decision::default()
    };
    Ok(match mode {
        None => Some(block),
        Some("enrich") => Some(Decision {
            additional_context: Some(advice),
            ..Decision::default()
        }),
        Some("consult-unlock") => (state.change(&consulted, |was| was)? == 0).then_some(block),
        Some("nudge") => {
            let count = |streak| if streak == STREAK { 1 } else { streak + 1 };
            (state.change(&streak, count)? == STREAK).then_some(block)
        }
        Some(_) => None,
    })
}

/// Whether a call reads or searches one of the indexed paths. A search without a path looks at all of them.
fn looks_at(indexed: &[String], tool: &str, envelope: &Map<String, Value>) -> bool {
    let path = ["file_path", "path"].iter().find_map(|key| {
        let input = envelope.get("tool_input")?;
        input.get(*key)?.as_str()
    });
    match (tool, path) {
        ("Read" | "Grep" | "Glob", Some(path)) => indexed
            .iter()
            .any(|indexed| path.starts_with(indexed.as_str())),
        ("Grep" | "Glob", None) => true,
        _ => false,
    }
}

//! Says of each event what brought it about, as far as the events themselves tell.

use serde_json::Value;

use super::{Event, Lane};

/// Fills in the causes of a recorded trace.
///
/// A call's events name the call. A response names the person's step that it answers. An envelope names no call, and on
/// the real host its lane is recorded by another process than the calls', so the two are brought together by what they
/// say: each envelope belongs to the first call, in the order of preflight, that has its tool and input and no envelope
/// yet. A hook that read no envelope belongs to the first call that has none. An answer belongs to the last envelope
/// before it.
pub fn fill(events: &mut [Event]) {
    let mut calls: Vec<(String, Value, Value)> = preflights(events);
    let mut asked = None;
    let mut briefed = false;
    for event in events {
        let call = event
            .payload
            .get("toolCallId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        event.cause = match (event.lane, event.event.as_str()) {
            (Lane::Person, _) => take_step(&mut event.payload).map(|step| format!("step {step}")),
            (Lane::Hook, "ask") => {
                let envelope = &event.payload["envelope"];
                briefed |= envelope["event"] == "session_start";
                let id = match_call(&mut calls, envelope).or_else(|| {
                    // The briefing is asked for first, and may go unread as well.
                    let unread = envelope.is_null() && std::mem::replace(&mut briefed, true);
                    (unread && !calls.is_empty()).then(|| calls.remove(0).0)
                });
                asked = id.map(|id| format!("call {id}"));
                asked.clone()
            }
            (Lane::Hook, _) => asked.clone(),
            _ => call.map(|id| format!("call {id}")),
        };
    }
}

/// The calls that were prepared: id, tool and input, in the order of preflight. The recorders before and behind the
/// adapter may see different inputs, since handlers change them; the adapter saw one of the two or one in between.
fn preflights(events: &[Event]) -> Vec<(String, Value, Value)> {
    let prepared = events
        .iter()
        .filter(|event| event.lane == Lane::Extension && event.event == "tool_call");
    let facts = prepared.filter_map(|event| {
        let id = event.payload["toolCallId"].as_str()?;
        Some((
            id.to_owned(),
            event.payload["toolName"].clone(),
            event.payload["input"].clone(),
        ))
    });
    facts.collect()
}

fn match_call(calls: &mut Vec<(String, Value, Value)>, envelope: &Value) -> Option<String> {
    if envelope["event"] != "tool_call" {
        return None;
    }
    let tool = envelope["tool_name"].as_str()?;
    let named = |name: &Value| name.as_str().is_some_and(|name| gortex_name(name) == tool);
    let holds = |input: &Value| match (input.as_object(), envelope["tool_input"].as_object()) {
        (Some(input), Some(sent)) => input
            .iter()
            .all(|(key, value)| sent.get(key) == Some(value)),
        _ => false,
    };
    let exact = calls
        .iter()
        .position(|(_, name, input)| named(name) && holds(input));
    // An input that another handler changed and changed back is only known by its tool.
    let at = exact.or_else(|| calls.iter().position(|(_, name, _)| named(name)))?;
    let id = calls[at].0.clone();
    calls.retain(|(other, ..)| *other != id);
    Some(id)
}

/// The name under which the hook is asked about a tool (wire.md). The judge's own copy of that table: a mistake in the
/// adapter's must not cancel out.
fn gortex_name(name: &str) -> &str {
    match name {
        "read" => "Read",
        "grep" => "Grep",
        "find" | "ls" => "Glob",
        "bash" | "powershell" => "Bash",
        "edit" => "Edit",
        "write" => "Write",
        other => other.strip_prefix("mcp__gortex__").unwrap_or(other),
    }
}

/// The step in a command's or a response's `id` (`step-N`), which is the runner's own and so leaves the payload.
fn take_step(payload: &mut Value) -> Option<String> {
    let id = payload.as_object_mut()?.shift_remove("id")?;
    id.as_str()?.strip_prefix("step-").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Event, Lane};
    use super::fill;

    fn event(lane: Lane, name: &str, payload: Value) -> Event {
        Event {
            t: 0,
            lane,
            event: name.into(),
            cause: None,
            payload,
        }
    }

    #[test]
    fn an_envelope_finds_its_call_wherever_it_was_recorded() {
        let prepared = |id: &str, path: &str| {
            let payload =
                json!({ "toolCallId": id, "toolName": "read", "input": { "path": path } });
            event(Lane::Extension, "tool_call", payload)
        };
        let asked = |path: &str| {
            let input = json!({ "path": path, "file_path": path });
            let envelope =
                json!({ "event": "tool_call", "tool_name": "Read", "tool_input": input });
            event(Lane::Hook, "ask", json!({ "envelope": envelope }))
        };
        let answer = || event(Lane::Hook, "answer", json!({ "stdout": "{}" }));
        let mut events = vec![
            asked("a"),
            answer(),
            prepared("c1", "a"),
            asked("b"),
            prepared("c2", "a"),
            asked("a"),
            prepared("c3", "b"),
        ];
        fill(&mut events);
        let causes: Vec<Option<&str>> = events
            .iter()
            .filter(|event| event.lane == Lane::Hook)
            .map(|event| event.cause.as_deref())
            .collect();
        assert_eq!(
            causes,
            [
                Some("call c1"),
                Some("call c1"),
                Some("call c3"),
                Some("call c2")
            ]
        );
    }
}

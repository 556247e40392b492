//! The events that a lane can have, so that an expectation of an event that never comes is seen when a case is read.

use super::Case;
use super::load::nearest;
use super::validate::Fault;
use crate::trace::Lane;

/// What the person sends and is told, `stdout` being what `-p` prints: the methods of Pi's `extension_ui_request` stand under their own names.
const PERSON: [&str; 14] = [
    "send",
    "stdout",
    "response",
    "closed",
    "notify",
    "setStatus",
    "setWidget",
    "setTitle",
    "set_editor_text",
    "select",
    "confirm",
    "input",
    "editor",
    "custom",
];

/// Pi's RPC events, the header that `--mode json` prints before them, and what the runner adds: the history of a session,
/// and output that is no record.
const HOST: [&str; 25] = [
    "session",
    "agent_start",
    "agent_end",
    "agent_settled",
    "turn_start",
    "turn_end",
    "message_start",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "queue_update",
    "auto_retry_start",
    "auto_retry_end",
    "entry_appended",
    "summarization_retry_scheduled",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
    "compaction_start",
    "compaction_end",
    "session_info_changed",
    "thinking_level_changed",
    "extension_error",
    "history",
    "stray",
];

fn known(lane: Lane) -> Vec<String> {
    let names: &[&str] = match lane {
        Lane::Person => &PERSON,
        Lane::Host => &HOST,
        Lane::Extension => return recorded(),
        Lane::Mcp => &["start", "recv", "send", "exit", "http", "stream"],
        Lane::Hook => &["ask", "answer"],
        Lane::Model => &["request", "answer", "no_answer"],
        Lane::Disk => &["before", "after", "log", "end"],
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The events that a recorder keeps, from the file that both recorders read; `servers`, `told` and `navigated` are what it
/// adds, and `hooks` is what a scripted extension counts.
fn recorded() -> Vec<String> {
    let recorded: serde_json::Value =
        serde_json::from_str(include_str!("../../real-pi/recorded.json")).unwrap_or_default();
    let members = ["first", "last"]
        .into_iter()
        .flat_map(|by| recorded[by].as_object().into_iter().flatten());
    members
        .map(|(name, _)| name.clone())
        .chain(["servers", "told", "navigated", "hooks"].map(str::to_owned))
        .collect()
}

/// Expectations that no trace can meet, or that every trace meets.
pub(super) fn expectations(case: &Case, faults: &mut Vec<Fault>) {
    for (index, expected) in case.expect.iter().enumerate() {
        let names = known(expected.lane);
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let wrong = if !known.contains(&expected.event.as_str()) {
            let what = format!(
                "looks for `{}`, which lane {} never has",
                expected.event, expected.lane
            );
            Some((what, nearest(&expected.event, &known)))
        } else if expected.nth == Some(0) {
            Some((
                "looks at event 0".to_owned(),
                "the first event is 1".to_owned(),
            ))
        } else if expected
            .between_ms
            .is_some_and(|[earliest, latest]| earliest > latest)
        {
            Some((
                "has a time that ends before it begins".to_owned(),
                "write the earlier time first".to_owned(),
            ))
        } else {
            None
        };
        if let Some((what, help)) = wrong {
            let first = std::iter::once("[[expect]]".to_owned());
            let near = first
                .chain(std::iter::repeat_n("\n[[expect]]".to_owned(), index))
                .collect();
            faults.push(Fault {
                near,
                what: format!("expectation {} {what}", index + 1),
                help,
            });
        }
    }
}

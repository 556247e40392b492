//! Checks 1 and 5: no handler failed, and a call is stopped by what may stop it and by nothing else.

use serde_json::Value;

use super::Failure;
use super::call::{Call, Decision, left_at, text_of};
use crate::case::Case;
use crate::trace::{Lane, Trace};

/// Pi's text for a call that was blocked without a reason (pi-host.md 2).
const NO_REASON: &str = "Tool execution was blocked";

/// Pi's text for a call that an abort kept from running (pi-host.md 9).
const ABORTED: &str = "Operation aborted";

/// Pi's text for a reload that was asked for in the middle of a run.
const NOT_NOW: &str = "Wait for the current response to finish before reloading.";

/// Check 1: no handler of ours, and no recorder, threw or rejected. A throw in `tool_call` is told by nobody (pi-host.md
/// 2), but it stops the call: that is check 5's.
pub fn none_failed(case: &Case, trace: &Trace) -> Vec<Failure> {
    let reported = trace.named(Lane::Host, "extension_error");
    // Where an extension of the case stands in for Pi's MCP support and connects nothing, Pi reports our server, and no
    // handler failed (pi-host.md 3.4). Anywhere else that report means that we registered for nobody (R3).
    let replaced = case.host.replaces_mcp();
    let reported =
        reported.filter(|event| !(replaced && event.payload["event"] == "register_mcp_server"));
    // That Pi refuses the person's reload is told in the same way, and no handler failed.
    let reported = reported
        .filter(|event| event.payload["event"] != "command" || event.payload["error"] != NOT_NOW);
    let reported = reported.filter(|event| !others_doing(case, &event.payload));
    let reported = reported.filter(|event| {
        // Other extensions of a case are files of its own, and may fail.
        event.payload["extensionPath"]
            .as_str()
            .is_none_or(|path| path.contains("record-") || !path.contains("<case>"))
    });
    reported
        .map(|event| {
            let what = format!(
                "{} threw: {}",
                event.payload["event"], event.payload["error"]
            );
            Failure::new("1 no handler failed", what).at(trace, event)
        })
        .collect()
}

/// Whether Pi reports what another extension of the case asked for and does not name it: a prompt in the person's name is
/// refused in nobody's name, and entries that cannot be appended are reported for every handler behind the one that wants
/// them.
fn others_doing(case: &Case, report: &Value) -> bool {
    let handlers = || case.host.extensions.iter().flat_map(|other| &other.on);
    let commands = case
        .host
        .extensions
        .iter()
        .flat_map(|other| &other.commands);
    let mut deeds = handlers()
        .map(|handler| &handler.does)
        .chain(commands.map(|command| &command.does));
    let text = report["error"].as_str().unwrap_or_default();
    (report["event"] == "send_user_message" && deeds.any(|deeds| !deeds.says.is_empty()))
        || (text.starts_with("Invalid boundary entries: ")
            && handlers().any(|handler| {
                let returned = handler.returns.as_ref();
                returned.is_some_and(|value| value.get("entries").is_some())
            }))
}

/// Check 5: a call that did not run was blocked by a valid decision of the hook about it, or stopped by somebody else; and
/// a call that the hook blocked did not run.
pub fn stopped_only_by_a_decision(case: &Case, trace: &Trace) -> Vec<Failure> {
    const CHECK: &str = "5 calls are stopped by decisions only";
    let mut failures = Vec::new();
    for call in Call::all(trace) {
        let decision = call.decision();
        let ran = call.result("last").is_some();
        let text = match call.end() {
            Some(end) => text_of(&end.payload["result"]),
            None if !ran && left_at(trace).is_some() => continue,
            None => String::new(),
        };
        let what = match decision.block() {
            Some(_) if ran => format!("the hook blocked call {}, and it ran", call.id),
            Some(reason) if !ran && text == if reason.is_empty() { NO_REASON } else { reason } => {
                continue;
            }
            _ if ran
                || decision == Decision::Unknown
                || stopped_by_others(case, trace, &text)
                || (text == ABORTED && call.outlived_its_script()) =>
            {
                continue;
            }
            _ => format!(
                "call {} did not run, and no decision of the hook says why: {text:?}",
                call.id
            ),
        };
        failures.push(Failure::new(CHECK, what).at(trace, call.preflight));
    }
    failures
}

/// Whether this is the text of a call that the person, or another extension of the case, stopped.
fn stopped_by_others(case: &Case, trace: &Trace, text: &str) -> bool {
    // A command of an extension is a prompt that begins with a slash; a reload is one.
    let interrupted = trace.named(Lane::Person, "send").any(|event| {
        event.payload["type"] != "prompt"
            || event.payload["message"]
                .as_str()
                .is_some_and(|message| message.starts_with('/'))
    });
    let scripted = case
        .host
        .extensions
        .iter()
        .flat_map(|extension| &extension.on)
        .any(|handler| {
            let reason = handler
                .returns
                .as_ref()
                .and_then(|value| value["reason"].as_str());
            handler.throws.as_deref() == Some(text)
                || reason == Some(text)
                || (handler.returns.is_some() && text == NO_REASON)
        });
    scripted || (interrupted && text == ABORTED)
}

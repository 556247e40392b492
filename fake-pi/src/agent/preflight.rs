//! Before a call runs: is there such a tool, do its arguments fit, does a handler object (pi-host.md 1.4, 2).

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments;
use super::execute::Finished;
use crate::extension::Shared;
use crate::fault::Fault;
use crate::instance::truthy;
use crate::registry::tools::Entry;
use crate::session::Session;

/// What a call reads that an abort kept from running.
pub(super) const ABORTED: &str = "Operation aborted";

/// A call that may run.
pub(super) struct Prepared {
    pub(super) call: Value,
    pub(super) entry: Entry,
    /// The validated arguments, as handlers left them.
    pub(super) input: Shared,
}

/// What preparing a call came to.
pub(super) enum Preparation {
    /// It does not run; this is its result.
    Settled(Finished),
    /// It may run.
    Ready(Prepared),
}

/// Prepares one call. Only an existing tool with valid arguments gets its `tool_call` event.
pub(super) async fn prepare(
    session: &Session,
    call: &Value,
    declared: &[Entry],
    signal: &CancellationToken,
) -> Preparation {
    let refuse = |text: &str| Preparation::Settled(Finished::refused(call, text));
    if signal.is_cancelled() {
        return refuse(ABORTED);
    }
    let name = call["name"].as_str().unwrap_or_default();
    let Some(entry) = declared.iter().find(|entry| entry.definition.name == name) else {
        if session.host.makes(Fault::ChangesAnErrorText) {
            return refuse(&format!("Unknown tool {name}"));
        }
        return refuse(&format!("Tool {name} not found"));
    };
    let input = match arguments::validated(&entry.definition, call) {
        Ok(input) => Shared::new(input),
        Err(text) => return refuse(&text),
    };
    let judged = match session.instance().emit_tool_call(call, &input).await {
        Ok(judged) => judged,
        Err(thrown) if thrown.is_error => return refuse(&thrown.message),
        Err(thrown) => {
            return refuse(&format!(
                "Extension failed, blocking execution: {}",
                thrown.message
            ));
        }
    };
    if signal.is_cancelled() {
        return refuse(ABORTED);
    }
    let blocks =
        |judged: &Value| truthy(&judged["block"]) && !session.host.makes(Fault::IgnoresBlocks);
    if let Some(judged) = judged.filter(blocks) {
        let reason = match &judged["reason"] {
            Value::String(reason) if !reason.is_empty() => reason.clone(),
            reason if truthy(reason) => reason.to_string(),
            _ => "Tool execution was blocked".to_owned(),
        };
        let mut finished = Finished::refused(call, &reason);
        finished.terminates = judged["terminate"] == true;
        return Preparation::Settled(finished);
    }
    Preparation::Ready(Prepared {
        call: call.clone(),
        entry: entry.clone(),
        input,
    })
}

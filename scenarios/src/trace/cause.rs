//! Says of each event what brought it about, as far as the events themselves tell.

use serde_json::Value;

use super::{Event, Lane};

/// Fills in the causes of a recorded trace.
///
/// A call's events name the call. A hook envelope is asked while its call is prepared, and calls are prepared one after
/// another (pi-host.md 1.4), so it belongs to the call that the extension lane saw last. A response names the person's
/// step that it answers.
pub fn fill(events: &mut [Event]) {
    let mut preflight: Option<String> = None;
    for event in events {
        let call = event
            .payload
            .get("toolCallId")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if event.lane == Lane::Extension && event.event == "tool_call" {
            preflight.clone_from(&call);
        }
        event.cause = match event.lane {
            Lane::Person => take_step(&mut event.payload).map(|step| format!("step {step}")),
            Lane::Hook => (event.payload["envelope"]["event"] == "tool_call")
                .then(|| preflight.clone())
                .flatten()
                .map(|id| format!("call {id}")),
            _ => call.map(|id| format!("call {id}")),
        };
    }
}

/// The step in a command's or a response's `id` (`step-N`), which is the runner's own and so leaves the payload.
fn take_step(payload: &mut Value) -> Option<String> {
    let id = payload.as_object_mut()?.shift_remove("id")?;
    id.as_str()?.strip_prefix("step-").map(str::to_owned)
}

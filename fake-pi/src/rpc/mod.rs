//! RPC mode: commands in, records out (Pi's rpc-commands documentation; pi-host.md 1.1, 5).

pub(crate) mod commands;
pub(crate) mod replace;

use std::path::Path;

use serde_json::{Value, json};

use crate::host::Shared;
use crate::session::history::History;

/// The history of a new session in a folder.
pub(crate) fn new_history(host: &Shared, cwd: &Path) -> History {
    let id = host.ids.session(host.clock.now_ms());
    let file = session_file(host, &id);
    History::new(id, file, &cwd.to_string_lossy(), &host.clock)
}

/// The file that a session of this id would have.
pub(crate) fn session_file(host: &Shared, id: &str) -> Option<String> {
    let keeps = host.options.keep_sessions;
    keeps.then(|| {
        host.options
            .agent_dir
            .join("sessions")
            .join(format!("{id}.jsonl"))
            .to_string_lossy()
            .into_owned()
    })
}

/// A response, without its id when the command had none.
fn response(id: Option<&Value>, command: &str, outcome: Result<Option<Value>, String>) -> Value {
    let mut record = json!({});
    if let Some(id) = id {
        record["id"] = id.clone();
    }
    record["type"] = "response".into();
    record["command"] = command.into();
    record["success"] = outcome.is_ok().into();
    match outcome {
        Ok(Some(data)) => record["data"] = data,
        Ok(None) => {}
        Err(error) => record["error"] = error.into(),
    }
    record
}

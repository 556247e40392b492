//! RPC mode: commands in, records out (Pi's rpc-commands documentation; pi-host.md 1.1, 5).

mod commands;
pub(crate) mod replace;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::fault::Fault;
use crate::host::{Exit, Input, Shared};
use crate::instance::Instance;
use crate::session::Session;
use crate::session::history::History;

/// Turns of the runtime that ended tasks get before they count as left over.
const TURNS_TO_END: usize = 16;

/// The whole life of a host: start, commands, end.
pub(crate) async fn run(
    host: Arc<Shared>,
    mut input: UnboundedReceiver<Input>,
    end: watch::Sender<Option<Exit>>,
) {
    let instance = match Instance::load(&host).await {
        Ok(instance) => instance,
        Err(failure) => {
            host.warn(format!("Error: {}", failure.text()));
            host.warn("Hint: Start without extensions using \"pi -ne\".".to_owned());
            finish(&host, &end, 1);
            return;
        }
    };
    let session = Session::new(&host, new_history(&host, None), &instance);
    host.set_session(&session);
    replace::bind(
        &session,
        json!({"type": "session_start", "reason": "startup"}),
    )
    .await;
    while let Some(line) = input.recv().await {
        match line {
            // Each line is handled beside the others, for the session that is the client's as it is read.
            Input::Command(command) => commands::dispatch(&host, command),
            Input::End => break,
        }
    }
    shut_down(&host).await;
    // Tasks that were just told to end get the turns they need to notice; what is still there then is left over.
    for _ in 0..TURNS_TO_END {
        tokio::task::yield_now().await;
    }
    let code = if host.makes(Fault::ExitsWithOne) {
        1
    } else {
        0
    };
    finish(&host, &end, code);
}

/// The end of stdin: the run is aborted, `session_shutdown` runs; the client hears nothing of it (pi-host.md 4.9).
async fn shut_down(host: &Shared) {
    if let Some(session) = host.client_session() {
        session.unsubscribe();
    }
    if let Some(session) = host.session() {
        session.abort().await;
        session
            .instance()
            .emit(json!({"type": "session_shutdown", "reason": "quit"}))
            .await;
        session.dispose();
    }
}

fn finish(host: &Shared, end: &watch::Sender<Option<Exit>>, code: i32) {
    end.send_replace(Some(host.leftovers(code)));
    host.end();
}

/// The history of a new session.
pub(crate) fn new_history(host: &Shared, parent: Option<&str>) -> History {
    let id = host.ids.session(host.clock.now_ms());
    let file = session_file(host, &id);
    History::new(
        id,
        file,
        parent,
        &host.options.cwd.to_string_lossy(),
        &host.clock,
    )
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

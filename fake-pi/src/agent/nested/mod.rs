//! Tools that call tools: a nested call is checked, run and told of like one the model asked for, and names the call it
//! came from (pi-host.md 10).

pub(crate) mod record;

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::execute::{self, Finished, emit_end, emit_start};
use super::preflight::{self, Preparation};
use crate::registry::tools::Entry;
use crate::session::Session;
use crate::tool::Execution;

/// What a running tool may do in its session. One that belongs to no session can do nothing.
#[derive(Clone, Default)]
pub struct ToolSession(Option<Caller>);

#[derive(Clone)]
struct Caller {
    session: Arc<Session>,
    /// The id of the call that the tool runs for.
    id: String,
}

impl fmt::Debug for ToolSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.0.as_ref().map(|caller| &caller.id);
        f.debug_tuple("ToolSession").field(&id).finish()
    }
}

/// A nested call that was announced and did not run yet.
pub(crate) struct NestedCall {
    caller: Caller,
    call: Value,
}

impl ToolSession {
    /// The session as the tool of this call sees it.
    pub(super) fn of(session: &Arc<Session>, call: &Value) -> Self {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        Self(Some(Caller {
            session: session.clone(),
            id,
        }))
    }

    /// The session itself.
    pub(crate) fn session(&self) -> Option<&Arc<Session>> {
        self.0.as_ref().map(|caller| &caller.session)
    }

    /// Announces a call of `name`: its id is given, and `tool_execution_start` is emitted.
    pub(crate) async fn begin(&self, name: &str, arguments: &Value) -> Option<NestedCall> {
        let caller = self.0.clone()?;
        let id = caller
            .session
            .nested_calls()
            .begin(&caller.id, name, arguments);
        let call = json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments,
            "parentToolCallId": caller.id});
        emit_start(&caller.session, &call).await;
        Some(NestedCall { caller, call })
    }
}

impl NestedCall {
    /// Runs the call to its end, which is emitted. `signal` is the call's own: it fires when the caller wants no result
    /// any more, whether the run was aborted or not.
    ///
    /// A tool that runs alone waits for other nested ones of its kind. No tool makes nested calls of nested calls.
    pub(crate) async fn run(self, signal: &CancellationToken) -> Finished {
        let Self { caller, call } = self;
        let session = &caller.session;
        let entries = session.callable_tools();
        let named = |entry: &&Entry| call["name"] == entry.definition.name.as_str();
        let sequential = entries
            .iter()
            .find(named)
            .is_some_and(|entry| entry.definition.execution == Execution::Sequential);
        let alone = if sequential {
            Some(session.runs_alone().lock().await)
        } else {
            None
        };
        let finished = match preflight::prepare(session, &call, &entries, signal).await {
            Preparation::Settled(finished) => finished,
            Preparation::Ready(prepared) => execute::run(session, prepared, signal).await,
        };
        drop(alone);
        let text = finished.text();
        let error = finished.is_error.then_some(text.as_str());
        let id = call["id"].as_str().unwrap_or_default();
        session.nested_calls().end(&caller.id, id, error);
        emit_end(session, &finished).await;
        finished
    }
}

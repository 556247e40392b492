//! A shell command of the person's own (`bash` in RPC, `!` in the terminal), and what extensions may make of it.

use std::path::Path;

use serde_json::{Value, json};

use super::Session;
use crate::extension::Thrown;
use crate::instance::Instance;
use crate::tools::run_shell;

/// What a handler of `user_bash` may not return.
const INVALID: &str = "Invalid user_bash handler result: return undefined for local execution or exactly one valid \
    { operations } or { result } object";

impl Session {
    /// Runs a command, unless a handler of `user_bash` gives its result; the model reads of both with the next prompt. A
    /// handler that gives operations to run it with is not modelled: it is taken for one that returned nonsense.
    ///
    /// # Errors
    /// What a handler threw: unlike for other events it ends the command.
    pub(crate) async fn user_bash(
        &self,
        id: Option<&Value>,
        command: &str,
    ) -> Result<Value, String> {
        let given = self.instance().emit_user_bash(command, &self.cwd()).await;
        let result = match given.map_err(|thrown| thrown.message)? {
            Some(result) => result,
            None => self.run_bash(id, command).await?,
        };
        let mut message = json!({"role": "bashExecution", "command": command});
        for member in [
            "output",
            "exitCode",
            "cancelled",
            "truncated",
            "fullOutputPath",
        ] {
            if let Some(value) = result.get(member) {
                message[member] = value.clone();
            }
        }
        message["timestamp"] = self.host.clock.now_ms().into();
        self.keep_bash(message);
        Ok(result)
    }

    /// Appends the message of a command that ended, once no run is under way: it must not come between a call and its
    /// result.
    fn keep_bash(&self, message: Value) {
        let mut state = self.state();
        if state.running {
            state.pending_bash.push(message);
        } else {
            drop(state);
            self.append("message", json!({"message": message}));
        }
    }

    /// Appends the messages of the commands that ended during the run.
    pub(super) fn flush_bash_messages(&self) {
        let pending = std::mem::take(&mut self.state().pending_bash);
        for message in pending {
            self.append("message", json!({"message": message}));
        }
    }

    async fn run_bash(&self, id: Option<&Value>, command: &str) -> Result<Value, String> {
        let (output, code) = run_shell(command, &self.cwd())
            .await
            .map_err(|error| error.to_string())?;
        if !output.is_empty() {
            let mut update = json!({"type": "bash_execution_update"});
            if let Some(id) = id {
                update["id"] = id.clone();
            }
            update["delta"] = output.clone().into();
            self.record(update);
        }
        Ok(json!({"output": output, "exitCode": code, "cancelled": false, "truncated": false}))
    }
}

/// Whether a handler returned a result that counts.
fn is_result(value: &Value) -> bool {
    let result = &value["result"];
    value.get("operations").is_none()
        && result["output"].is_string()
        && result.get("exitCode").is_some_and(Value::is_number)
        && result["cancelled"].is_boolean()
        && result["truncated"].is_boolean()
}

impl Instance {
    /// Emits `user_bash`; the first handler that returns anything decides.
    ///
    /// # Errors
    /// What a handler threw, or that it returned nonsense; both are reported too.
    async fn emit_user_bash(&self, command: &str, cwd: &Path) -> Result<Option<Value>, Thrown> {
        let event = json!({"type": "user_bash", "command": command, "excludeFromContext": false,
            "cwd": cwd.to_string_lossy()});
        let (slot, given) = match self.first_given(event).await {
            (_, Ok(Value::Null)) => return Ok(None),
            (_, Ok(given)) if is_result(&given) => return Ok(Some(given["result"].clone())),
            (slot, Ok(_)) => (slot, Err(Thrown::error(INVALID))),
            (slot, thrown) => (slot, thrown.map(Some)),
        };
        if let Err(thrown) = &given {
            self.report(&slot, "user_bash", &thrown.message);
        }
        given
    }
}

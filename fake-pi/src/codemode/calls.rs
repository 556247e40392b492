//! The calls of one script: their rows in the result's details, and what the script gets of them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::script::ScriptCall;
use crate::agent::nested::ToolSession;
use crate::extension::lock;
use crate::registry::tools::Entry;
use crate::utf16::head;

/// UTF-16 units of a row's arguments and of its error.
const MOST_ARGUMENTS: usize = 200;
const MOST_ERROR: usize = 500;

/// Names that a script is told when it calls a tool that does not exist: close ones, or all when there are few.
const MOST_CLOSE: usize = 5;
const FEW: usize = 20;

/// What a call gives the script: its value, or the message of the error by which it rejects.
pub(super) type Outcome = Result<Value, String>;

/// The calls of one script.
pub(super) struct Calls {
    session: ToolSession,
    caller: String,
    callable: Vec<Entry>,
    rows: Rows,
    /// Fires when the script has ended: what still runs is not wanted any more.
    ended: CancellationToken,
}

impl Calls {
    /// No call yet. `updates` takes the rows whenever they change.
    pub(super) fn new(
        session: ToolSession,
        caller: String,
        updates: UnboundedSender<Value>,
    ) -> Self {
        let callable = session
            .session()
            .map(|session| session.callable_tools())
            .unwrap_or_default();
        Self {
            session,
            caller,
            callable,
            rows: Rows {
                rows: Arc::default(),
                updates,
            },
            ended: CancellationToken::new(),
        }
    }

    /// Tells of the rows as they are.
    pub(super) fn publish(&self) {
        self.rows.publish();
    }

    /// Begins a call and gives where its outcome will be.
    ///
    /// # Errors
    /// What the script throws when there is no such tool.
    pub(super) async fn begin(
        &self,
        call: &ScriptCall,
    ) -> Result<oneshot::Receiver<Outcome>, String> {
        let named = |entry: &&Entry| entry.definition.name == call.tool;
        let Some(entry) = self.callable.iter().find(named) else {
            return Err(self.missing(call));
        };
        let row = self.rows.add(&self.caller, &call.tool, &call.arguments);
        let (sender, outcome) = oneshot::channel();
        let (Some(nested), Some(session)) = (
            self.session.begin(&call.tool, &call.arguments).await,
            self.session.session(),
        ) else {
            // No tool is callable without a session, so none was found above.
            return Ok(outcome);
        };
        self.rows.publish();
        // The news of it leaves before the call goes on.
        tokio::task::yield_now().await;
        let signal = self.ended.child_token();
        let (rows, declares_output) = (self.rows.clone(), entry.tool.declares_output());
        let (name, started) = (call.tool.clone(), Instant::now());
        session.host.spawn("nested call", async move {
            let finished = nested.run(&signal).await;
            let text = finished.text();
            let said = if text.is_empty() {
                format!("Tool \"{name}\" failed")
            } else {
                text.clone()
            };
            let error = finished.is_error.then_some(said.as_str());
            rows.end(row, &finished.call["id"], error, &signal, started);
            rows.publish();
            let outcome = match finished.structured().filter(|_| declares_output) {
                Some(structured) => Ok(structured.clone()),
                None if finished.is_error => Err(said),
                None => Ok(text.into()),
            };
            // A script that has ended takes nothing.
            let _ = sender.send(outcome);
        });
        Ok(outcome)
    }

    /// Ends all: calls that still run are cancelled.
    pub(super) fn end(&self) {
        self.ended.cancel();
        self.rows.cancel_running();
    }

    /// The rows, as the result's details have them.
    pub(super) fn details(&self) -> Value {
        self.rows.details()
    }

    /// What a failed script's error says of its calls.
    pub(super) fn summary(&self) -> String {
        let rows = lock(&self.rows.rows);
        if rows.is_empty() {
            return "No tool calls were made.".to_owned();
        }
        let word = |row: &Value, member: &str| row[member].as_str().unwrap_or_default().to_owned();
        let calls: Vec<String> = rows
            .iter()
            .map(|row| format!("{} ({})", word(row, "name"), word(row, "status")))
            .collect();
        format!(
            "Tool calls made before the failure (they are not undone): {}",
            calls.join(", ")
        )
    }

    /// The error that names what the script may have meant.
    fn missing(&self, call: &ScriptCall) -> String {
        let plain = |name: &str| -> String {
            let kept = name.chars().filter(char::is_ascii_alphanumeric);
            kept.map(|character| character.to_ascii_lowercase())
                .collect()
        };
        let names: Vec<&str> = self
            .callable
            .iter()
            .map(|entry| entry.definition.name.as_str())
            .collect();
        let wanted = plain(&call.tool);
        let mut close: Vec<&&str> = names.iter().filter(|name| plain(name) == wanted).collect();
        if close.is_empty() && !wanted.is_empty() {
            let near = |name: &&&str| {
                let name = plain(name);
                name.contains(&wanted) || wanted.contains(&name)
            };
            close = names.iter().filter(near).collect();
        }
        let hint = if !close.is_empty() {
            let close: Vec<String> = close
                .iter()
                .take(MOST_CLOSE)
                .map(|name| format!("tools.{name}"))
                .collect();
            format!(" Did you mean {}?", close.join(", "))
        } else if names.len() <= FEW {
            format!(" Available: {}.", names.join(", "))
        } else {
            String::new()
        };
        let name = &call.tool;
        format!(
            "TypeError: tools.{name} does not exist.{hint} ALL_TOOLS lists every tool; searchTools(query) finds tools by \
             topic. Check for a member with \"{name}\" in tools.\n    at <anonymous> ({})",
            call.at
        )
    }
}

/// The rows of a script's calls.
#[derive(Clone)]
struct Rows {
    rows: Arc<Mutex<Vec<Value>>>,
    updates: UnboundedSender<Value>,
}

impl Rows {
    /// Adds the row of a call that begins, and gives its place.
    fn add(&self, caller: &str, name: &str, arguments: &Value) -> usize {
        let mut rows = lock(&self.rows);
        // The id is known to the script's side only when the call has ended.
        rows.push(json!({"id": format!("{caller}/?"), "name": name,
            "args": shortened(&arguments.to_string(), MOST_ARGUMENTS), "status": "running"}));
        rows.len() - 1
    }

    /// Notes how a call ended. Of one that was cancelled the result has left already; only later news would show it.
    fn end(
        &self,
        row: usize,
        id: &Value,
        error: Option<&str>,
        signal: &CancellationToken,
        started: Instant,
    ) {
        let mut rows = lock(&self.rows);
        let row = &mut rows[row];
        row["id"] = id.clone();
        row["durationMs"] = (started.elapsed().as_secs_f64() * 1000.0).into();
        row["status"] = match error {
            None => "ok",
            Some(_) if signal.is_cancelled() => "cancelled",
            Some(_) => "error",
        }
        .into();
        if let Some(error) = error {
            row["error"] = shortened(error, MOST_ERROR).into();
        }
    }

    fn cancel_running(&self) {
        for row in lock(&self.rows).iter_mut() {
            if row["status"] == "running" {
                row["status"] = "cancelled".into();
            }
        }
    }

    fn publish(&self) {
        // Nobody listens to a script whose result is there.
        let _ = self
            .updates
            .send(json!({"content": [], "details": self.details()}));
    }

    fn details(&self) -> Value {
        json!({"calls": *lock(&self.rows)})
    }
}

fn shortened(text: &str, most: usize) -> String {
    if head(text, most) == text {
        text.to_owned()
    } else {
        format!("{}...", head(text, most - 3))
    }
}

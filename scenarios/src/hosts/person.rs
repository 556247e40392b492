//! Plays the person's part on a host that speaks Pi's RPC, and records what comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::PlayProblem;
use crate::case::person::Deed;
use crate::case::{Case, When};
use crate::trace::recorder::Recorder;
use crate::trace::{Lane, normal};

/// The longest that a play waits for the next record: longer than all caps of Pi and of the adapter together.
const SILENCE: Duration = Duration::from_secs(90);

/// The line to a host: Pi's RPC commands in, Pi's RPC records out.
pub trait Line: Send {
    /// Sends one command.
    fn send(&mut self, command: Value) -> BoxFuture<'_, Result<(), PlayProblem>>;

    /// The next record; `None` when the host has closed the line.
    fn next(&mut self) -> BoxFuture<'_, Option<Value>>;
}

/// Plays all steps of a case, waits until nothing runs, and records the session's history.
///
/// # Errors
/// When the host closes the line, or says nothing for so long that it must hang.
pub async fn play(
    case: &Case,
    line: &mut dyn Line,
    recorder: &Recorder,
) -> Result<(), PlayProblem> {
    let mut person = Person {
        line,
        recorder,
        unanswered: BTreeSet::new(),
        running: false,
        entries: None,
    };
    for (index, step) in case.person.iter().enumerate() {
        match step.when {
            When::Sent if index == 0 => {}
            _ if index == 0 => person.ready().await?,
            When::Settled => person.until(Person::idle).await?,
            When::Answered => {
                let before = id(index);
                person
                    .until(|person| !person.unanswered.contains(&before))
                    .await?;
            }
            When::Sent => {}
        }
        person.pause(Duration::from_millis(step.delay_ms)).await?;
        let command = match step.deed() {
            Some(Deed::Prompt(text)) => {
                json!({ "id": id(index + 1), "type": "prompt", "message": text })
            }
            Some(Deed::Abort) => json!({ "id": id(index + 1), "type": "abort" }),
            Some(Deed::NewSession) => json!({ "id": id(index + 1), "type": "new_session" }),
            None => continue, // refused when the case was read
        };
        recorder.record(Lane::Person, "send", command.clone());
        person.send(command).await?;
    }
    person.until(Person::idle).await?;
    person
        .send(json!({ "id": HISTORY, "type": "get_entries" }))
        .await?;
    person.until(|person| person.entries.is_some()).await?;
    recorder.record(Lane::Host, "history", json!({ "entries": person.entries }));
    Ok(())
}

/// Records what a host still says while it ends.
pub async fn listen_to_the_end(line: &mut dyn Line, recorder: &Recorder) {
    while let Some(record) = line.next().await {
        keep(recorder, &record);
    }
}

/// The id of the runner's own query.
const HISTORY: &str = "history";

/// The id of the query by whose answer a host is known to have started.
const READY: &str = "ready";

fn id(step: usize) -> String {
    format!("step-{step}")
}

struct Person<'a> {
    line: &'a mut dyn Line,
    recorder: &'a Recorder,
    unanswered: BTreeSet<String>,
    running: bool,
    entries: Option<Vec<Value>>,
}

impl Person<'_> {
    fn idle(&self) -> bool {
        self.unanswered.is_empty() && !self.running
    }

    /// Waits until the host takes commands: the first is answered when the session has started (pi-host.md 1.1).
    async fn ready(&mut self) -> Result<(), PlayProblem> {
        self.send(json!({ "id": READY, "type": "get_state" }))
            .await?;
        self.until(|person| person.unanswered.is_empty()).await
    }

    async fn send(&mut self, command: Value) -> Result<(), PlayProblem> {
        if let Some(id) = command["id"].as_str() {
            self.unanswered.insert(id.to_owned());
        }
        self.line.send(command).await
    }

    /// Takes records until something holds.
    async fn until(&mut self, holds: impl Fn(&Self) -> bool) -> Result<(), PlayProblem> {
        while !holds(self) {
            let next = timeout_at(Instant::now() + SILENCE, self.line.next());
            let record = next.await.map_err(|_| PlayProblem::Silent {
                seconds: SILENCE.as_secs(),
            })?;
            self.take(&record.ok_or(PlayProblem::Closed)?);
        }
        Ok(())
    }

    /// Takes records for a while.
    async fn pause(&mut self, time: Duration) -> Result<(), PlayProblem> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            match timeout_at(end, self.line.next()).await {
                Ok(record) => self.take(&record.ok_or(PlayProblem::Closed)?),
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn take(&mut self, record: &Value) {
        match record["type"].as_str() {
            Some("response") => {
                let id = record["id"].as_str().unwrap_or_default();
                self.unanswered.remove(id);
                match id {
                    READY => return,
                    HISTORY => {
                        let entries = record["data"]["entries"].as_array();
                        self.entries =
                            Some(entries.into_iter().flatten().map(normal::entry).collect());
                        return;
                    }
                    _ => {}
                }
                self.running |= record["data"]["disposition"] == "started";
            }
            Some("agent_settled") => self.running = false,
            _ => {}
        }
        keep(self.recorder, record);
    }
}

fn keep(recorder: &Recorder, record: &Value) {
    if let Some((lane, event, payload)) = normal::rpc_record(record) {
        recorder.record(lane, &event, payload);
    }
}

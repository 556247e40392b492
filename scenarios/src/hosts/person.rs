//! Plays the person's part on a host that takes commands as Pi's RPC does, and records what comes back.
//!
//! Pi in a terminal takes keys and shows a screen; there a [`Line`] makes the one of the other, and what it answers is no
//! part of the trace.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::PlayProblem;
use crate::case::person::{Deed, Seen, Signal, Step, Streaming};
use crate::case::tools::Image;
use crate::case::{Case, Mode, When};
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

    /// Sends a signal to the host's process.
    fn signal(&mut self, signal: Signal);
}

/// How the person's part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The person is through: the host is to be closed.
    Done,
    /// The host ends by itself: it was sent a signal, or it had nothing to start with.
    Ends,
}

/// Plays all steps of a case (`stored` is where sessions from before the play lie), waits until nothing runs, and records the history of each session as it is left.
///
/// # Errors
/// When the host closes the line before it was meant to, or says nothing for so long that it must hang.
pub async fn play(
    case: &Case,
    stored: &Path,
    line: &mut dyn Line,
    recorder: &Recorder,
) -> Result<Left, PlayProblem> {
    let played = if case.host.mode.is_one_shot() {
        watch(case, stored, line, recorder).await
    } else {
        command(case, stored, line, recorder).await
    };
    match played {
        Err(PlayProblem::Closed) if case.host.may_leave() => Ok(Left::Ends),
        played => played,
    }
}

/// Watches a Pi that got its prompts at the start.
async fn watch(
    case: &Case,
    stored: &Path,
    line: &mut dyn Line,
    recorder: &Recorder,
) -> Result<Left, PlayProblem> {
    let mut given = json!({ "type": "arguments", "prompts": case.prompts() });
    if let Some(piped) = &case.host.piped {
        given["piped"] = json!(piped);
    }
    recorder.record(Lane::Person, "send", given);
    let mut person = Person::new(case.host.mode, stored, line, recorder);
    for (index, step) in case.person.iter().enumerate() {
        let Some(Deed::Signal(signal)) = step.deed() else {
            continue;
        };
        person.step = index + 1;
        if let Some(seen) = &step.seen {
            person.until_seen(seen).await?;
        }
        person.pause(Duration::from_millis(step.delay_ms)).await?;
        person.signal(signal);
    }
    Ok(Left::Ends)
}

/// Plays the steps as commands.
async fn command(
    case: &Case,
    stored: &Path,
    line: &mut dyn Line,
    recorder: &Recorder,
) -> Result<Left, PlayProblem> {
    let mut person = Person::new(case.host.mode, stored, line, recorder);
    for (index, step) in case.person.iter().enumerate() {
        person.step = index + 1;
        person.wait(step.when, index).await?;
        if let Some(seen) = &step.seen {
            person.until_seen(seen).await?;
        }
        person.pause(Duration::from_millis(step.delay_ms)).await?;
        let Some(deed) = step.deed() else {
            continue; // refused when the case was read
        };
        let leaves = matches!(
            deed,
            Deed::Navigate(_)
                | Deed::NewSession
                | Deed::Resume(_)
                | Deed::ResumeStored(_)
                | Deed::Fork(_)
                | Deed::Clone
                | Deed::Quit
                | Deed::Signal(_)
        );
        if leaves && step.when != When::Sent && person.idle() {
            person.look_at_session().await?;
        }
        match deed {
            Deed::Quit => {
                recorder.record(Lane::Person, "send", json!({ "type": "quit" }));
                return Ok(Left::Done);
            }
            Deed::Signal(signal) => person.signal(signal),
            _ => person.act(index + 1, &deed, step).await?,
        }
    }
    if case.person.last().is_some_and(|step| step.signal.is_some()) {
        return Ok(Left::Ends);
    }
    person.step += 1;
    person.until(Person::idle).await?;
    person.look_at_session().await?;
    Ok(Left::Done)
}

/// Records what a host still says while it ends.
pub async fn listen_to_the_end(mode: Mode, line: &mut dyn Line, recorder: &Recorder) {
    while let Some(record) = line.next().await {
        keep(mode, recorder, &record);
    }
}

/// The id of the runner's own query for the session's entries.
const HISTORY: &str = "history";

/// The id of the query for the session's file.
const FILE: &str = "file";

/// The id of the query by whose answer a host is known to have started.
const READY: &str = "ready";

/// The command of a recording extension that reloads, since RPC has none.
pub const RELOAD: &str = "/bench-reload";

/// The command of a recording extension that goes to another entry of the session's tree, since RPC has none.
const NAVIGATE: &str = "/bench-navigate";

/// Adds a step's images to a command.
fn show(members: &mut Value, step: &Step) {
    if !step.images.is_empty() {
        members["images"] = step.images.iter().map(Image::part).collect();
    }
}

fn id(step: usize) -> String {
    format!("step-{step}")
}

struct Person<'a> {
    mode: Mode,
    line: &'a mut dyn Line,
    recorder: &'a Recorder,
    unanswered: BTreeSet<String>,
    running: bool,
    /// The entries of the session that was looked at last.
    entries: Option<Vec<Value>>,
    /// The entry at which that session stood.
    leaf: Value,
    /// Its file.
    file: Option<String>,
    /// The files of the play's sessions; empty until one was looked at.
    sessions: Vec<String>,
    /// Which of them is the current one.
    current: usize,
    /// Where sessions from before the play lie.
    stored: &'a Path,
    /// The id of the question that was asked last.
    question: Option<Value>,
    /// The step that is being waited for; one more than there are at the end.
    step: usize,
}

impl<'a> Person<'a> {
    fn new(mode: Mode, stored: &'a Path, line: &'a mut dyn Line, recorder: &'a Recorder) -> Self {
        Self {
            mode,
            line,
            recorder,
            unanswered: BTreeSet::new(),
            running: false,
            entries: None,
            leaf: Value::Null,
            file: None,
            sessions: vec![String::new()],
            current: 0,
            stored,
            question: None,
            step: 0,
        }
    }

    fn signal(&mut self, signal: Signal) {
        let kept = json!({ "type": "signal", "signal": signal });
        self.recorder.record(Lane::Person, "send", kept);
        self.line.signal(signal);
    }

    fn idle(&self) -> bool {
        self.unanswered.is_empty() && !self.running
    }

    /// Waits until the host takes commands: the first is answered when the session has started (pi-host.md 1.1).
    async fn ready(&mut self) -> Result<(), PlayProblem> {
        self.send(json!({ "id": READY, "type": "get_state" }))
            .await?;
        self.until(|person| person.unanswered.is_empty()).await
    }

    /// Waits as the step of this index wants.
    async fn wait(&mut self, when: When, index: usize) -> Result<(), PlayProblem> {
        match when {
            When::Sent => Ok(()),
            _ if index == 0 => self.ready().await,
            When::Settled => self.until(Self::idle).await,
            When::Answered => {
                let before = id(index);
                self.until(|person| !person.unanswered.contains(&before))
                    .await
            }
        }
    }

    /// Sends the command of a step. The trace keeps it in the case's own words, since entries and files have names that
    /// no two plays share.
    async fn act(
        &mut self,
        number: usize,
        deed: &Deed<'_>,
        step: &Step,
    ) -> Result<(), PlayProblem> {
        let (kept, members) = match deed {
            Deed::Prompt(text) => {
                let mut members = json!({ "type": "prompt", "message": text });
                // What the return key does while a run is under way.
                let typed = (self.mode == Mode::Terminal).then_some(Streaming::Steer);
                if let Some(streaming) = step.streaming.or(typed) {
                    members["streamingBehavior"] = streaming.as_str().into();
                }
                show(&mut members, step);
                (members.clone(), members)
            }
            Deed::Queue(streaming, text) => {
                let command = match streaming {
                    Streaming::Steer => "steer",
                    Streaming::FollowUp => "follow_up",
                };
                let mut members = json!({ "type": command, "message": text });
                show(&mut members, step);
                (members.clone(), members)
            }
            Deed::ClearQueue => {
                let members = json!({ "type": "clear_queue" });
                (members.clone(), members)
            }
            Deed::Compact(compact) => {
                let mut members = json!({ "type": "compact" });
                if let Some(focus) = &compact.focus {
                    members["customInstructions"] = focus.clone().into();
                }
                (members.clone(), members)
            }
            Deed::Navigate(navigate) => {
                let told = |entry: Value| {
                    let mut told = json!({ "entry": entry, "summarize": navigate.summarize });
                    if let Some(label) = &navigate.label {
                        told["label"] = label.clone().into();
                    }
                    json!({ "type": "prompt", "message": format!("{NAVIGATE} {told}") })
                };
                let mut entries = self.entries.iter().flatten();
                let entry = entries
                    .nth(navigate.entry - 1)
                    .map(|entry| entry["id"].clone());
                (told(navigate.entry.into()), told(entry.unwrap_or_default()))
            }
            Deed::Reload => {
                let members = json!({ "type": "prompt", "message": RELOAD });
                (members.clone(), members)
            }
            Deed::NewSession => {
                self.begin_session();
                let members = json!({ "type": "new_session" });
                (members.clone(), members)
            }
            Deed::Resume(session) => {
                self.current = session - 1;
                let path = &self.sessions[self.current];
                (
                    json!({ "type": "switch_session", "session": session }),
                    json!({ "type": "switch_session", "sessionPath": path }),
                )
            }
            Deed::ResumeStored(name) => {
                self.begin_session();
                let path = self.stored.join(format!("{name}.jsonl"));
                (
                    json!({ "type": "switch_session", "stored": name }),
                    json!({ "type": "switch_session", "sessionPath": path }),
                )
            }
            Deed::Fork(prompt) => {
                let entry = self.prompt_entry(*prompt);
                self.begin_session();
                (
                    json!({ "type": "fork", "prompt": prompt }),
                    json!({ "type": "fork", "entryId": entry }),
                )
            }
            Deed::Clone => {
                self.begin_session();
                let members = json!({ "type": "clone" });
                (members.clone(), members)
            }
            Deed::Bash(command) => {
                let members = json!({ "type": "bash", "command": command });
                (members.clone(), members)
            }
            Deed::Model(model) => {
                let members = json!({ "type": "set_model", "provider": "bench", "modelId": model });
                (members.clone(), members)
            }
            Deed::Answer(answer) => return self.answer(answer).await,
            // Who leaves sends no command.
            Deed::Quit | Deed::Signal(_) => return Ok(()),
            Deed::Abort => {
                let members = json!({ "type": "abort" });
                (members.clone(), members)
            }
        };
        let with_id = |members: Value| {
            let mut command = json!({ "id": id(number) });
            for (name, value) in members.as_object().into_iter().flatten() {
                command[name] = value.clone();
            }
            command
        };
        self.recorder.record(Lane::Person, "send", with_id(kept));
        self.send(with_id(members)).await
    }

    /// Answers the question that was asked last. Pi answers nothing to that.
    async fn answer(&mut self, answer: &Value) -> Result<(), PlayProblem> {
        let mut kept = json!({ "type": "extension_ui_response" });
        match answer {
            Value::Bool(confirmed) => kept["confirmed"] = json!(confirmed),
            Value::String(value) => kept["value"] = json!(value),
            _ => kept["cancelled"] = json!(true),
        }
        self.recorder.record(Lane::Person, "send", kept.clone());
        kept["id"] = self.question.take().unwrap_or_default();
        self.line.send(kept).await
    }

    fn begin_session(&mut self) {
        self.sessions.push(String::new());
        self.current = self.sessions.len() - 1;
    }

    /// The entry of the session's n-th prompt, as far as the session was looked at.
    fn prompt_entry(&self, number: usize) -> Value {
        let entries = self.entries.iter().flatten();
        entries
            .filter(|entry| entry["type"] == "message" && entry["message"]["role"] == "user")
            .nth(number - 1)
            .map_or(Value::Null, |entry| entry["id"].clone())
    }

    /// Records the history of the current session and notes its file.
    async fn look_at_session(&mut self) -> Result<(), PlayProblem> {
        if !self.mode.has_records() {
            return Ok(()); // its file is looked at in the end
        }
        (self.entries, self.file) = (None, None);
        self.send(json!({ "id": FILE, "type": "get_state" }))
            .await?;
        self.send(json!({ "id": HISTORY, "type": "get_entries" }))
            .await?;
        self.until(|person| person.unanswered.is_empty()).await?;
        if let Some(file) = self.file.take() {
            self.sessions[self.current] = file;
        }
        let history = normal::history(self.entries.as_deref().unwrap_or_default(), &self.leaf);
        self.recorder.record(Lane::Host, "history", history);
        Ok(())
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
            let record = next.await.map_err(|_| self.silent())?;
            self.take(&record.ok_or(PlayProblem::Closed)?);
        }
        Ok(())
    }

    /// Takes records until the trace holds an event.
    async fn until_seen(&mut self, seen: &Seen) -> Result<(), PlayProblem> {
        let recorder = self.recorder.clone();
        let mut recorded = std::pin::pin!(recorder.seen(seen.lane, &seen.event, seen.nth));
        let end = Instant::now() + SILENCE;
        loop {
            tokio::select! {
                biased;
                () = &mut recorded => return Ok(()),
                record = self.line.next() => self.take(&record.ok_or(PlayProblem::Closed)?),
                () = tokio::time::sleep_until(end) => return Err(self.silent()),
            }
        }
    }

    fn silent(&self) -> PlayProblem {
        PlayProblem::Silent {
            seconds: SILENCE.as_secs(),
            step: self.step,
        }
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
                        self.entries = record["data"]["entries"].as_array().cloned();
                        self.leaf = record["data"]["leafId"].clone();
                        return;
                    }
                    FILE => {
                        let file = record["data"]["sessionFile"].as_str();
                        self.file = file.map(str::to_owned);
                        return;
                    }
                    _ => {}
                }
                self.running |= record["data"]["disposition"] == "started";
            }
            Some("extension_ui_request") if asks(record) => {
                self.question = Some(record["id"].clone());
            }
            // Runs that no prompt started begin without a response.
            Some("agent_start") => self.running = true,
            Some("agent_settled") => self.running = false,
            _ => {}
        }
        keep(self.mode, self.recorder, record);
    }
}

/// Whether a request of an extension is a question, and no notice.
fn asks(record: &Value) -> bool {
    matches!(
        record["method"].as_str(),
        Some("select" | "confirm" | "input" | "editor")
    )
}

fn keep(mode: Mode, recorder: &Recorder, record: &Value) {
    // What stands in for Pi's screen says how far Pi is, and nothing that both hosts could be compared by.
    if mode == Mode::Terminal {
        return;
    }
    if let Some((lane, event, payload)) = normal::rpc_record(record) {
        recorder.record(lane, &event, payload);
    }
}

//! The real Pi in a terminal: a pseudo-terminal that nobody looks at, keys typed into it, and the events of the last
//! recorder, which say how far Pi is.
//!
//! There is no answer to a key. So a command counts as answered by the event that only its end brings about.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures::future::BoxFuture;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedReceiver;

use super::process::{End, Process};
use crate::case::person::Signal;
use crate::hosts::PlayProblem;
use crate::hosts::person::{Line, RELOAD};

/// The terminal's size: wide enough that no prompt of a case is folded.
const SIZE: Winsize = Winsize {
    ws_row: 50,
    ws_col: 160,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Return: sends what stands in the editor, as a steer while a run is under way.
const RETURN: &str = "\r";

/// Alt and return: queues what stands in the editor until the agent would stop.
const ALT_RETURN: &str = "\x1b\r";

/// Escape: aborts.
const ESCAPE: &str = "\x1b";

/// Ctrl-D in an empty editor: leaves.
const CTRL_D: &str = "\x04";

/// A Pi in a terminal.
pub struct Terminal {
    process: Process,
    keys: File,
    /// What the last recorder saw, as it is followed.
    events: UnboundedReceiver<Value>,
    /// Commands that wait for their event, oldest first.
    waiting: VecDeque<Waiting>,
    /// What is to be said next.
    records: VecDeque<Value>,
    /// Whether a run is under way, its preparation included.
    busy: bool,
}

struct Waiting {
    id: Value,
    /// The event that ends it.
    until: &'static str,
    disposition: Option<&'static str>,
}

impl Terminal {
    /// Starts Pi in it. `events` gives what the last recorder sees.
    ///
    /// # Errors
    /// When there is no pseudo-terminal, or Pi cannot be spawned.
    pub fn start(
        mut command: Command,
        mark: &Path,
        events: UnboundedReceiver<Value>,
    ) -> Result<Self, PlayProblem> {
        let (keys, screen) =
            open().map_err(|error| PlayProblem::NotStarted(format!("no terminal: {error}")))?;
        let handle = |file: &File| file.try_clone().map(Stdio::from);
        command
            .env("TERM", "xterm-256color")
            .stdin(handle(&screen)?)
            .stdout(handle(&screen)?);
        let process = Process::start(command, mark)?;
        let mut seen = keys.try_clone()?;
        // A terminal that is not read blocks who writes to it. The thread ends when nobody holds the other side.
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(1..) = seen.read(&mut chunk) {}
        });
        Ok(Self {
            process,
            keys,
            events,
            waiting: VecDeque::new(),
            records: VecDeque::new(),
            busy: false,
        })
    }

    fn press(&mut self, keys: &str) -> Result<(), PlayProblem> {
        self.keys
            .write_all(keys.as_bytes())
            .map_err(|_| PlayProblem::Closed)
    }

    /// Presses the keys by which a person leaves.
    pub fn close(&mut self) {
        // Who has left already needs no key.
        let _ = self.press(CTRL_D);
    }

    /// What Pi wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// When Pi does not end in time; it is killed then.
    pub async fn end(self) -> Result<End, PlayProblem> {
        self.process.end().await
    }

    fn type_command(&mut self, command: &Value) -> Result<(), PlayProblem> {
        let message = command["message"].as_str().unwrap_or_default();
        let (keys, until, disposition) = match command["type"].as_str() {
            Some("prompt") if message == RELOAD => {
                (format!("/reload{RETURN}"), "resources_discover", None)
            }
            Some("prompt") => {
                let follows = command["streamingBehavior"] == "followUp";
                let end = if follows { ALT_RETURN } else { RETURN };
                let (until, became) = if self.busy {
                    ("input", "queued")
                } else {
                    self.busy = true;
                    ("agent_start", "started")
                };
                (format!("{message}{end}"), until, Some(became))
            }
            Some("new_session") => (format!("/new{RETURN}"), "resources_discover", None),
            Some("abort") if self.busy => (ESCAPE.to_owned(), "agent_settled", None),
            // Whether Pi is up is asked without a key.
            Some("get_state") => (String::new(), "resources_discover", None),
            _ => {
                let answer = json!({ "type": "response", "id": command["id"] });
                self.records.push_back(answer);
                return Ok(());
            }
        };
        self.waiting.push_back(Waiting {
            id: command["id"].clone(),
            until,
            disposition,
        });
        self.press(&keys)
    }

    fn take(&mut self, event: &Value) {
        let name = event["event"].as_str().unwrap_or_default();
        if event["payload"]["by"] != "last" {
            return;
        }
        let answered = self.waiting.iter().position(|one| one.until == name);
        if let Some(one) = answered.and_then(|at| self.waiting.remove(at)) {
            let mut answer = json!({ "type": "response", "id": one.id });
            if let Some(disposition) = one.disposition {
                answer["data"] = json!({ "disposition": disposition });
            }
            self.records.push_back(answer);
        }
        match name {
            "before_agent_start" => self.busy = true,
            "agent_start" => self.records.push_back(json!({ "type": "agent_start" })),
            "agent_settled" => {
                self.busy = false;
                self.records.push_back(json!({ "type": "agent_settled" }));
            }
            _ => {}
        }
    }
}

impl Line for Terminal {
    fn send(&mut self, command: Value) -> BoxFuture<'_, Result<(), PlayProblem>> {
        Box::pin(std::future::ready(self.type_command(&command)))
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Value>> {
        Box::pin(async move {
            loop {
                if let Some(record) = self.records.pop_front() {
                    return Some(record);
                }
                tokio::select! {
                    biased;
                    event = self.events.recv() => self.take(&event?),
                    _ = self.process.child.wait() => return None,
                }
            }
        })
    }

    fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }
}

/// Opens a pseudo-terminal: the side of the keys, and the side of the program.
fn open() -> std::io::Result<(File, File)> {
    let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&keys)?;
    unlockpt(&keys)?;
    let name = ptsname(&keys, Vec::new())?;
    let path = PathBuf::from(name.to_string_lossy().into_owned());
    let no_control = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap_or_default();
    let screen = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(no_control)
        .open(path)?;
    tcsetwinsize(&screen, SIZE)?;
    Ok((File::from(keys), screen))
}

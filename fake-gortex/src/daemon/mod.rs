//! `gortex mcp`: one scripted daemon, and each of its launches over a byte stream.

mod log;
mod requests;
mod server;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::service::serve_server_with_ct;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::script::DaemonScript;
use crate::{JournalSink, State, surface};
use log::Log;
use requests::Requests;
use server::Server;
use wire::{Transport, Wire};

/// Messages that wait between the stream and the protocol while `initialize` is held back.
const WAITING: usize = 1024;

/// How a process of the daemon was started.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Arguments after the program's name, for the journal.
    pub args: Vec<String>,
    /// The environment; `GORTEX_TOOLS` and `GORTEX_TOOLS_MODE` are looked at.
    pub env: BTreeMap<String, String>,
}

/// A scripted daemon of one repository. It can be launched often, at the same time too; the launches share how often
/// each rule has matched.
#[derive(Clone)]
pub struct Daemon {
    script: Arc<DaemonScript>,
    root: PathBuf,
    log: Log,
    state: Arc<State>,
}

/// What the parts of one launch have in common.
struct Process {
    script: Arc<DaemonScript>,
    root: PathBuf,
    /// Its name, where it is another server than Gortex.
    name: Option<String>,
    state: Arc<State>,
    wire: Wire,
    tools: Mutex<Vec<String>>,
    /// Cancelled when the process is over: nothing may wait, write or edit after that.
    life: CancellationToken,
    /// Told once `initialize` is answered.
    initialized: Notify,
    exits: mpsc::UnboundedSender<i32>,
}

impl Process {
    /// Ends the process. The caller waits for the end like everything else in it, and so never comes back.
    async fn exit(&self, code: i32) {
        // The receiver lives as long as the process does.
        let _ = self.exits.send(code);
        std::future::pending::<()>().await;
    }

    /// Changes the list of tools and tells the client as often as the script wants.
    fn change_tools(&self, promote: &[String], withdraw: &[String], times: u32) {
        {
            let mut tools = self
                .tools
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            for name in promote {
                surface::add(&mut tools, name);
            }
            tools.retain(|name| !withdraw.contains(name));
        }
        for _ in 0..times.min(10_000) {
            self.wire.announce("notifications/tools/list_changed");
        }
    }
}

impl Daemon {
    /// A daemon for the repository at `cwd`, with counters of its own.
    #[must_use]
    pub fn new(script: DaemonScript, cwd: PathBuf, journal: Arc<dyn JournalSink>) -> Self {
        Self {
            script: Arc::new(script),
            root: cwd,
            log: Log::new(journal),
            state: Arc::new(State::memory()),
        }
    }

    /// The same script played as another server than Gortex: the journal tells its name, and it counts for itself.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.log.server = Some(name.to_owned());
        self
    }

    /// The same daemon with counters that it shares with others.
    #[must_use]
    pub fn with_state(mut self, state: Arc<State>) -> Self {
        self.state = state;
        self
    }

    /// The same daemon for another repository.
    #[must_use]
    pub fn with_cwd(mut self, cwd: PathBuf) -> Self {
        self.root = cwd;
        self
    }

    /// Whether a launch lives on at SIGTERM; whoever owns the process sees to it.
    #[must_use]
    pub fn ignores_term(&self) -> bool {
        self.script.ignore_term
    }

    /// What a launch writes to stderr at its start; whoever owns the process's stderr writes it.
    #[must_use]
    pub fn stderr(&self) -> &str {
        self.script.stderr.as_deref().unwrap_or_default()
    }

    /// Plays one process: serves MCP on `stream` until the client closes it or the script ends it, and gives the exit
    /// code. Dropping the future kills the process: nothing of it answers or edits afterwards.
    ///
    /// Must run on a tokio runtime with time. When it returns, no task of this launch is left.
    pub async fn serve<S>(&self, stream: S, launch: Launch) -> i32
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let variable = |name: &str| launch.env.get(name);
        let gortex = ["GORTEX_TOOLS", "GORTEX_TOOLS_MODE"];
        let gortex = gortex.iter().filter(|_| self.log.server.is_none()).copied();
        let told = gortex.chain(self.script.env.iter().map(String::as_str));
        let env: serde_json::Map<_, _> = told
            .map(|name| (name.to_owned(), json!(variable(name))))
            .collect();
        let cwd = self.root.to_string_lossy();
        self.log.record(
            "start",
            json!({ "args": launch.args, "cwd": cwd, "env": env }),
        );
        let ended = |reason: &str, code: i32| {
            self.log
                .record("exit", json!({ "reason": reason, "code": code }));
            code
        };
        if let Some(code) = self.script.exit_on_start {
            return ended("scripted", code);
        }

        let (reading, writing) = tokio::io::split(stream);
        let (wire, outgoing) = Wire::new();
        let (arriving, incoming) = mpsc::channel(WAITING);
        let (exits, mut exit) = mpsc::unbounded_channel();
        let life = CancellationToken::new();
        let guard = life.clone().drop_guard();
        let process = Arc::new(Process {
            script: self.script.clone(),
            root: self.root.clone(),
            name: self.log.server.clone(),
            state: self.state.clone(),
            wire: wire.clone(),
            tools: Mutex::new(surface::listed(
                self.script.tools.as_deref(),
                variable("GORTEX_TOOLS").map(String::as_str),
            )),
            life: life.clone(),
            initialized: Notify::new(),
            exits,
        });

        let protocol = serve_protocol(process.clone(), Transport::new(incoming, wire));
        tokio::pin!(protocol);
        let forward = (!self.script.silent).then_some(arriving);
        let (requests, scripted) = Requests::new(process.clone());
        // The stream's two halves live in here: dropping it closes both, whatever was still to be written.
        let mut alive = Box::pin(async {
            tokio::select! {
                biased;
                Some(code) = exit.recv() => ("scripted", code),
                () = wire::write(writing, &self.log, outgoing) => ("stdout_closed", 1),
                // These two never end by themselves.
                () = play_later(&process) => ("later", 0),
                () = requests::play(scripted) => ("requests", 0),
                () = wire::read(reading, &self.log, &requests, forward) => {
                    if self.script.ignore_eof {
                        std::future::pending::<()>().await;
                    }
                    ("stdin_eof", 0)
                }
            }
        });
        let mut served = false;
        let (reason, code) = loop {
            tokio::select! {
                biased;
                end = &mut alive => break end,
                // A client that breaks the handshake is served no more, but the process lives until its stdin ends.
                () = &mut protocol, if !served => served = true,
            }
        };
        drop(guard);
        drop(alive);
        if !served {
            // All that waits in this launch sees `life` end: a matter of a few polls.
            protocol.await;
        }
        ended(reason, code)
    }
}

/// Runs the protocol until the stream or the process ends.
async fn serve_protocol(process: Arc<Process>, transport: Transport) {
    let life = process.life.clone();
    if let Ok(running) = serve_server_with_ct(Server::new(process), transport, life).await {
        // How the loop ended is of no interest: the stream tells why the process ends.
        let _ = running.waiting().await;
    }
}

/// Plays what the daemon does on its own account.
async fn play_later(process: &Process) {
    process.initialized.notified().await;
    let mut changes: Vec<_> = process.script.later.iter().collect();
    changes.sort_by_key(|change| change.after_ms);
    let start = tokio::time::Instant::now();
    for change in changes {
        tokio::time::sleep_until(start + Duration::from_millis(change.after_ms)).await;
        process.change_tools(&change.promote, &change.withdraw, change.list_changed);
        drop(process.wire.say(&change.messages));
        if let Some(raw) = &change.raw {
            let note = json!({ "raw": crate::journal::bounded(raw, 4096) });
            drop(process.wire.send(raw.clone().into_bytes(), note));
        }
        if let Some(code) = change.exit {
            process.exit(code).await;
        }
    }
    std::future::pending::<()>().await;
}

//! The host: one run of Pi, from its start to its end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::timeout;

use crate::clock::{Clock, Ids};
use crate::codemode::{NoScripts, Scripts, WORKERS};
use crate::connector::Connector;
use crate::extension::{Extension, lock};
use crate::fault::Fault;
use crate::life;
use crate::mcp::ServerLauncher;
use crate::mcp::http::{HttpPort, NoHttp};
use crate::mcp::launch::{self, ProcessControl};
use crate::mode::Mode;
use crate::model::Model;
use crate::session::Session;
use crate::session::history::History;
use crate::settings::Settings;
use crate::version::{Difference, Version};

/// The tokens that the model takes in one request; Pi's default for a model that says nothing.
pub(crate) const CONTEXT_WINDOW: u64 = 128_000;

/// The tokens that the model gives in one answer; Pi's default as well.
pub(crate) const MAX_OUTPUT: u64 = 16_384;
/// The largest session file that is read, in bytes.
const LARGEST_SESSION: u64 = 16 * 1024 * 1024;

/// What a host is started with.
#[derive(Clone)]
pub struct HostOptions {
    /// How it is driven.
    pub mode: Mode,
    /// The prompts that were arguments; modes that take commands have none.
    pub prompts: Vec<String>,
    /// The project folder.
    pub cwd: PathBuf,
    /// The agent folder, where `mcp.json` lies.
    pub agent_dir: PathBuf,
    /// The home folder, for `~/` in a server's command.
    pub home: PathBuf,
    /// Where tools keep output that is too long for the model.
    pub temp_dir: PathBuf,
    /// The version of Pi that is modelled, which the MCP handshake reports too.
    pub version: Version,
    /// The mistake that the host makes, for a proof that it is noticed.
    pub fault: Option<Fault>,
    /// The extensions, in load order; the built-in ones follow them.
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// The model's id in requests and messages.
    pub model_id: String,
    /// Ids of further models of the same provider, which a person may choose.
    pub other_models: Vec<String>,
    /// The provider's id in messages.
    pub provider: String,
    /// Starts MCP servers.
    pub servers: Arc<dyn ServerLauncher>,
    /// Reaches MCP servers over HTTP.
    pub http: Arc<dyn HttpPort>,
    /// The variables of Pi's own environment: servers inherit them, and `env` values may refer to them.
    pub variables: BTreeMap<String, String>,
    /// Whether the built-in MCP support is loaded.
    pub connector: Connector,
    /// Whether every project's own files are trusted (`--approve`). Otherwise a handler of `project_trust` may say so.
    pub project_trusted: bool,
    /// Whether sessions are kept, so that they have files and can be switched to. They are kept in memory; nothing is
    /// written.
    pub keep_sessions: bool,
    /// Tools that a new session declares besides `read`, `bash`, `edit` and `write` (`defaultTools` with a `+`).
    pub further_tools: Vec<String>,
    /// Says what a `codemode` script does, since nothing here runs JavaScript.
    pub scripts: Arc<dyn Scripts>,
    /// The user's settings.
    pub settings: Settings,
    /// The seed of all ids.
    pub seed: u64,
    /// How long [`Host::close`] waits for handlers that never settle; the real Pi hangs or dies (pi-host.md 4.9).
    pub patience: Duration,
}

impl HostOptions {
    /// Options for a host in `cwd` with this model: the newest Pi in RPC mode, its own MCP support, no extension, nobody
    /// reached over HTTP.
    pub fn new(cwd: PathBuf, model: Arc<dyn Model>, servers: Arc<dyn ServerLauncher>) -> Self {
        Self {
            mode: Mode::Rpc,
            prompts: Vec::new(),
            agent_dir: cwd.join(".pi-agent"),
            home: cwd.clone(),
            temp_dir: cwd.join(".pi-temp"),
            cwd,
            version: Version::default(),
            fault: None,
            extensions: Vec::new(),
            model,
            model_id: "m1".to_owned(),
            other_models: Vec::new(),
            provider: "fake".to_owned(),
            servers,
            http: Arc::new(NoHttp),
            variables: BTreeMap::new(),
            connector: Connector::Builtin,
            project_trusted: false,
            keep_sessions: false,
            further_tools: Vec::new(),
            scripts: Arc::new(NoScripts),
            settings: Settings::default(),
            seed: 0,
            patience: Duration::from_secs(60),
        }
    }
}

/// How a host ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// Pi's exit code: 0, 1 when an extension failed to load or a printed answer failed, 128 and its number for a signal
    /// that Pi handled, a negative number for one that killed it.
    pub code: i32,
    /// What `-p` printed.
    pub stdout: String,
    /// What Pi would have written to stderr.
    pub stderr: Vec<String>,
    /// Whether shutting down was given up, because a handler did not settle within the patience.
    pub hung: bool,
    /// What still ran when the host was down: names of its tasks, by start.
    pub leftover_tasks: Vec<String>,
    /// Servers that were not stopped.
    pub leftover_servers: Vec<String>,
}

/// A signal that a host can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP.
    HangUp,
    /// SIGINT, which Pi handles in no mode but the terminal's.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl Signal {
    /// Its number.
    pub(crate) fn number(self) -> i32 {
        match self {
            Self::HangUp => 1,
            Self::Interrupt => 2,
            Self::Terminate => 15,
        }
    }

    /// The code with which Pi exits for it.
    pub(crate) fn exit_code(self) -> i32 {
        128 + self.number()
    }
}

/// What comes from outside: a line of stdin, its end, a signal.
pub(crate) enum Input {
    Command(Value),
    End,
    Signal(Signal),
}

/// A running host. Dropping it ends everything it started, without any handler being called.
pub struct Host {
    /// What Pi prints: responses, session events, `extension_ui_request`, `extension_error`. Ends with the host.
    pub records: UnboundedReceiver<Value>,
    input: UnboundedSender<Input>,
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<Exit>>,
}

impl Host {
    /// Starts a host on the current runtime: its factories, `session_start`, `resources_discover`, then commands.
    ///
    /// Nothing has run when this returns. Must be called inside a runtime such as [`crate::runtime()`] builds.
    pub fn start(options: HostOptions) -> Self {
        let (output, records) = unbounded_channel();
        let (input, commands) = unbounded_channel();
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            ids: Ids::new(options.seed),
            options,
            output: Mutex::new(Some(output)),
            tasks: Mutex::default(),
            session: Mutex::default(),
            client_session: Mutex::default(),
            stored: Mutex::default(),
            stdout: Mutex::default(),
            stderr: Mutex::default(),
            servers_up: Mutex::default(),
            client_loaded: AtomicBool::new(false),
            workers: Arc::new(Semaphore::new(WORKERS)),
            trusted: Mutex::default(),
            input: input.clone(),
            questions: Mutex::default(),
            shutdown_requested: AtomicBool::new(false),
            // Starting up counts as a command: who asks to leave meanwhile waits for its end.
            active_commands: AtomicUsize::new(1),
        });
        let (end, ended) = watch::channel(None);
        let run = life::run(shared.clone(), commands, end);
        // Not one of the host's own tasks: it outlives them and counts them.
        tokio::spawn(run);
        Self {
            records,
            input,
            shared,
            ended,
        }
    }

    /// Hands over one RPC command, as a line of stdin.
    pub fn send(&self, command: Value) {
        // A host that has ended reads nothing more, like a closed pipe.
        let _ = self.input.send(Input::Command(command));
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        // One that has ended hears none.
        let _ = self.input.send(Input::Signal(signal));
    }

    /// Closes stdin and waits until all is down: the run is aborted, `session_shutdown` runs, servers are stopped.
    pub async fn close(&mut self) -> Exit {
        let _ = self.input.send(Input::End);
        self.end().await
    }

    /// Waits until all is down.
    pub async fn end(&mut self) -> Exit {
        let patience = self.shared.options.patience;
        let mut ended = self.ended.clone();
        let exit = match timeout(patience, ended.wait_for(Option::is_some)).await {
            Ok(Ok(exit)) => exit.clone().unwrap_or_default(),
            Ok(Err(_)) | Err(_) => {
                let mut exit = self.shared.leftovers(0);
                // With a server a handler that never settles keeps the process. Without one Node has nothing left to
                // do, and ends (pi-host.md 4.9).
                exit.hung = !exit.leftover_servers.is_empty();
                if !exit.hung {
                    exit.leftover_tasks.clear();
                }
                exit
            }
        };
        self.shared.end();
        exit
    }

    /// How the host ended, if it did by itself: an extension that fails to load ends it at once.
    pub fn exited(&self) -> Option<Exit> {
        self.ended.borrow().clone()
    }

    /// The entries of each session that is on disk, oldest session first. Pi writes a session's file with its first
    /// answer.
    pub fn stored_sessions(&self) -> Vec<Vec<Value>> {
        let stored = lock(&self.shared.stored);
        let answered = |entries: &Vec<Value>| {
            entries
                .iter()
                .any(|entry| entry["message"]["role"] == "assistant")
        };
        let sessions = stored.values().map(History::entries);
        sessions.filter(answered).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.shared.end();
        // With nothing left to shut down this only lets the host's own task end.
        let _ = self.input.send(Input::End);
    }
}

/// A task of the host.
struct Task {
    name: &'static str,
    handle: tokio::task::AbortHandle,
}

/// A server that was started, by name, and its process, where it has one.
type Server = (String, Option<Arc<dyn ProcessControl>>);

/// What all parts of one host share.
pub(crate) struct Shared {
    pub(crate) options: HostOptions,
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    output: Mutex<Option<UnboundedSender<Value>>>,
    tasks: Mutex<Vec<Task>>,
    /// The current session.
    session: Mutex<Option<Arc<Session>>>,
    /// The session that commands go to: it changes a moment later than the current one (pi-host.md 5).
    client_session: Mutex<Option<Arc<Session>>>,
    /// Sessions that were kept, by file.
    pub(crate) stored: Mutex<BTreeMap<String, History>>,
    stdout: Mutex<String>,
    stderr: Mutex<Vec<String>>,
    servers_up: Mutex<Vec<Server>>,
    client_loaded: AtomicBool,
    /// A permit for each script that may run at once, in whatever session.
    pub(crate) workers: Arc<Semaphore>,
    /// Whether a project's own files are trusted, once that was asked, by its folder.
    pub(crate) trusted: Mutex<BTreeMap<PathBuf, bool>>,
    /// Where the end of the input is put when an extension asks for it.
    input: UnboundedSender<Input>,
    /// Questions of extensions that wait for an answer, by id.
    questions: Mutex<BTreeMap<String, oneshot::Sender<Value>>>,
    shutdown_requested: AtomicBool,
    /// Commands that are being handled, a prompt's run included, and the start.
    active_commands: AtomicUsize,
}

impl Shared {
    /// Whether the modelled version does this.
    pub(crate) fn does(&self, difference: Difference) -> bool {
        self.options.version.does(difference) || self.makes(Fault::Older(difference))
    }

    /// Whether this host makes this mistake.
    pub(crate) fn makes(&self, fault: Fault) -> bool {
        self.options.fault == Some(fault)
    }

    /// The session of a file: one of this host's own, or one that lies on disk from before.
    pub(crate) fn stored_session(&self, file: &str) -> Option<History> {
        if let Some(known) = lock(&self.stored).get(file) {
            return Some(known.clone());
        }
        let about = fs::metadata(file).ok()?;
        if !about.is_file() || about.len() > LARGEST_SESSION {
            return None;
        }
        History::parse(file, &fs::read_to_string(file).ok()?)
    }

    /// A question's id, and its answer when it comes.
    pub(crate) fn expect_answer(&self) -> (String, oneshot::Receiver<Value>) {
        let id = self.ids.request();
        let (sender, answer) = oneshot::channel();
        lock(&self.questions).insert(id.clone(), sender);
        (id, answer)
    }

    /// Nobody waits for this answer any more.
    pub(crate) fn expect_no_answer(&self, id: &str) {
        lock(&self.questions).remove(id);
    }

    /// Hands an answer to whoever asked; one that nobody waits for is lost.
    pub(crate) fn answer(&self, answer: Value) {
        let id = answer["id"].as_str().unwrap_or_default();
        if let Some(asker) = lock(&self.questions).remove(id) {
            let _ = asker.send(answer);
        }
    }

    /// An extension asks Pi to leave.
    pub(crate) fn request_shutdown(self: &Arc<Self>) {
        if !matches!(self.options.mode, Mode::Rpc | Mode::Terminal) {
            return;
        }
        self.shutdown_requested.store(true, Ordering::Relaxed);
        // The handler that asked is to be through first.
        let host = self.clone();
        self.spawn("shutdown", async move {
            tokio::task::yield_now().await;
            host.leave_if_asked();
        });
    }

    /// A command begins to be handled.
    pub(crate) fn command_begins(&self) {
        self.active_commands.fetch_add(1, Ordering::Relaxed);
    }

    /// A command was handled.
    pub(crate) fn command_ends(&self) {
        self.active_commands.fetch_sub(1, Ordering::Relaxed);
        self.leave_if_asked();
    }

    /// Leaves when an extension asked for it and nothing is under way.
    pub(crate) fn leave_if_asked(&self) {
        let busy = self.active_commands.load(Ordering::Relaxed) > 0
            || self.session().is_none_or(|session| session.is_running());
        if self.shutdown_requested.load(Ordering::Relaxed) && !busy {
            // Who has left already cannot leave again.
            let _ = self.input.send(Input::End);
        }
    }

    /// Prints one record.
    pub(crate) fn output(&self, record: Value) {
        if let Some(output) = &*lock(&self.output) {
            // Nobody has to listen.
            let _ = output.send(record);
        }
    }

    /// Prints one line that is no record.
    pub(crate) fn print(&self, line: &str) {
        let mut stdout = lock(&self.stdout);
        stdout.push_str(line);
        stdout.push('\n');
    }

    /// Writes one line to stderr.
    pub(crate) fn warn(&self, line: String) {
        lock(&self.stderr).push(line);
    }

    /// Runs `future` beside everything else; the host knows it by `name` if it is still running at the end.
    pub(crate) fn spawn(
        &self,
        name: &'static str,
        future: impl Future<Output = ()> + Send + 'static,
    ) {
        let handle = tokio::spawn(future).abort_handle();
        let mut tasks = lock(&self.tasks);
        tasks.retain(|task| !task.handle.is_finished());
        tasks.push(Task { name, handle });
    }

    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        lock(&self.session).clone()
    }

    pub(crate) fn set_session(&self, session: &Arc<Session>) {
        *lock(&self.session) = Some(session.clone());
    }

    pub(crate) fn client_session(&self) -> Option<Arc<Session>> {
        lock(&self.client_session).clone()
    }

    pub(crate) fn set_client_session(&self, session: &Arc<Session>) {
        *lock(&self.client_session) = Some(session.clone());
    }

    /// Notes that a server was started, so that one that is never stopped shows. One that is reached over the network has
    /// no process to end.
    pub(crate) fn server_up(&self, name: &str, control: Option<Arc<dyn ProcessControl>>) {
        lock(&self.servers_up).push((name.to_owned(), control));
    }

    /// Notes that a server was stopped or ended by itself.
    pub(crate) fn server_down(&self, name: &str) {
        let mut up = lock(&self.servers_up);
        if let Some(index) = up.iter().position(|(known, _)| known == name) {
            up.remove(index);
        }
    }

    /// Tells the servers to end, as a process that exits does.
    pub(crate) fn terminate_servers(&self) {
        let up = std::mem::take(&mut *lock(&self.servers_up));
        for control in up.into_iter().filter_map(|(_, control)| control) {
            control.signal(launch::Signal::Terminate);
        }
    }

    /// Leaves the servers to themselves, as a process that is killed does.
    pub(crate) fn forget_servers(&self) {
        lock(&self.servers_up).clear();
    }

    /// Whether the MCP client was loaded once; a module stays loaded over all sessions.
    pub(crate) fn client_is_loaded(&self) -> bool {
        self.client_loaded.load(Ordering::Relaxed)
    }

    pub(crate) fn set_client_loaded(&self) {
        self.client_loaded.store(true, Ordering::Relaxed);
    }

    /// The exit as it stands now.
    pub(crate) fn leftovers(&self, code: i32) -> Exit {
        let (tasks, up) = (lock(&self.tasks), lock(&self.servers_up));
        Exit {
            code,
            stdout: lock(&self.stdout).clone(),
            stderr: lock(&self.stderr).clone(),
            hung: false,
            leftover_tasks: tasks
                .iter()
                .filter(|task| !task.handle.is_finished())
                .map(|task| task.name.to_owned())
                .collect(),
            leftover_servers: up.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Stops all tasks where they are.
    pub(crate) fn stop_tasks(&self) {
        for task in lock(&self.tasks).drain(..) {
            task.handle.abort();
        }
    }

    /// The end of the process: tasks stop where they are, nothing is printed any more.
    pub(crate) fn end(&self) {
        self.stop_tasks();
        *lock(&self.output) = None;
        // Sessions hold the host in turn.
        *lock(&self.session) = None;
        *lock(&self.client_session) = None;
    }

    /// A model as messages and `get_state` name it.
    pub(crate) fn model_state(&self, id: &str) -> Value {
        json!({"id": id, "name": id, "api": "openai-completions",
            "provider": self.options.provider, "reasoning": false, "input": ["text"], "contextWindow": CONTEXT_WINDOW,
            "maxTokens": MAX_OUTPUT})
    }
}

//! A host, a hook and a log that are scripted and record what they were asked.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adapter::{
    Caps, CommandFact, Environment, HiddenMessage, HookAsk, HookCommand, HookEnd, HookPort,
    HookReport, Host, InlineWork, Instance, Level, Log, Ports, ReadyHook, Registration,
    SessionFacts, ToolCallFacts, ToolFact, ToolResultFacts, TurnFacts, Work, WriteTable,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// What the fake host knows and was told.
#[derive(Default)]
pub struct HostState {
    /// `None` once the session was replaced.
    pub tools: Option<Vec<ToolFact>>,
    pub stored: Vec<Value>,
    pub notified: Vec<String>,
    pub asked_for_tools: usize,
    /// How long it takes to tell what is stored.
    pub slow: Duration,
}

#[derive(Clone, Default)]
pub struct FakeHost(pub Arc<Mutex<HostState>>);

impl Host for FakeHost {
    fn tools(&self) -> BoxFuture<'static, Option<Vec<ToolFact>>> {
        let mut state = self.0.lock().expect("lock");
        state.asked_for_tools += 1;
        let tools = state.tools.clone();
        Box::pin(async move { tools })
    }

    fn custom_messages(&self, custom_type: &'static str) -> BoxFuture<'static, Option<Vec<Value>>> {
        assert_eq!(custom_type, "gortex");
        let state = self.0.lock().expect("lock");
        let stored = state.tools.is_some().then(|| state.stored.clone());
        let slow = state.slow;
        Box::pin(async move {
            tokio::time::sleep(slow).await;
            stored
        })
    }

    fn notify(&self, message: &str, level: Level) {
        assert_eq!(level, Level::Warning);
        self.0
            .lock()
            .expect("lock")
            .notified
            .push(message.to_owned());
    }
}

/// The next answers of the fake hook, each after a delay; then `{}` at once.
#[derive(Clone, Default)]
pub struct FakeHook {
    pub answers: Arc<Mutex<VecDeque<(Duration, HookReport)>>>,
    pub asks: Arc<Mutex<Vec<HookAsk>>>,
    /// The children that were made ready, in their order.
    pub prepared: Arc<Mutex<Vec<HookCommand>>>,
    /// How many of them were asked.
    pub warm: Arc<AtomicUsize>,
    /// How many children wait.
    pub waiting: Arc<AtomicUsize>,
    /// Whether those that are made ready do not wait for their question.
    pub unfit: Arc<AtomicBool>,
    /// The starts of those that are made ready.
    pub starts: Starts,
}

type Start = Box<dyn FnOnce() + Send>;

/// Starts of children: at once, or when the test says so, as on threads that are busy.
#[derive(Clone, Default)]
pub struct Starts(Arc<Mutex<Option<Vec<Start>>>>);

impl Starts {
    /// Holds those that begin from now on.
    pub fn hold(&self) {
        self.0.lock().expect("lock").get_or_insert_default();
    }

    /// Lets those happen that began so far, and tells how many that were.
    pub fn let_happen(&self) -> usize {
        let held = self.0.lock().expect("lock").as_mut().map(std::mem::take);
        let held = held.unwrap_or_default();
        let count = held.len();
        held.into_iter().for_each(|start| start());
        count
    }

    fn begin(&self, start: Start) {
        match &mut *self.0.lock().expect("lock") {
            Some(held) => held.push(start),
            None => start(),
        }
    }
}

impl FakeHook {
    pub fn answer(&self, answer: &Value) {
        self.answer_raw(
            Duration::ZERO,
            answer.to_string().as_bytes(),
            HookEnd::Exited(0),
        );
    }

    pub fn answer_raw(&self, delay: Duration, stdout: &[u8], end: HookEnd) {
        self.answers.lock().expect("lock").push_back((
            delay,
            HookReport {
                stdout: stdout.to_vec(),
                end,
            },
        ));
    }

    pub fn envelopes(&self) -> Vec<Value> {
        let asks = self.asks.lock().expect("lock");
        asks.iter()
            .map(|ask| serde_json::from_slice(&ask.envelope).expect("an envelope"))
            .collect()
    }

    /// How many children wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many were made ready so far, and how many of them asked.
    pub fn warm(&self) -> (usize, usize) {
        let prepared = self.prepared.lock().expect("lock").len();
        (prepared, self.warm.load(Ordering::Relaxed))
    }
}

impl HookPort for FakeHook {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        let answer = self.answers.lock().expect("lock").pop_front();
        let quiet = HookReport {
            stdout: b"{}".to_vec(),
            end: HookEnd::Exited(0),
        };
        let (delay, report) = answer.unwrap_or((Duration::ZERO, quiet));
        let (abort, deadline) = (ask.abort.clone(), ask.deadline);
        self.asks.lock().expect("lock").push(ask);
        Box::pin(async move {
            let nothing = |end| HookReport {
                stdout: Vec::new(),
                end,
            };
            tokio::select! {
                biased;
                () = abort.cancelled() => nothing(HookEnd::Aborted),
                () = tokio::time::sleep(delay) => report,
                () = tokio::time::sleep_until(deadline) => nothing(HookEnd::TimedOut),
            }
        })
    }

    fn prepare(
        &self,
        command: &Arc<HookCommand>,
    ) -> BoxFuture<'static, Option<Box<dyn ReadyHook>>> {
        let (hook, command) = (self.clone(), HookCommand::clone(command));
        let (started, told) = oneshot::channel::<Box<dyn ReadyHook>>();
        self.starts.begin(Box::new(move || {
            hook.prepared.lock().expect("lock").push(command);
            hook.waiting.fetch_add(1, Ordering::Relaxed);
            // One for which nobody waits any more is let go.
            drop(started.send(Box::new(FakeReady(hook))));
        }));
        Box::pin(async move { told.await.ok() })
    }
}

/// A child that waits, as the fake hook has it: it answers what a new one would.
struct FakeReady(FakeHook);

impl Drop for FakeReady {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ReadyHook for FakeReady {
    fn ask(self: Box<Self>, ask: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>> {
        if self.0.unfit.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(ask)));
        }
        self.0.warm.fetch_add(1, Ordering::Relaxed);
        let answer = self.0.ask(ask);
        Box::pin(async move { Ok(answer.await) })
    }
}

#[derive(Clone, Default)]
pub struct FakeLog(pub Arc<Mutex<Vec<String>>>);

impl Log for FakeLog {
    fn line(&self, line: &str) {
        assert!(
            !line.contains(char::is_control) && line.chars().count() <= 400,
            "{line:?}"
        );
        self.0.lock().expect("lock").push(line.to_owned());
    }
}

/// A folder with a Gortex on PATH, and everything that an instance is built from.
pub struct World {
    pub folder: tempfile::TempDir,
    pub environment: Environment,
    pub host: FakeHost,
    pub hook: FakeHook,
    pub log: FakeLog,
    pub writes: Arc<WriteTable>,
    pub work: Arc<dyn Work>,
    pub commands: Vec<CommandFact>,
    /// What the fake Pi answers a registration.
    pub refusal: Option<String>,
    pub registered: Vec<(String, Value)>,
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let mut environment = Environment {
            home: Some(folder.path().join("home")),
            ..Environment::default()
        };
        let path = folder.path().join("bin");
        environment
            .vars
            .insert("PATH".to_owned(), path.to_string_lossy().into_owned());
        let host = FakeHost::default();
        host.0.lock().expect("lock").tools = Some(vec![tool("read")]);
        let world = Self {
            folder,
            environment,
            host,
            hook: FakeHook::default(),
            log: FakeLog::default(),
            writes: Arc::default(),
            work: Arc::new(InlineWork),
            commands: vec![CommandFact {
                name: "mcp".to_owned(),
                source_path: "builtin:mcp".to_owned(),
            }],
            refusal: None,
            registered: Vec::new(),
        };
        world.executable("bin/gortex");
        std::fs::create_dir(world.cwd()).expect("cwd");
        world
    }

    /// The session's folder.
    pub fn cwd(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folder");
        std::fs::write(&path, text).expect("file");
        path
    }

    pub fn executable(&self, path: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(path, "#!/bin/sh\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
        path
    }

    pub fn set(&mut self, variable: &str, value: &str) {
        self.environment
            .vars
            .insert(variable.to_owned(), value.to_owned());
    }

    pub fn instance(&self) -> Arc<Instance> {
        let ports = Ports {
            host: Arc::new(self.host.clone()),
            hook: Arc::new(self.hook.clone()),
            writes: Arc::clone(&self.writes),
            log: Arc::new(self.log.clone()),
            work: Arc::clone(&self.work),
        };
        Instance::new(self.environment.clone(), ports, Caps::default())
    }

    pub fn session(&self) -> SessionFacts {
        SessionFacts {
            cwd: self.cwd(),
            session_id: "s-1".to_owned(),
            reason: "startup".to_owned(),
            has_ui: true,
            commands: self.commands.clone(),
        }
    }

    /// Runs the session hook, recording what it registers.
    pub fn start(&mut self, instance: &Instance) {
        let session = self.session();
        let (registered, refusal) = (&mut self.registered, &self.refusal);
        instance.session_start(&session, &mut |registration: &Registration| {
            let config = serde_json::to_value(registration).expect("config");
            registered.push((registration.name.to_owned(), config));
            refusal.clone().map_or(Ok(()), Err)
        });
    }

    /// An instance whose session hook has run and whose graph tools are listed.
    pub fn ready(&mut self) -> Arc<Instance> {
        self.list("mcp__gortex__search");
        let instance = self.instance();
        self.start(&instance);
        instance
    }

    pub fn list(&self, name: &str) {
        self.host
            .0
            .lock()
            .expect("lock")
            .tools
            .get_or_insert_default()
            .push(tool(name));
    }

    pub fn turn(&self) -> TurnFacts {
        TurnFacts {
            session_id: "s-1".to_owned(),
            cwd: self.cwd(),
            results: Some(0),
            abort: None,
        }
    }

    pub fn call(&self, id: &str, name: &str, input: Value) -> ToolCallFacts {
        ToolCallFacts {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
            parent_id: None,
            cwd: self.cwd(),
            session_id: "s-1".to_owned(),
            abort: Some(CancellationToken::new()),
        }
    }

    pub fn notified(&self) -> Vec<String> {
        self.host.0.lock().expect("lock").notified.clone()
    }

    pub fn logged(&self, part: &str) -> usize {
        self.log
            .0
            .lock()
            .expect("lock")
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }
}

pub fn tool(name: &str) -> ToolFact {
    ToolFact {
        name: name.to_owned(),
        exposure: Some("direct".to_owned()),
    }
}

/// The result of a graph tool that succeeded.
pub fn result(id: &str) -> ToolResultFacts {
    ToolResultFacts {
        id: id.to_owned(),
        content: Some(vec![json!({"type": "text", "text": "done"})]),
        details: Some(json!({"server": "gortex", "tool": "edit"})),
        structured_content: Some(json!({"content": []})),
        is_error: false,
        abort: None,
    }
}

pub fn content(message: Option<HiddenMessage>) -> String {
    message.map(|message| message.content).unwrap_or_default()
}

pub fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

//! One session: its history, the state of its run, and the instance that serves it.

mod bash;
mod boundary;
pub(crate) mod compaction;
mod custom;
mod drafts;
mod events;
pub(crate) mod history;
pub(crate) mod projection;
mod prompt;
pub(crate) mod queue;
pub(crate) mod retry;
mod run;
mod tree;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use prompt::{Disposition, Prompt, Told};
pub(crate) use queue::Queue;
pub use tree::NavigateOptions;

use self::history::History;
use self::run::RunPrompt;
use crate::agent::nested::record::NestedCalls;
use crate::codemode::Codemode;
use crate::extension::lock;
use crate::fault::Fault;
use crate::host::Shared;
use crate::instance::Instance;
use crate::registry::tools::{self, DEFAULT_ACTIVE, Entry, ToolRegistry};
use crate::tool::{Exposure, Tool};

/// Something that waits until the `agent_settled` handlers are through.
enum Deferred {
    /// A prompt, and who is told what becomes of it.
    Prompt(Prompt, Told),
    /// A custom message that starts a run.
    Custom(Value),
}

/// What changes while a session lives.
#[derive(Default)]
pub(crate) struct State {
    /// Whether a run is active, from its start on, before `before_agent_start`.
    running: bool,
    abort_requested: bool,
    /// The run's signal, from `agent_start` to `agent_end`.
    signal: Option<CancellationToken>,
    emitting_settled: bool,
    deferred: Vec<Deferred>,
    before_settle: bool,
    abort_before_settle: bool,
    queue: Queue,
    /// Custom messages that wait for the end of the turn.
    pending_custom: Vec<Value>,
    /// Messages of the person's own commands that wait for the end of the run.
    pending_bash: Vec<Value>,
    /// Custom messages that wait for the next prompt.
    next_turn: Vec<Value>,
    turn_index: u64,
    outcome: &'static str,
    retry_attempt: u32,
    retry_wait: Option<CancellationToken>,
    /// The last assistant message of the run, and its entry.
    last_assistant: Option<(Value, String)>,
    run_prompt: Option<RunPrompt>,
    /// A compaction that was asked for, one that came by itself, and the summary of a branch that is left.
    compaction: Option<CancellationToken>,
    auto_compaction: Option<CancellationToken>,
    branch_summary: Option<CancellationToken>,
    /// Whether room was made for an answer of this prompt already.
    overflow_tried: bool,
    /// Prompts that `input` handlers look at.
    preflights: usize,
}

/// A session.
pub(crate) struct Session {
    pub(crate) host: Arc<Shared>,
    history: Mutex<History>,
    state: Mutex<State>,
    tools: Mutex<ToolRegistry>,
    own_tools: Vec<Entry>,
    nested: Mutex<NestedCalls>,
    /// Held by a nested call whose tool runs alone.
    alone: tokio::sync::Mutex<()>,
    instance: Mutex<Arc<Instance>>,
    /// Whether a client sees the session's events.
    subscribed: AtomicBool,
    disposed: AtomicBool,
    idle: Notify,
}

impl Session {
    /// A session over `history`, served by `instance`, which it binds.
    pub(crate) fn new(host: &Arc<Shared>, history: History, instance: &Arc<Instance>) -> Arc<Self> {
        let own_tools = own_tools(host);
        let session = Arc::new(Self {
            host: host.clone(),
            history: Mutex::new(history),
            state: Mutex::new(State {
                outcome: "completed",
                queue: Queue::new(
                    host.options.settings.steer_all,
                    host.options.settings.follow_up_all,
                ),
                ..State::default()
            }),
            tools: Mutex::default(),
            own_tools,
            nested: Mutex::default(),
            alone: tokio::sync::Mutex::default(),
            instance: Mutex::new(instance.clone()),
            subscribed: AtomicBool::new(false),
            disposed: AtomicBool::new(false),
            idle: Notify::new(),
        });
        if lock(&session.history).leaf().is_none() {
            session.append(
                "model_change",
                json!({"provider": host.options.provider, "modelId": host.options.model_id}),
            );
            session.append("thinking_level_change", json!({"thinkingLevel": "off"}));
        } else if !session
            .branch()
            .iter()
            .any(|entry| entry["type"] == "thinking_level_change")
        {
            session.append("thinking_level_change", json!({"thinkingLevel": "off"}));
        }
        instance.bind(&session);
        let further = host.options.further_tools.iter().map(String::as_str);
        let active = DEFAULT_ACTIVE.into_iter().chain(further);
        session.load_tools(active.map(str::to_owned).collect());
        session.restore_tools();
        session
    }

    /// The instance that serves the session; a reload replaces it.
    pub(crate) fn instance(&self) -> Arc<Instance> {
        lock(&self.instance).clone()
    }

    pub(crate) fn set_instance(self: &Arc<Self>, instance: Arc<Instance>) {
        instance.bind(self);
        *lock(&self.instance) = instance;
        let active = self.active_tools();
        lock(&self.tools).await_names(active.clone());
        self.load_tools(active);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }

    // ---- history ----

    pub(crate) fn id(&self) -> String {
        lock(&self.history).id.clone()
    }

    /// The id of the model that answers: the one that was chosen last on the branch.
    pub(crate) fn model_id(&self) -> String {
        let chosen = self.branch().into_iter().rev().find_map(|entry| {
            let chosen = entry["type"] == "model_change";
            chosen.then(|| entry["modelId"].as_str().map(str::to_owned))?
        });
        chosen.unwrap_or_else(|| self.host.options.model_id.clone())
    }

    /// Chooses a model and tells the extensions, if it is another one.
    ///
    /// # Errors
    /// Pi's text for a model that is none.
    pub(crate) async fn set_model(&self, provider: &str, id: &str) -> Result<Value, String> {
        let options = &self.host.options;
        let mut known = options.other_models.iter().chain([&options.model_id]);
        if provider != options.provider || !known.any(|known| known == id) {
            return Err(format!("Model not found: {provider}/{id}"));
        }
        let before = self.model_id();
        self.append("model_change", json!({"provider": provider, "modelId": id}));
        let model = self.host.model_state(id);
        if before != id {
            let event = json!({"type": "model_select", "model": model, "previousModel": self.host.model_state(&before),
                "source": "set"});
            self.instance().emit(event).await;
        }
        Ok(model)
    }

    /// The folder that the session works in.
    pub(crate) fn cwd(&self) -> PathBuf {
        lock(&self.history).cwd()
    }

    pub(crate) fn file(&self) -> Option<String> {
        lock(&self.history).file.clone()
    }

    pub(crate) fn branch(&self) -> Vec<Value> {
        lock(&self.history).branch()
    }

    pub(crate) fn entries(&self) -> Vec<Value> {
        lock(&self.history).entries()
    }

    pub(crate) fn leaf(&self) -> Option<String> {
        lock(&self.history).leaf()
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        lock(&self.history).messages()
    }

    pub(crate) fn history(&self) -> History {
        lock(&self.history).clone()
    }

    /// Appends an entry and gives its id; the session's stored copy follows.
    fn append(&self, kind: &str, members: Value) -> String {
        let members = match members {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let id = lock(&self.history).append(kind, members, &self.host.ids, &self.host.clock);
        self.keep_stored();
        id
    }

    /// Brings the session's stored copy up to date.
    fn keep_stored(&self) {
        let history = self.history();
        if let Some(file) = history.file.clone() {
            lock(&self.host.stored).insert(file, history);
        }
    }

    /// Appends an entry of an extension and tells the client.
    pub(crate) fn append_custom_entry(&self, custom_type: &str, data: Option<Value>) {
        let mut members = json!({"customType": custom_type});
        if let Some(data) = data {
            members["data"] = data;
        }
        let id = self.append("custom", members);
        self.announce_entry(&id);
    }

    fn announce_entry(&self, id: &str) {
        let entry = lock(&self.history).entry(id);
        if let Some(entry) = entry {
            self.record(json!({"type": "entry_appended", "entry": entry}));
        }
    }

    // ---- the client ----

    /// Lets a client see the session's events.
    pub(crate) fn subscribe(&self) {
        self.subscribed.store(true, Ordering::Relaxed);
    }

    /// Hides the session's events from the client, as when stdin ended.
    pub(crate) fn unsubscribe(&self) {
        self.subscribed.store(false, Ordering::Relaxed);
    }

    /// Prints an event of this session.
    pub(crate) fn record(&self, event: Value) {
        if self.subscribed.load(Ordering::Relaxed) && !self.is_disposed() {
            self.host.output(event);
        }
    }

    // ---- life ----

    /// Whether the session was replaced: its run may go on, but nobody hears of it.
    pub(crate) fn is_disposed(&self) -> bool {
        self.disposed.load(Ordering::Relaxed)
    }

    /// Ends the session: the run is aborted without waiting, the instance becomes stale.
    pub(crate) fn dispose(&self) {
        let (signal, retry) = {
            let state = self.state();
            (state.signal.clone(), state.retry_wait.clone())
        };
        for token in [signal, retry].into_iter().flatten() {
            token.cancel();
        }
        if !self.host.makes(Fault::KeepsOldInstances) {
            self.instance().invalidate();
        }
        self.disposed.store(true, Ordering::Relaxed);
    }

    /// Whether a run is active (`isStreaming`).
    pub(crate) fn is_running(&self) -> bool {
        self.state().running
    }

    /// The run's abort signal.
    pub(crate) fn signal(&self) -> Option<CancellationToken> {
        self.state().signal.clone()
    }

    /// Aborts the run and waits until it settled; handlers are never cancelled (pi-host.md 9).
    pub(crate) async fn abort(&self) {
        let tokens = {
            let mut state = self.state();
            if state.running {
                state.abort_requested = true;
            }
            if state.before_settle {
                state.abort_before_settle = true;
            }
            [
                state.retry_wait.clone(),
                state.compaction.clone(),
                state.auto_compaction.clone(),
                state.branch_summary.clone(),
                state.signal.clone(),
            ]
        };
        for token in tokens.into_iter().flatten() {
            token.cancel();
        }
        self.wait_idle().await;
    }

    /// Waits until no run is active and the last one settled.
    pub(crate) async fn wait_idle(&self) {
        let settled = self.idle.notified();
        let mut settled = std::pin::pin!(settled);
        settled.as_mut().enable();
        if self.is_busy() {
            settled.await;
        }
    }

    /// Whether a run, a compaction or the summary of a branch is under way.
    fn is_busy(&self) -> bool {
        self.is_running() || self.is_compacting()
    }

    /// The queues, for the agent loop.
    pub(crate) fn with_queue<T>(&self, take: impl FnOnce(&mut Queue) -> T) -> T {
        take(&mut self.state().queue)
    }

    fn wake_if_idle(&self) {
        if !self.is_busy() {
            self.idle.notify_waiters();
        }
    }

    // ---- tools ----

    /// All tools as `getAllTools()` lists them.
    pub(crate) fn all_tools(&self) -> Value {
        lock(&self.tools).listed()
    }

    pub(crate) fn active_tools(&self) -> Vec<String> {
        lock(&self.tools).active_names()
    }

    /// The declared tools as they are now.
    pub(crate) fn tool_snapshot(&self) -> Vec<Entry> {
        lock(&self.tools).active()
    }

    /// The declared tools as the transcript has them.
    pub(crate) fn declarations(&self) -> Vec<Value> {
        lock(&self.tools).declarations()
    }

    /// The tools that other tools may call.
    pub(crate) fn callable_tools(&self) -> Vec<Entry> {
        lock(&self.tools).callable()
    }

    /// The calls that the run's calls made.
    pub(crate) fn nested_calls(&self) -> std::sync::MutexGuard<'_, NestedCalls> {
        lock(&self.nested)
    }

    /// What a nested call of a tool that runs alone waits for.
    pub(crate) fn runs_alone(&self) -> &tokio::sync::Mutex<()> {
        &self.alone
    }

    pub(crate) fn set_active_tools(&self, names: &[String]) {
        lock(&self.tools).choose(names);
    }

    /// Takes up what extensions registered since.
    pub(crate) fn refresh_tools(&self) {
        let entries = self.current_tools();
        lock(&self.tools).refresh(entries, None);
    }

    fn load_tools(&self, active: Vec<String>) {
        let entries = self.current_tools();
        lock(&self.tools).refresh(entries, Some(active));
    }

    /// Declares again what a resumed session's transcript declared, as far as it is registered by then.
    fn restore_tools(&self) {
        let branch = self.branch();
        let systems: Vec<Value> = branch
            .iter()
            .filter(|entry| entry["type"] == "message" && entry["message"]["role"] == "system")
            .map(|entry| entry["message"].clone())
            .collect();
        if systems.is_empty() {
            return;
        }
        let declared = tools::declared(&systems);
        let names = declared
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect::<Vec<_>>();
        let mut registry = lock(&self.tools);
        registry.await_names(names.clone());
        registry.activate(&names);
    }

    fn current_tools(&self) -> Vec<Entry> {
        let mut registered = Vec::new();
        for slot in self.instance().slots() {
            let info = slot.source_info();
            let tools = lock(&slot.tools).clone();
            registered.extend(
                tools
                    .into_iter()
                    .map(|tool| Entry::new(tool, info.clone(), true)),
            );
        }
        tools::overlay(self.own_tools.clone(), registered)
    }
}

/// Pi's own tools: those that work on files, then the ones that reach other tools.
fn own_tools(host: &Arc<Shared>) -> Vec<Entry> {
    let files = crate::tools::builtin(&crate::tools::ToolOptions {
        home: host.options.home.clone(),
        temp_dir: host.options.temp_dir.clone(),
    });
    let reaching: [Arc<dyn Tool>; 2] = [
        Arc::new(Codemode::new(host)),
        Arc::new(crate::tool_search::ToolSearch),
    ];
    files
        .into_iter()
        .chain(reaching)
        .map(|tool| {
            let name = tool.definition().name;
            let info = match tool.definition().exposure {
                Exposure::ModelOnly => tools::builtin_info(&name.replace('_', "-")),
                Exposure::Direct | Exposure::Deferred | Exposure::Hidden => {
                    tools::builtin_info(&name)
                }
            };
            Entry::new(tool, info, false)
        })
        .collect()
}

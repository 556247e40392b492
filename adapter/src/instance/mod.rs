//! One run of the extension's factory, and its handlers by the names of Pi's events.

mod calls;
mod commands;
mod first_turn;
mod session;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::edits::{Owner, Watch};
use crate::hook::{Decision, Envelope, Pool};
use crate::line::one_line;
use crate::{
    Block, Caps, Environment, HiddenMessage, HookAsk, HookCommand, Level, Ports, ResultPatch,
    ToolCallFacts, ToolResultFacts, TurnFacts,
};
use commands::Commands;
use session::Session;

/// One instance of the extension. Every session gets its own, and several live in one process at once.
///
/// No handler fails: each settles within its cap, at once when its abort signal fires, and with nothing once
/// [`Instance::session_shutdown`] was called (F1, R11).
pub struct Instance {
    environment: Environment,
    /// The variables of it, as every hook child gets them.
    vars: Arc<BTreeMap<String, String>>,
    ports: Ports,
    pool: Pool,
    caps: Caps,
    owner: Owner,
    /// Fires at shutdown and ends every wait and every child (R11).
    ended: CancellationToken,
    /// Fires when the session hook has run (R5).
    session_ran: CancellationToken,
    /// Whether the first turn has said what it had to say. Held while it waits, so that a second turn that races into
    /// it neither runs ahead nor repeats it (R8).
    first_turn: tokio::sync::Mutex<bool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Session>,
    /// The settings of calls that come though the session hook never ran (R9).
    stray_settings: Option<Arc<Settings>>,
    /// Set once the first turn found no graph tools, until some appear (H7).
    without_graph_tools: bool,
    /// What the user was told, so that a session hook that runs twice tells it once.
    told: BTreeSet<String>,
    /// The calls in flight that write files, by call id.
    watches: BTreeMap<String, Watch>,
    /// The person's own commands.
    commands: Commands,
    /// Guidance for results to come, by the id of the call whose result the model reads (H6).
    guidance: BTreeMap<String, Vec<String>>,
}

/// What a look at the host's tools found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GraphTools {
    /// None.
    Unlisted,
    /// At least one, none of which the model can call (`hidden`).
    Hidden,
    /// At least one that the model can call.
    Callable,
}

impl Instance {
    /// Builds an instance and arms the wait of its first turn (R5). Starts nothing.
    #[must_use]
    pub fn new(environment: Environment, ports: Ports, caps: Caps) -> Arc<Self> {
        Arc::new(Self {
            vars: Arc::new(environment.vars.clone()),
            environment,
            owner: ports.writes.owner(),
            pool: Pool::new(
                Arc::clone(&ports.hook),
                Arc::clone(&ports.work),
                caps.warm_child,
            ),
            ports,
            caps,
            ended: CancellationToken::new(),
            session_ran: CancellationToken::new(),
            first_turn: tokio::sync::Mutex::new(false),
            state: Mutex::default(),
        })
    }

    /// `before_agent_start`: holds the first turn until graph tools are listed and briefs it (R5-R9, B1-B4). A run begins
    /// here, so a hook child is made ready (H8).
    pub async fn before_agent_start(&self, turn: TurnFacts) -> Option<HiddenMessage> {
        self.look_for_results(turn.results);
        let message = self
            .until_ended(turn.abort.as_ref(), self.brief(&turn))
            .await?;
        self.make_ready(&turn.cwd);
        message
    }

    /// `tool_call`: asks the hook, and begins to watch the files that the call writes (H1, E1).
    pub async fn tool_call(&self, call: ToolCallFacts) -> Option<Block> {
        let abort = call.abort.clone();
        self.until_ended(abort.as_ref(), self.preflight(call))
            .await?
    }

    /// `tool_result`: adds guidance and diffs (H6, E1).
    pub async fn tool_result(&self, result: ToolResultFacts) -> Option<ResultPatch> {
        self.complete(result).await
    }

    /// `turn_end`: forgets calls that never got a result (E6).
    pub fn turn_end(&self) {
        self.forget_calls();
    }

    /// `agent_settled`: likewise, where a turn ended without an event. No hook child waits from here on (H8).
    pub fn agent_settled(&self) {
        self.pool.empty();
        self.forget_calls();
    }

    /// `session_shutdown`: ends every wait and every child at once (R11). From here on no port but the log is used.
    pub fn session_shutdown(&self) {
        self.ended.cancel();
        self.pool.close();
        self.forget_calls();
        let commands = self.state().commands.forget();
        drop(commands);
    }

    fn forget_calls(&self) {
        let mut state = self.state();
        let forgotten = (
            std::mem::take(&mut state.watches),
            std::mem::take(&mut state.guidance),
        );
        // The claims are given back only once our own lock is free.
        drop(state);
        drop(forgotten);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic elsewhere left behind is still better than no extension (F1).
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work until the instance ends or the turn is aborted; then `None`, and the work is dropped.
    async fn until_ended<T>(
        &self,
        abort: Option<&CancellationToken>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let aborted = async {
            match abort {
                Some(abort) => abort.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.ended.cancelled() => None,
            () = aborted => None,
            done = work => Some(done),
        }
    }

    /// The settings of the session, or those of a folder where the session hook never ran (R9).
    fn settings(&self, cwd: &Path) -> Arc<Settings> {
        let mut state = self.state();
        if let Some(session) = &state.session {
            return Arc::clone(&session.settings);
        }
        let resolve = || Arc::new(Settings::resolve(&self.environment, cwd));
        Arc::clone(state.stray_settings.get_or_insert_with(resolve))
    }

    /// Lets a hook child wait for the calls of a run, where there will be questions (H1, H7, H8).
    fn make_ready(&self, cwd: &Path) {
        let settings = self.settings(cwd);
        let asked = settings.enforce && !self.state().without_graph_tools;
        if asked
            && settings.warm_hook
            && let Some(command) = self.hook_command(&settings, cwd)
        {
            self.pool.begin(&command);
        }
    }

    /// How a hook child is started; `None` without an executable.
    fn hook_command(&self, settings: &Arc<Settings>, cwd: &Path) -> Option<Arc<HookCommand>> {
        match &self.state().session {
            Some(session) if Arc::ptr_eq(&session.settings, settings) && session.cwd == cwd => {
                session.hook.clone()
            }
            _ => self.new_hook_command(settings, cwd),
        }
    }

    fn new_hook_command(&self, settings: &Settings, cwd: &Path) -> Option<Arc<HookCommand>> {
        Some(Arc::new(HookCommand {
            program: settings.bin.clone().ok()?,
            args: settings.hook_mode.hook_args(),
            cwd: cwd.to_path_buf(),
            vars: Arc::clone(&self.vars),
        }))
    }

    /// One question to the hook; every failure is no decision and one line in the log (H5).
    async fn ask(
        &self,
        settings: &Arc<Settings>,
        event: &str,
        envelope: Option<Envelope<'_>>,
        cwd: &Path,
    ) -> Decision {
        let Some(command) = self.hook_command(settings, cwd) else {
            return Decision::default();
        };
        let Some(envelope) = envelope.and_then(|envelope| envelope.to_bytes()) else {
            self.log(&format!(
                "hook ({event}): not asked, since the question is too large or not UTF-8"
            ));
            return Decision::default();
        };
        let time = if event == "session_start" {
            self.caps.hook_briefing
        } else {
            self.caps.hook_call
        };
        let abort = self.ended.child_token();
        // Dropped together with this future, whoever ended it.
        let _end = abort.clone().drop_guard();
        let ask = HookAsk {
            command,
            envelope,
            deadline: Instant::now() + time,
            abort,
        };
        Decision::read(&self.pool.ask(ask).await).unwrap_or_else(|cause| {
            self.log(&format!("hook ({event}): no decision: {cause}"));
            Decision::default()
        })
    }

    /// Asks the host for its tools; `None` where the session was replaced or the host does not answer by `by`.
    async fn graph_tools(&self, by: Instant) -> Option<GraphTools> {
        let tools = tokio::time::timeout_at(by, self.ports.host.tools())
            .await
            .ok()??;
        let mut found = GraphTools::Unlisted;
        for tool in tools
            .iter()
            .filter(|tool| crate::hook::graph_tool(&tool.name).is_some())
        {
            if tool.exposure.as_deref() != Some("hidden") {
                return Some(GraphTools::Callable);
            }
            found = GraphTools::Hidden;
        }
        Some(found)
    }

    fn log(&self, line: &str) {
        self.ports.log.line(&one_line(line, 400));
    }

    /// Tells the user once, where there is anybody to read it.
    fn tell_user(&self, message: &str, has_ui: bool) {
        if has_ui && !self.ended.is_cancelled() && self.state().told.insert(message.to_owned()) {
            self.ports.host.notify(message, Level::Warning);
        }
    }
}

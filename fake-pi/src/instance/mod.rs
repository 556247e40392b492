//! One instance: the extensions of one session as their factories left them, alive until the session is replaced.

mod ctx;
mod dialog;
mod emit;
mod emit_context;
mod emit_run;
mod load;
mod pi;
mod trust;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use serde_json::{Value, json};

pub use ctx::Ctx;
pub(crate) use emit::truthy;
pub(crate) use emit_run::{Judged, RunStart, SharedResult};
pub use pi::{Command, Delivery, Pi, Unsubscribe};

use crate::extension::{CommandHandler, Handler, Thrown, lock};
use crate::fault::Fault;
use crate::host::Shared as HostShared;
use crate::mode::Mode;
use crate::registry::servers::ServerRegistry;
use crate::session::Session;
use crate::tool::Tool;

/// What `pi` and `ctx` throw once their session was replaced (pi-host.md 6). It is interface: extensions look for it.
pub const STALE: &str = "This extension ctx is stale after session replacement or reload. Do not use a captured pi or \
command ctx after ctx.newSession(), ctx.fork(), ctx.switchSession(), or ctx.reload(). For newSession, fork, and \
switchSession, move post-replacement work into withSession and use the ctx passed to withSession. For reload, do not \
use the old ctx after await ctx.reload().";

/// What action methods throw inside a factory (pi-host.md 1.1).
pub const NOT_INITIALIZED: &str =
    "Extension runtime not initialized. Action methods cannot be called during extension loading.";

/// A change that a factory asked for, applied when it returned (pi-host.md 3.3).
pub(crate) type Change = Box<dyn FnOnce(&Instance) + Send>;

/// Where an extension stands.
pub(crate) enum Stage {
    /// Its factory runs; changes wait here.
    Loading(Vec<Change>),
    /// Its factory returned.
    Active,
    /// Its factory threw.
    Failed,
}

/// A command as an extension registered it.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) handler: CommandHandler,
}

/// One extension in one instance.
pub(crate) struct Slot {
    pub(crate) path: String,
    /// `sourceInfo.source`: `builtin` or `cli`.
    pub(crate) source: &'static str,
    pub(crate) stage: Mutex<Stage>,
    handlers: Mutex<Vec<(u64, String, Handler)>>,
    next_handler: Mutex<u64>,
    pub(crate) tools: Mutex<Vec<Arc<dyn Tool>>>,
    pub(crate) commands: Mutex<Vec<Registered>>,
}

impl Slot {
    fn new(path: String, source: &'static str) -> Self {
        Self {
            path,
            source,
            stage: Mutex::new(Stage::Loading(Vec::new())),
            handlers: Mutex::default(),
            next_handler: Mutex::default(),
            tools: Mutex::default(),
            commands: Mutex::default(),
        }
    }

    /// The `sourceInfo` of everything that this extension registers.
    pub(crate) fn source_info(&self) -> Value {
        json!({"path": self.path, "source": self.source, "scope": "temporary", "origin": "top-level"})
    }

    fn add_handler(&self, event: &str, handler: Handler) -> u64 {
        let mut next = lock(&self.next_handler);
        *next += 1;
        lock(&self.handlers).push((*next, event.to_owned(), handler));
        *next
    }

    fn remove_handler(&self, id: u64) {
        lock(&self.handlers).retain(|(known, ..)| *known != id);
    }

    fn handlers_of(&self, event: &str) -> Vec<Handler> {
        let all = lock(&self.handlers);
        all.iter()
            .filter(|(_, known, _)| known == event)
            .map(|(.., handler)| handler.clone())
            .collect()
    }
}

/// All extensions of a session, and what Pi calls their runner.
pub(crate) struct Instance {
    me: Weak<Instance>,
    pub(crate) host: Arc<HostShared>,
    slots: Mutex<Vec<Arc<Slot>>>,
    pub(crate) servers: Mutex<ServerRegistry>,
    stale: AtomicBool,
    session: OnceLock<Weak<Session>>,
    /// Whether a client listens to errors: from binding on, and never in the factory.
    listened: AtomicBool,
    reported: Mutex<BTreeSet<String>>,
}

impl Instance {
    /// Whether the session was replaced.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// Makes every `pi` and `ctx` of this instance throw.
    pub(crate) fn invalidate(&self) {
        self.stale.store(true, Ordering::Relaxed);
    }

    /// The instance that a handle leads to, as long as its session was not replaced.
    fn current(handle: &Weak<Self>) -> Option<Arc<Self>> {
        handle.upgrade().filter(|instance| !instance.is_stale())
    }

    /// Drops all that its extensions hold, connections among it, without a word to them: the process is dead.
    pub(crate) fn let_go(&self) {
        self.invalidate();
        for slot in self.slots() {
            lock(&slot.handlers).clear();
            lock(&slot.commands).clear();
            lock(&slot.tools).clear();
        }
    }

    /// Ties the instance to its session; from here on action methods work and registrations are announced.
    pub(crate) fn bind(&self, session: &Arc<Session>) {
        // A second binding of one instance does not occur; the first would stay.
        let _ = self.session.set(Arc::downgrade(session));
    }

    /// The bound session.
    ///
    /// # Errors
    /// [`NOT_INITIALIZED`] before the binding.
    pub(crate) fn session(&self) -> Result<Arc<Session>, Thrown> {
        self.session
            .get()
            .and_then(Weak::upgrade)
            .ok_or_else(|| Thrown::error(NOT_INITIALIZED))
    }

    /// Lets errors reach the client.
    pub(crate) fn listen(&self) {
        self.listened.store(true, Ordering::Relaxed);
    }

    /// Whether a client is attached, which is when `ctx.ui` shows anything.
    pub(crate) fn is_listened(&self) -> bool {
        self.listened.load(Ordering::Relaxed)
    }

    /// A snapshot of the extensions in load order.
    pub(crate) fn slots(&self) -> Vec<Arc<Slot>> {
        lock(&self.slots).clone()
    }

    /// Whether anybody handles `event`; Pi skips the work otherwise.
    pub(crate) fn has_handlers(&self, event: &str) -> bool {
        self.slots().iter().any(|slot| {
            lock(&slot.handlers)
                .iter()
                .any(|(_, known, _)| known == event)
        })
    }

    /// The handlers of an event, load order then registration order, as they are now (pi-host.md 2: one emit sees one
    /// snapshot).
    pub(crate) fn snapshot(&self, event: &str) -> Vec<(Arc<Slot>, Handler)> {
        let mut found = Vec::new();
        for slot in self.slots() {
            found.extend(
                slot.handlers_of(event)
                    .into_iter()
                    .map(|handler| (slot.clone(), handler)),
            );
        }
        if self.host.makes(Fault::ReversesHandlers) {
            found.reverse();
        }
        found
    }

    /// Reports an extension's error to the client.
    pub(crate) fn report(&self, extension_path: &str, event: &str, error: &str) {
        if !self.is_listened() || self.host.makes(Fault::HidesExtensionErrors) {
            return;
        }
        match self.host.options.mode {
            Mode::Print | Mode::Json => self
                .host
                .warn(format!("Extension error ({extension_path}): {error}")),
            Mode::Rpc | Mode::Terminal | Mode::Embedded { .. } => self.host.output(json!({
                "type": "extension_error", "extensionPath": extension_path, "event": event, "error": error
            })),
        }
    }

    /// Reports registered servers that nobody will connect, each once (pi-host.md 3.4).
    pub(crate) fn report_unconnected(&self) {
        if self.has_handlers("mcp_servers_change") {
            return;
        }
        let servers = lock(&self.servers).list();
        for server in servers {
            if lock(&self.reported).insert(server.name.clone()) {
                self.report(
                    &server.extension_path,
                    "register_mcp_server",
                    &format!(
                        "MCP server \"{}\" is registered, but no loaded extension connects MCP servers; another \
                         extension may have replaced the built-in MCP support",
                        server.name
                    ),
                );
            }
        }
    }

    /// All commands with the names that a person types: duplicates are numbered in load order (pi-host.md 3.4).
    pub(crate) fn commands(&self) -> Vec<(String, Registered, Value)> {
        let mut all = Vec::new();
        for slot in self.slots() {
            let info = slot.source_info();
            all.extend(
                lock(&slot.commands)
                    .iter()
                    .map(|command| (command.clone(), info.clone())),
            );
        }
        let mut taken = BTreeSet::new();
        let mut named = Vec::with_capacity(all.len());
        for (index, (command, info)) in all.iter().enumerate() {
            let same = |other: &(Registered, Value)| other.0.name == command.name;
            let mut occurrence = all[..=index].iter().filter(|other| same(other)).count();
            let shared = all.iter().filter(|other| same(other)).count() > 1;
            let mut name = if shared {
                format!("{}:{occurrence}", command.name)
            } else {
                command.name.clone()
            };
            while !taken.insert(name.clone()) {
                occurrence += 1;
                name = format!("{}:{occurrence}", command.name);
            }
            named.push((name, command.clone(), info.clone()));
        }
        named
    }
}

//! The MCP support as an extension: it connects servers beside the session and tells the model of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::link::Link;
use super::settings::{self, Configured, Settings};
use super::tool::ServerTool;
use crate::extension::{Event, Extension, Handler, Thrown, lock};
use crate::fault::Fault;
use crate::host;
use crate::instance::{Command, Ctx, Pi};
use crate::mcp::{McpExposure, ServerConfig, ToolNames};
use crate::mode::Mode;
use crate::tool::Tool;

/// What loading the MCP client takes the first time: children appear about 0.1 s after `session_start`, when a prompt
/// that came at once is already in `before_agent_start` (pi-host.md 1.1).
const FIRST_LOAD: Duration = Duration::from_millis(100);

/// Settles when an attempt to connect did, either way.
pub(super) type Ready = Shared<BoxFuture<'static, ()>>;

/// One server that is to be connected.
pub(super) struct Server {
    pub(super) config: ServerConfig,
    /// Whether an extension registered it.
    pub(super) is_registered: bool,
    link: Mutex<Option<Arc<Link>>>,
    ready: Mutex<Option<Ready>>,
}

impl Server {
    pub(super) fn new(config: ServerConfig, is_registered: bool) -> Arc<Self> {
        Arc::new(Self {
            config,
            is_registered,
            link: Mutex::default(),
            ready: Mutex::default(),
        })
    }

    /// Its connection, once one was tried.
    pub(super) fn link(&self) -> Option<Arc<Link>> {
        lock(&self.link).clone()
    }

    pub(super) fn is_linked(&self, link: &Arc<Link>) -> bool {
        lock(&self.link)
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, link))
    }

    /// Settles when its latest attempt to connect did.
    pub(super) fn ready(&self) -> Option<Ready> {
        lock(&self.ready).clone()
    }
}

#[derive(Default)]
pub(super) struct Inner {
    /// The session's folder.
    cwd: PathBuf,
    pub(super) servers: Vec<Arc<Server>>,
    pub(super) configured: Vec<Configured>,
    config_errors: Vec<String>,
    pub(super) overridden: Vec<String>,
    pub(super) auto_enable_codemode: bool,
    pub(super) warned_unreachable: bool,
    /// Whether a prompt waited for the start already.
    pub(super) waited: bool,
    names: ToolNames,
    pub(super) tools: BTreeMap<String, Vec<ServerTool>>,
    /// What the tools that reach resources were registered with last.
    pub(super) resource_exposure: Option<McpExposure>,
    /// Settles when all connections of the session's start did.
    started: Option<Ready>,
    /// The life of the session; work that outlives it is dropped. None before `session_start`.
    pub(super) life: Option<CancellationToken>,
}

/// The state of the MCP support in one instance.
pub(super) struct Manager {
    me: Weak<Manager>,
    pub(super) host: Arc<host::Shared>,
    pub(super) pi: Pi,
    pub(super) inner: Mutex<Inner>,
}

/// The extension that connects MCP servers.
pub(crate) struct Mcp {
    host: Arc<host::Shared>,
}

impl Mcp {
    pub(crate) fn new(host: &Arc<host::Shared>) -> Self {
        Self { host: host.clone() }
    }
}

/// A handler of the manager: called when the event comes, so that its synchronous part is the caller's.
fn handler(
    manager: &Arc<Manager>,
    handle: impl Fn(Arc<Manager>, Event, Ctx) -> BoxFuture<'static, ()> + Send + Sync + 'static,
) -> Handler {
    let manager = manager.clone();
    Arc::new(move |event, ctx| {
        let rest = handle(manager.clone(), event, ctx);
        Box::pin(async move {
            rest.await;
            Ok(serde_json::Value::Null)
        })
    })
}

impl Extension for Mcp {
    fn path(&self) -> String {
        // A program that uses the SDK hands the extension over as a function without a name, behind those of `codemode`
        // and `tool_search` (Pi's SDK example 14).
        match self.host.options.mode {
            Mode::Embedded { .. } => "<inline:3>".to_owned(),
            Mode::Rpc | Mode::Print | Mode::Json | Mode::Terminal => "builtin:mcp".to_owned(),
        }
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        let host = self.host.clone();
        let manager = Arc::new_cyclic(|me| Manager {
            me: me.clone(),
            host,
            pi: pi.clone(),
            inner: Mutex::default(),
        });
        Box::pin(async move {
            pi.on(
                "session_start",
                handler(&manager, |manager, _, ctx| {
                    manager.start(&ctx);
                    Box::pin(async {})
                }),
            )?;
            pi.on(
                "before_agent_start",
                handler(&manager, |manager, event, ctx| {
                    Box::pin(async move {
                        manager.wait_for_direct(&ctx).await;
                        manager.list_servers(&event);
                    })
                }),
            )?;
            pi.on(
                "tool_call",
                handler(&manager, |manager, event, ctx| {
                    Box::pin(async move { manager.wait_for_reached(&event, &ctx).await })
                }),
            )?;
            pi.on(
                "mcp_servers_change",
                handler(&manager, |manager, _, ctx| manager.change(ctx)),
            )?;
            pi.on(
                "session_shutdown",
                handler(&manager, |manager, _, _| manager.stop()),
            )?;
            let run = manager.clone();
            let handler = Arc::new(
                move |arguments: String, ctx: Ctx| -> BoxFuture<'static, Result<(), Thrown>> {
                    let manager = run.clone();
                    Box::pin(async move { manager.command(&arguments, &ctx).await })
                },
            );
            let description = Some(
                "Manage MCP servers: sign in, reconnect, enable or disable, and change exposure"
                    .to_owned(),
            );
            pi.register_command(
                "mcp",
                Command {
                    description,
                    handler,
                },
            )
        })
    }
}

impl Manager {
    pub(super) fn servers(&self) -> Vec<Arc<Server>> {
        lock(&self.inner).servers.clone()
    }

    pub(super) fn server(&self, name: &str) -> Option<Arc<Server>> {
        lock(&self.inner)
            .servers
            .iter()
            .find(|server| server.config.name == name)
            .cloned()
    }

    /// The session's folder.
    pub(super) fn cwd(&self) -> PathBuf {
        lock(&self.inner).cwd.clone()
    }

    pub(super) fn config_errors(&self) -> Vec<String> {
        lock(&self.inner).config_errors.clone()
    }

    pub(super) fn overridden(&self) -> Vec<String> {
        lock(&self.inner).overridden.clone()
    }

    pub(super) fn assign_names(&self, server: &str, tools: &[&str]) -> Vec<String> {
        lock(&self.inner).names.assign(server, tools)
    }

    /// Notes what a server offers now and gives what it offered before.
    pub(super) fn replace_tools(&self, server: &str, tools: Vec<ServerTool>) -> Vec<ServerTool> {
        lock(&self.inner)
            .tools
            .insert(server.to_owned(), tools)
            .unwrap_or_default()
    }

    pub(super) fn register(&self, tool: Arc<dyn Tool>) {
        // A replaced session takes no tools.
        let _ = self.pi.register_tool(tool);
    }

    /// `session_start`: takes up what `mcp.json` and the extensions say and starts connecting, beside the session.
    fn start(self: &Arc<Self>, ctx: &Ctx) {
        let options = &self.host.options;
        // Called by an event of the session, which is current then.
        let cwd = ctx.cwd().unwrap_or_default();
        let trusted = ctx.is_project_trusted().unwrap_or_default();
        let project = trusted.then_some(cwd.as_path());
        let Settings {
            servers,
            errors,
            auto_enable_codemode,
        } = settings::load(&options.agent_dir, project);
        let life = CancellationToken::new();
        {
            let mut inner = lock(&self.inner);
            inner.cwd = cwd;
            inner.auto_enable_codemode = auto_enable_codemode;
            inner.warned_unreachable = false;
            inner.waited = false;
            inner.config_errors = errors;
            inner.configured = servers;
            inner.life = Some(life.clone());
        }
        let registered = self.registered();
        let enabled: Vec<Arc<Server>> = {
            let mut inner = lock(&self.inner);
            let configured = inner
                .configured
                .iter()
                .map(|server| Server::new(server.config.clone(), false));
            inner.servers = configured.chain(registered).collect();
            inner
                .servers
                .iter()
                .filter(|server| server.config.enabled)
                .cloned()
                .collect()
        };
        self.activate_reaching(ctx);
        if enabled.is_empty() {
            self.report_problems(ctx, None);
            return;
        }
        let all: Vec<Ready> = enabled.iter().map(|server| self.connect(server)).collect();
        let (manager, ctx) = (self.clone(), ctx.clone());
        let started = async move {
            join_all(all).await;
            if !life.is_cancelled() {
                manager.report_problems(&ctx, None);
            }
        };
        let started = started.boxed().shared();
        lock(&self.inner).started = Some(started.clone());
        self.host.spawn("start of MCP servers", started);
    }

    /// Starts connecting a server beside everything else.
    pub(super) fn connect(self: &Arc<Self>, server: &Arc<Server>) -> Ready {
        let (manager, connecting) = (self.clone(), server.clone());
        let life = lock(&self.inner).life.clone().unwrap_or_default();
        let ready = async move {
            tokio::select! {
                biased;
                () = life.cancelled() => return,
                () = manager.load_client() => {}
            }
            let current = manager
                .servers()
                .iter()
                .any(|known| Arc::ptr_eq(known, &connecting));
            if life.is_cancelled() || !current {
                return;
            }
            let link = Link::new(connecting.config.clone(), manager.me.clone());
            *lock(&connecting.link) = Some(link.clone());
            // The outcome is in the link's state.
            let _ = link.connection().await;
        };
        let ready = ready.boxed().shared();
        *lock(&server.ready) = Some(ready.clone());
        self.host
            .spawn("connection of an MCP server", ready.clone());
        ready
    }

    /// The client is loaded only when a server needs it, and then stays.
    async fn load_client(&self) {
        if self.host.client_is_loaded() {
            tokio::task::yield_now().await;
        } else {
            sleep(FIRST_LOAD).await;
            self.host.set_client_loaded();
        }
    }

    /// Waits until the connections of the start settled.
    pub(super) async fn wait_started(&self) {
        let started = lock(&self.inner).started.clone();
        if let Some(started) = started {
            started.await;
        }
    }

    /// `session_shutdown`: stops every server and waits until all are down.
    fn stop(&self) -> BoxFuture<'static, ()> {
        let (life, servers) = {
            let mut inner = lock(&self.inner);
            (inner.life.clone(), std::mem::take(&mut inner.servers))
        };
        if let Some(life) = life {
            life.cancel();
        }
        let mut links: Vec<Arc<Link>> = servers.iter().filter_map(|server| server.link()).collect();
        if self.host.makes(Fault::LeavesServersRunning) {
            links.clear();
        }
        Box::pin(async move {
            join_all(links.iter().map(|link| link.close())).await;
        })
    }
}

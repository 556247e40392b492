//! One server's connection: opened, lost, opened again at the next call, stopped (pi-host.md 4.6, 4.7, 4.9).

use std::sync::{Arc, Mutex, Weak};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio_util::sync::CancellationToken;

use super::manager::Manager;
use crate::extension::lock;
use crate::fault::Fault;
use crate::mcp::environment::{self, Surroundings};
use crate::mcp::launch::{self, ProcessControl, StderrTail};
use crate::mcp::{ClientOptions, Connection, ConnectionEvent, McpTool, ServerConfig};

/// Where a connection stands, in Pi's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Connected,
    Failed,
    Disconnected,
    Closed,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::Disconnected => "disconnected",
            Self::Closed => "closed",
        }
    }
}

/// A process that was started, until it is stopped.
#[derive(Clone)]
struct Process {
    control: Arc<dyn ProcessControl>,
    stderr: StderrTail,
}

/// What a link holds while it is connected.
#[derive(Clone)]
struct Live {
    connection: Connection,
    process: Process,
}

type Opening = Shared<BoxFuture<'static, Result<Connection, String>>>;

struct Inner {
    state: State,
    error: Option<String>,
    tools: Vec<McpTool>,
    instructions: Option<String>,
    live: Option<Live>,
    opening: Option<Opening>,
}

/// The connection to one registered server.
pub(super) struct Link {
    me: Weak<Link>,
    pub(super) config: ServerConfig,
    manager: Weak<Manager>,
    shutdown: CancellationToken,
    inner: Mutex<Inner>,
}

impl Link {
    pub(super) fn new(config: ServerConfig, manager: Weak<Manager>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            config,
            manager,
            shutdown: CancellationToken::new(),
            inner: Mutex::new(Inner {
                state: State::Connecting,
                error: None,
                tools: Vec::new(),
                instructions: None,
                live: None,
                opening: None,
            }),
        })
    }

    pub(super) fn state(&self) -> State {
        lock(&self.inner).state
    }

    /// The text of the last failure, with the server's own last words.
    pub(super) fn error(&self) -> Option<String> {
        lock(&self.inner).error.clone()
    }

    /// The tools that the server listed last; they stay when the connection is lost.
    pub(super) fn tools(&self) -> Vec<McpTool> {
        lock(&self.inner).tools.clone()
    }

    pub(super) fn instructions(&self) -> Option<String> {
        lock(&self.inner).instructions.clone()
    }

    /// Whether the server is connected and does not list the tool.
    pub(super) fn withdrew(&self, tool: &str) -> bool {
        let inner = lock(&self.inner);
        inner.state == State::Connected && !inner.tools.iter().any(|offered| offered.name == tool)
    }

    /// The open connection; opens it when there is none. All who ask meanwhile share one attempt.
    ///
    /// # Errors
    /// `MCP server "x" failed to connect: …`, with the server's last words.
    pub(super) async fn connection(&self) -> Result<Connection, String> {
        let opening = {
            let mut inner = lock(&self.inner);
            if self.shutdown.is_cancelled() {
                return Err(format!("MCP server \"{}\" is shut down", self.config.name));
            }
            if let Some(live) = inner
                .live
                .as_ref()
                .filter(|live| !live.connection.is_closed())
            {
                return Ok(live.connection.clone());
            }
            let Some(me) = self.me.upgrade() else {
                return Err("MCP connection closed".to_owned());
            };
            inner
                .opening
                .get_or_insert_with(|| async move { me.open().await }.boxed().shared())
                .clone()
        };
        let opened = opening.clone().await;
        let mut inner = lock(&self.inner);
        if inner
            .opening
            .as_ref()
            .is_some_and(|current| current.ptr_eq(&opening))
        {
            inner.opening = None;
        }
        opened
    }

    async fn open(self: Arc<Self>) -> Result<Connection, String> {
        lock(&self.inner).state = State::Connecting;
        let mut stderr = None;
        let opened = match self.start().await {
            Ok((stream, process)) => {
                let opened = tokio::select! {
                    biased;
                    () = self.shutdown.cancelled() => Err("MCP connection closed".to_owned()),
                    opened = Connection::open(stream, self.client_options()) => opened,
                };
                match opened {
                    Ok(connection) => Ok(Live {
                        connection,
                        process,
                    }),
                    Err(error) => {
                        // Its input is closed by now; only when it is gone its last words are complete.
                        self.stop(&process).await;
                        stderr = process.stderr.shown();
                        Err(error)
                    }
                }
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok(live) => Ok(self.opened(live)),
            Err(error) => {
                let error = with_stderr(error, stderr);
                let mut inner = lock(&self.inner);
                inner.state = if self.shutdown.is_cancelled() {
                    State::Closed
                } else {
                    State::Failed
                };
                inner.error = Some(error.clone());
                Err(format!(
                    "MCP server \"{}\" failed to connect: {error}",
                    self.config.name
                ))
            }
        }
    }

    /// Starts the server.
    async fn start(&self) -> Result<(Box<dyn launch::Duplex>, Process), String> {
        let manager = self.manager.upgrade().ok_or("MCP connection closed")?;
        let options = &manager.host.options;
        let surroundings = Surroundings {
            cwd: manager.cwd(),
            home: options.home.clone(),
            variables: options.variables.clone(),
        };
        let launch =
            environment::prepare(&self.config, &surroundings, options.servers.as_ref()).await?;
        let launch = launch.ok_or("HTTP servers are not modelled by the simulated host")?;
        let started = options.servers.launch(launch).await?;
        manager
            .host
            .server_up(&self.config.name, started.control.clone());
        Ok((
            started.stream,
            Process {
                control: started.control,
                stderr: started.stderr,
            },
        ))
    }

    fn client_options(&self) -> ClientOptions {
        let manager = self.manager.upgrade();
        let (cwd, version, temp_dir) = manager.map_or_else(Default::default, |manager| {
            let options = &manager.host.options;
            (
                manager.cwd(),
                options.version.to_string(),
                options.temp_dir.clone(),
            )
        });
        ClientOptions {
            server: self.config.name.clone(),
            cwd,
            pi_version: version,
            timeout: self.config.request_timeout(),
            temp_dir,
        }
    }

    fn opened(self: &Arc<Self>, live: Live) -> Connection {
        let connection = live.connection.clone();
        {
            let mut inner = lock(&self.inner);
            inner.tools = connection.tools();
            inner.instructions = connection.instructions().map(str::to_owned);
            inner.state = State::Connected;
            inner.error = None;
            inner.live = Some(live.clone());
        }
        if let Some(manager) = self.manager.upgrade() {
            manager.offer_tools(self);
            manager
                .host
                .spawn("events of an MCP server", follow(self.clone(), live));
        }
        connection
    }

    async fn stop(&self, process: &Process) {
        launch::stop(process.control.as_ref()).await;
        if let Some(manager) = self.manager.upgrade() {
            manager.host.server_down(&self.config.name);
        }
    }

    /// Closes what is open and opens it again.
    ///
    /// # Errors
    /// As [`Link::connection`].
    pub(super) async fn reconnect(&self) -> Result<(), String> {
        self.wait_opening().await;
        let live = lock(&self.inner).live.take();
        if let Some(live) = live {
            self.close_live(live).await;
        }
        self.connection().await.map(drop)
    }

    /// Closes the connection for good: its input at once, then the stop sequence. Resolves when nothing of it is left.
    pub(super) async fn close(&self) {
        self.shutdown.cancel();
        let live = {
            let mut inner = lock(&self.inner);
            inner.state = State::Closed;
            inner.live.take()
        };
        let closing = async {
            if let Some(live) = live {
                self.close_live(live).await;
            }
        };
        futures::join!(closing, self.wait_opening());
    }

    async fn wait_opening(&self) {
        let opening = lock(&self.inner).opening.clone();
        if let Some(opening) = opening {
            // Its outcome is in the state.
            let _ = opening.await;
        }
    }

    async fn close_live(&self, live: Live) {
        live.connection.close().await;
        drop(live.connection);
        self.stop(&live.process).await;
    }
}

/// Follows what a server does unasked, until its connection ends.
async fn follow(link: Arc<Link>, live: Live) {
    let Some(mut events) = live.connection.take_events() else {
        return;
    };
    while let Some(event) = events.recv().await {
        match event {
            ConnectionEvent::Tools(tools) => {
                let deaf = |manager: &Arc<Manager>| manager.host.makes(Fault::IgnoresListChanged);
                if link.manager.upgrade().as_ref().is_some_and(deaf) {
                    continue;
                }
                let current = {
                    let mut inner = lock(&link.inner);
                    let current = inner.live.is_some() && !link.shutdown.is_cancelled();
                    if current {
                        inner.tools = tools;
                    }
                    current
                };
                if let Some(manager) = link.manager.upgrade().filter(|_| current) {
                    manager.offer_tools(&link);
                }
            }
            ConnectionEvent::RefreshFailed(error) => lock(&link.inner).error = Some(error),
            // Pi writes it to a file of its own.
            ConnectionEvent::Log(_) => {}
            ConnectionEvent::Closed => break,
        }
    }
    let lost = {
        let mut inner = lock(&link.inner);
        let lost = inner.live.is_some() && !link.shutdown.is_cancelled();
        if lost {
            inner.live = None;
            inner.state = State::Disconnected;
        }
        lost
    };
    if lost {
        // What the server said last may still be on its way.
        link.stop(&live.process).await;
        let error = with_stderr("Connection closed".to_owned(), live.process.stderr.shown());
        let mut inner = lock(&link.inner);
        if inner.state == State::Disconnected {
            inner.error = Some(error);
        }
    }
}

fn with_stderr(error: String, stderr: Option<String>) -> String {
    match stderr {
        Some(stderr) => format!("{error}\n{stderr}"),
        None => error,
    }
}

//! One server's connection: opened, lost, opened again at the next call, stopped (pi-host.md 4.6, 4.7, 4.9).

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

mod opening;

use super::manager::Manager;
use crate::extension::lock;
use crate::fault::Fault;
use crate::mcp::failure::{Cause, Failure};
use crate::mcp::http::HttpSession;
use crate::mcp::launch::{self, ProcessControl, StderrTail};
use crate::mcp::{Connection, ConnectionEvent, McpTool, ServerConfig};

/// Delays before connecting to a server over HTTP is tried again after a failure that may pass.
const RETRIES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Where a connection stands, in Pi's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Connected,
    Failed,
    NeedsAuth,
    Disconnected,
    Closed,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs-auth",
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

/// What is at the other end: a process that was started, or a session over HTTP.
#[derive(Clone)]
enum Peer {
    Process(Process),
    Http(HttpSession),
}

impl Peer {
    /// What a process wrote last.
    fn stderr(&self) -> Option<String> {
        match self {
            Self::Process(process) => process.stderr.shown(),
            Self::Http(_) => None,
        }
    }
}

/// What a link holds while it is connected.
#[derive(Clone)]
struct Live {
    connection: Connection,
    peer: Peer,
    /// Tells one connection from the next.
    mark: Arc<()>,
}

type Opening = Shared<BoxFuture<'static, Result<Connection, String>>>;

struct Inner {
    state: State,
    error: Option<String>,
    tools: Vec<McpTool>,
    instructions: Option<String>,
    has_resources: bool,
    live: Option<Live>,
    /// Sessions that their server does not know any more: calls on them may still be under way.
    detached: Vec<Live>,
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
                has_resources: false,
                live: None,
                detached: Vec::new(),
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

    /// What the server's capabilities said of resources.
    pub(super) fn has_resources(&self) -> bool {
        lock(&self.inner).has_resources
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

    /// Runs a request on the open connection. A server that forgot the session did not run it, so it is sent once more in
    /// a new one; one that only `reads` is also sent once more when its failure may pass.
    ///
    /// # Errors
    /// As [`Link::connection`], or the request's own failure.
    pub(super) async fn run<T>(
        &self,
        reads: bool,
        request: impl Fn(&Connection) -> BoxFuture<'static, Result<T, Failure>>,
    ) -> Result<T, String> {
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let failure = match request(&connection).await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            let again = std::mem::replace(&mut is_first, false);
            let is_status = matches!(failure.cause, Cause::Status(_));
            if again && reads && is_status && failure.is_transient() {
                sleep(RETRIES[0]).await;
            } else if again && failure.cause == Cause::SessionExpired {
                self.detach(&connection);
            } else if self.wants_sign_in(&failure) {
                let live = lock(&self.inner).live.take();
                if let Some(live) = live {
                    self.close_live(live).await;
                }
                lock(&self.inner).state = State::NeedsAuth;
                return Err(self.sign_in());
            } else {
                return Err(failure.text);
            }
        }
    }

    /// Lets go of a connection whose session the server forgot, without ending it.
    fn detach(&self, connection: &Connection) {
        let mut inner = lock(&self.inner);
        let is_current = |live: &mut Live| live.connection.is_same(connection);
        if let Some(live) = inner.live.take_if(is_current) {
            inner.detached.push(live);
        }
    }

    fn wants_sign_in(&self, failure: &Failure) -> bool {
        failure.cause == Cause::Unauthorized && self.config.signs_in()
    }

    fn sign_in(&self) -> String {
        let name = &self.config.name;
        format!("MCP server \"{name}\" requires sign-in. Run /mcp to sign in.")
    }

    fn opened(self: &Arc<Self>, live: Live) -> Connection {
        let connection = live.connection.clone();
        {
            let mut inner = lock(&self.inner);
            inner.tools = connection.tools();
            inner.instructions = connection.instructions().map(str::to_owned);
            inner.has_resources = connection.has_resources();
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

    async fn stop(&self, peer: &Peer) {
        match peer {
            Peer::Process(process) => launch::stop(process.control.as_ref()).await,
            Peer::Http(session) => session.close().await,
        }
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
        let (live, detached) = {
            let mut inner = lock(&self.inner);
            inner.state = State::Closed;
            (inner.live.take(), std::mem::take(&mut inner.detached))
        };
        for live in detached {
            if let Peer::Http(session) = &live.peer {
                session.abandon();
            }
            if let Some(manager) = self.manager.upgrade() {
                manager.host.server_down(&self.config.name);
            }
        }
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
        self.stop(&live.peer).await;
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
                    let current = is_current(&inner, &live) && !link.shutdown.is_cancelled();
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
        let lost = is_current(&inner, &live) && !link.shutdown.is_cancelled();
        if lost {
            inner.live = None;
            inner.state = State::Disconnected;
        }
        lost
    };
    if lost {
        // What the server said last may still be on its way.
        link.stop(&live.peer).await;
        let error = with_stderr("Connection closed".to_owned(), live.peer.stderr());
        let mut inner = lock(&link.inner);
        if inner.state == State::Disconnected {
            inner.error = Some(error);
        }
    }
}

/// Whether this is the connection that the link holds, and not one before it.
fn is_current(inner: &Inner, live: &Live) -> bool {
    let current = inner.live.as_ref();
    current.is_some_and(|current| Arc::ptr_eq(&current.mark, &live.mark))
}

fn with_stderr(error: String, stderr: Option<String>) -> String {
    match stderr {
        Some(stderr) => format!("{error}\n{stderr}"),
        None => error,
    }
}

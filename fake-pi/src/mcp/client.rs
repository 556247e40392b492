//! A connection to one server: handshake, tool list, calls, and how they end (pi-host.md 4.1, 4.4, 4.7).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, RootsCapabilities,
};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService};
use rmcp::{ClientHandler, serve_client};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::channel::{Channel, Pipe};
use super::exchange::{CLOSED, Exchange, Request, timed_out, within};
use super::failure::Failure;
use super::http::HttpSession;
use super::launch::Duplex;
use super::listing::{Listing, McpTool};
use super::result::{self, ResultOptions};
use super::wire::{Handshake, Unasked, Wire, WirePorts};
use crate::instance::truthy;
use crate::tool::{ToolError, ToolOutput};

/// What a connection needs to know.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The server's name, for texts and details.
    pub server: String,
    /// The session's working directory, the only root that the server is told.
    pub cwd: PathBuf,
    /// Pi's version, as `clientInfo` gives it.
    pub pi_version: String,
    /// Time that one request may take, `initialize` included; [`Duration::MAX`] for no limit.
    pub timeout: Duration,
    /// Where the full text of results that were cut is kept.
    pub temp_dir: PathBuf,
}

/// What happens to a connection unasked.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionEvent {
    /// The server changed its tools; this is the new list.
    Tools(Vec<McpTool>),
    /// The changed list could not be fetched: `Failed to refresh tools: …`.
    RefreshFailed(String),
    /// The server logged something (`notifications/message`): its parameters.
    Log(Value),
    /// The server ended the connection.
    Closed,
}

/// A connection after its handshake. Clones are handles of the same one.
#[derive(Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    options: ClientOptions,
    handshake: Handshake,
    exchange: Exchange,
    service: Mutex<Option<RunningService<RoleClient, Identity>>>,
    tools: Mutex<Vec<McpTool>>,
    /// Whether the first list is there: a list that comes back earlier belongs to nobody yet.
    ready: OnceLock<()>,
    events: Mutex<Option<UnboundedReceiver<ConnectionEvent>>>,
}

/// What `rmcp` says of us in the handshake. Whatever the server asks is answered by the wire.
struct Identity(ClientConfig);

impl ClientHandler for Identity {
    fn get_info(&self) -> ClientConfig {
        self.0.clone()
    }
}

impl Connection {
    /// Performs the handshake over `stream` and fetches the tools. Dropping the future closes the stream.
    ///
    /// Needs a single-threaded runtime only for its order to be the same each time, not to be right.
    ///
    /// # Errors
    /// Pi's text of what went wrong (pi-host.md 4.6), without the server's standard error, which the caller has.
    pub async fn open(stream: Box<dyn Duplex>, options: ClientOptions) -> Result<Self, Failure> {
        Self::open_over(Box::new(Pipe::new(stream)), options).await
    }

    /// The same over HTTP. When it fails, or the future is dropped, the session is still to be closed.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub async fn open_http(session: &HttpSession, options: ClientOptions) -> Result<Self, Failure> {
        Self::open_over(Box::new(session.channel()), options).await
    }

    async fn open_over(channel: Box<dyn Channel>, options: ClientOptions) -> Result<Self, Failure> {
        let (unasked_sender, unasked) = unbounded_channel();
        let closed = CancellationToken::new();
        let handshake = Arc::new(OnceLock::new());
        let unsent = Arc::<Mutex<Option<Failure>>>::default();
        let ports = WirePorts {
            ended: closed.clone(),
            unasked: unasked_sender,
            handshake: handshake.clone(),
            unsent: unsent.clone(),
        };
        let wire = Wire::new(channel, &options.cwd, ports);
        let starting = serve_client(Identity(client_config(&options.pi_version)), wire);
        let service = within(options.timeout, starting)
            .await
            .ok_or_else(|| timed_out(options.timeout))?;
        let service = service.map_err(|error| match error {
            ClientInitializeError::JsonRpcError(error) => Failure::of(error),
            _ => {
                let unsent = unsent.lock().unwrap_or_else(PoisonError::into_inner).take();
                unsent.unwrap_or_else(|| CLOSED.into())
            }
        })?;
        let (events_sender, events) = unbounded_channel();
        let shared = Arc::new(Shared {
            exchange: Exchange {
                peer: service.peer().clone(),
                closed,
                timeout: options.timeout,
            },
            options,
            handshake: handshake.get().cloned().unwrap_or_default(),
            service: Mutex::new(Some(service)),
            tools: Mutex::default(),
            ready: OnceLock::new(),
            events: Mutex::new(Some(events)),
        });
        tokio::spawn(follow(Arc::downgrade(&shared), unasked, events_sender));
        if shared
            .handshake
            .capabilities
            .get("tools")
            .is_some_and(truthy)
        {
            let tools = shared.exchange.list_tools().await?;
            *shared.tools() = tools;
        }
        if shared.exchange.closed.is_cancelled() {
            return Err("connection closed during setup".into());
        }
        // Set once, here.
        let _ = shared.ready.set(());
        Ok(Self { shared })
    }

    /// The receiver of what happens unasked; `None` when it was taken before.
    #[must_use]
    pub fn take_events(&self) -> Option<UnboundedReceiver<ConnectionEvent>> {
        self.shared
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// The tools that the server listed last.
    #[must_use]
    pub fn tools(&self) -> Vec<McpTool> {
        self.shared.tools().clone()
    }

    /// Whether the server lists a tool of this name at present.
    #[must_use]
    pub fn offers(&self, tool: &str) -> bool {
        self.shared
            .tools()
            .iter()
            .any(|offered| offered.name == tool)
    }

    /// What the server says of its tools as a group, if anything.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.shared.handshake.instructions.as_deref()
    }

    /// Whether the server declares resources.
    #[must_use]
    pub fn has_resources(&self) -> bool {
        self.shared.handshake.capabilities.contains_key("resources")
    }

    /// Whether both are handles of one connection.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Sends any other request, such as `resources/list`.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub fn request(
        &self,
        method: &'static str,
        params: Option<Value>,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, Failure>> {
        let shared = self.shared.clone();
        let request = Request {
            method,
            params,
            abort: Some(abort),
        };
        Box::pin(async move { shared.exchange.request(request, None).await })
    }

    /// A whole list of the server, page after page.
    ///
    /// # Errors
    /// As [`Connection::call`], or Pi's text of what is wrong with a page.
    pub fn list(
        &self,
        listing: Listing,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Vec<Map<String, Value>>, Failure>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.exchange.list(listing, Some(abort)).await })
    }

    /// Whether the connection ended, by the server or by [`Connection::close`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.exchange.closed.is_cancelled()
    }

    /// Resolves when the connection ended.
    pub fn closed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.shared.exchange.closed.clone().cancelled_owned())
    }

    /// Calls a tool (pi-host.md 4.8). Each progress notification starts the time anew and becomes a partial result.
    ///
    /// # Errors
    /// Fails with the text that the model reads: the server's error, a timeout, an abort, or the end of the connection; over
    /// HTTP also what came instead of an answer.
    pub fn call(
        &self,
        tool: &str,
        args: Value,
        abort: CancellationToken,
        updates: UnboundedSender<Value>,
    ) -> BoxFuture<'static, Result<ToolOutput, Failure>> {
        let shared = self.shared.clone();
        let tool = tool.to_owned();
        Box::pin(async move {
            let args = if args.is_null() { json!({}) } else { args };
            let params = json!({"name": tool, "arguments": args});
            let details = json!({"server": shared.options.server, "tool": tool});
            let on_progress = |progress: Value| {
                let content = json!([{"type": "text", "text": progress_text(&progress)}]);
                // Nobody listens to a run that the host gave up: then the news is of no use.
                let _ = updates.send(json!({"content": content, "details": details}));
            };
            let request = Request {
                method: "tools/call",
                params: Some(params),
                abort: Some(abort),
            };
            let answer = shared.exchange.request(request, Some(&on_progress)).await?;
            let options = ResultOptions {
                temp_dir: shared.options.temp_dir.clone(),
                has_readable_resources: shared.handshake.capabilities.contains_key("resources"),
            };
            let converted = result::convert(&shared.options.server, &tool, answer, &options);
            converted.map_err(|ToolError(text)| text.into())
        })
    }

    /// Closes the connection: requests in flight fail, the server's input is closed. Ending the process is the caller's.
    pub async fn close(&self) {
        self.shared.exchange.closed.cancel();
        let service = self
            .shared
            .service
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(service) = service {
            // An error tells that the task of `rmcp` is gone, which is what is wanted.
            let _ = service.cancel().await;
        }
    }
}

impl Shared {
    fn tools(&self) -> MutexGuard<'_, Vec<McpTool>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches the changed list and tells of it.
    async fn refresh(&self, events: &UnboundedSender<ConnectionEvent>) {
        let event = match self.exchange.list_tools().await {
            // A list that was asked for during setup has no owner.
            Ok(_) if self.ready.get().is_none() || self.exchange.closed.is_cancelled() => return,
            Ok(tools) => {
                self.tools().clone_from(&tools);
                ConnectionEvent::Tools(tools)
            }
            Err(error) => {
                ConnectionEvent::RefreshFailed(format!("Failed to refresh tools: {}", error.text))
            }
        };
        // Without a listener the list itself is still up to date.
        let _ = events.send(event);
    }
}

/// Serves what the server says unasked, until the wire is gone. Holds the connection weakly, so that dropping it ends all.
async fn follow(
    shared: Weak<Shared>,
    mut unasked: UnboundedReceiver<Unasked>,
    events: UnboundedSender<ConnectionEvent>,
) {
    while let Some(news) = unasked.recv().await {
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match news {
            Unasked::Log(params) => {
                // Without a listener nothing is logged.
                let _ = events.send(ConnectionEvent::Log(params));
            }
            // Beside each other, as Pi asks at once for every change.
            Unasked::ListChanged => {
                let events = events.clone();
                tokio::spawn(async move { shared.refresh(&events).await });
            }
        }
    }
    if let Some(shared) = shared.upgrade() {
        let was_closed_by_us = shared
            .service
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none();
        if !was_closed_by_us {
            // Without a listener `is_closed` still tells.
            let _ = events.send(ConnectionEvent::Closed);
        }
    }
}

/// What Pi says of itself.
fn client_config(version: &str) -> ClientConfig {
    let mut capabilities = ClientCapabilities::default();
    capabilities.roots = Some(RootsCapabilities::default());
    ClientConfig::new(capabilities, Implementation::new("pi", version))
        .with_protocol_version(ProtocolVersion::V_2025_11_25)
}

/// The text of one progress notification.
fn progress_text(progress: &Value) -> Value {
    let field = |key: &str| progress.get(key).filter(|value| !value.is_null());
    if let Some(message) = field("message") {
        return message.clone();
    }
    let total = progress
        .get("total")
        .map(|total| format!("/{total}"))
        .unwrap_or_default();
    format!(
        "Progress {}{total}",
        field("progress").unwrap_or(&Value::Null)
    )
    .into()
}

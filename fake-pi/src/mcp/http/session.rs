//! One MCP session over HTTP: each frame is a POST of its own, and its answer, or why there is none, comes back alone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::body::{kind, shortened, text};
use super::channel::HttpChannel;
use super::port::{HttpBody, HttpPort, HttpResponse};
use crate::extension::lock;
use crate::mcp::channel::{Arrived, Frame};
use crate::mcp::failure::{Cause, Failure};
use crate::mcp::frame;

/// The longest message, in bytes.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of an error's body that are read.
const ERROR_BYTES: usize = 8 * 1024;
/// How long the end of a session may take to tell.
const END_WITHIN: Duration = Duration::from_secs(1);
/// What Node's `fetch` says when no response comes.
const UNREACHED: &str = "fetch failed";

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const AUTHENTICATE: HeaderName = HeaderName::from_static("www-authenticate");

/// A session with one server, from before its `initialize`. Clones are handles of the same one.
#[derive(Clone)]
pub struct HttpSession {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    port: Arc<dyn HttpPort>,
    url: String,
    headers: HeaderMap,
    pub(super) agreed: Mutex<Agreed>,
    /// Fires when the session is closed: nothing of it goes on.
    pub(super) life: CancellationToken,
    arrived: UnboundedSender<Arrived>,
    incoming: Mutex<Option<UnboundedReceiver<Arrived>>>,
    streams: AtomicBool,
}

/// What the server and Pi agreed on, which later requests carry.
#[derive(Default)]
pub(super) struct Agreed {
    session: Option<HeaderValue>,
    pub(super) protocol: Option<HeaderValue>,
}

impl HttpSession {
    /// A session that nobody has asked anything yet. `headers` go with each request.
    ///
    /// # Errors
    /// A header that cannot be one, in Node's words. It is a `TypeError` there, as a server that cannot be reached is, so Pi
    /// tries such a server again too.
    pub fn new(
        port: Arc<dyn HttpPort>,
        url: &str,
        headers: &[(String, String)],
    ) -> Result<Self, Failure> {
        let refused = |what: &str, kind: &str| Failure {
            text: format!("Headers.append: \"{what}\" is an invalid header {kind}."),
            cause: Cause::Network,
        };
        let mut given = HeaderMap::new();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value.trim()).map_err(|_| refused(value, "value"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused(name, "name"));
            let (name, value) = (name?, value?);
            given.insert(name, value);
        }
        let (arrived, incoming) = unbounded_channel();
        Ok(Self {
            shared: Arc::new(Shared {
                port,
                url: url.to_owned(),
                headers: given,
                agreed: Mutex::default(),
                life: CancellationToken::new(),
                arrived,
                incoming: Mutex::new(Some(incoming)),
                streams: AtomicBool::new(false),
            }),
        })
    }

    /// The way to the server; a session has one.
    pub(in crate::mcp) fn channel(&self) -> HttpChannel {
        let incoming = lock(&self.shared.incoming).take();
        let incoming = incoming.unwrap_or_else(|| unbounded_channel().1);
        HttpChannel::new(self.clone(), incoming)
    }

    /// Ends the session: whatever is under way is dropped, and a server that gave the session a name is told, within a
    /// second. Once.
    pub async fn close(&self) {
        let shared = &self.shared;
        if shared.life.is_cancelled() {
            return;
        }
        shared.life.cancel();
        if lock(&shared.agreed).session.is_none() {
            return;
        }
        // What Node sends when nothing is asked for.
        let request = shared.request(Method::DELETE, &[(ACCEPT, "*/*")], Vec::new());
        // Whether it heard of that changes nothing here.
        let _ = timeout(END_WITHIN, shared.port.fetch(request)).await;
    }
}

impl HttpSession {
    /// Drops whatever is under way, without a word to the server.
    pub fn abandon(&self) {
        self.shared.life.cancel();
    }
}

impl Shared {
    fn request(
        &self,
        method: Method,
        extra: &[(HeaderName, &str)],
        body: Vec<u8>,
    ) -> http::Request<Vec<u8>> {
        let mut request = http::Request::new(body);
        *request.method_mut() = method;
        // Checked when the server was configured; what is no address after all reaches nobody.
        *request.uri_mut() = self.url.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        for (name, value) in extra {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        let agreed = lock(&self.agreed);
        let named = [(SESSION, &agreed.session), (PROTOCOL, &agreed.protocol)];
        for (name, value) in named {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        request
    }

    /// Performs a request; whatever is no success is a failure.
    pub(super) async fn fetch(
        &self,
        method: Method,
        extra: &[(HeaderName, &str)],
        body: Vec<u8>,
    ) -> Result<HttpResponse, Failure> {
        let fetched = self.port.fetch(self.request(method, extra, body)).await;
        let response = fetched.map_err(|_| Failure {
            text: UNREACHED.into(),
            cause: Cause::Network,
        })?;
        if response.status().is_success() {
            if let Some(session) = response.headers().get(SESSION) {
                lock(&self.agreed).session = Some(session.clone());
            }
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// What the server's own stream, or one that broke off, is opened with; none for a server that has none.
    pub(super) async fn open_stream(
        &self,
        after: Option<&str>,
    ) -> Result<Option<HttpBody>, Failure> {
        let mut extra = vec![(ACCEPT, "text/event-stream")];
        extra.extend(after.map(|id| (LAST_EVENT, id)));
        let opened = self.fetch(Method::GET, &extra, Vec::new()).await;
        let response = match opened {
            Err(failure) if failure.cause == Cause::Status(405) => return Ok(None),
            opened => opened?,
        };
        let kind = kind(&response);
        if kind.as_deref() == Some("text/event-stream") {
            return Ok(Some(response.into_body()));
        }
        Err(Failure {
            text: format!(
                "Unsupported MCP GET response content type: {}",
                kind.as_deref().unwrap_or("missing")
            ),
            cause: Cause::Status(response.status().as_u16()),
        })
    }

    /// The failure that a response without success is.
    async fn refused(&self, response: HttpResponse) -> Failure {
        let status = response.status().as_u16();
        let wants_more = response
            .headers()
            .get(AUTHENTICATE)
            .and_then(|challenge| challenge.to_str().ok())
            .is_some_and(|challenge| {
                challenge.contains("error=\"insufficient_scope\"")
                    || challenge.contains("error=insufficient_scope")
            });
        let has_session = lock(&self.agreed).session.is_some();
        let failure = |text: &str, cause| Failure {
            text: text.into(),
            cause,
        };
        match status {
            401 => return failure("MCP server requires authentication", Cause::Unauthorized),
            404 if has_session => return failure("MCP session expired", Cause::SessionExpired),
            _ => {}
        }
        let body = text(response.into_body(), ERROR_BYTES).await;
        let shown = shortened(body.unwrap_or_default().0.trim());
        let shown = if shown.is_empty() {
            String::new()
        } else {
            format!(": {shown}")
        };
        let cause = if status == 403 && wants_more {
            Cause::Unauthorized
        } else {
            Cause::Status(status)
        };
        failure(
            &format!("MCP HTTP request failed with status {status}{shown}"),
            cause,
        )
    }

    /// Posts a frame and takes what comes of it.
    pub(super) async fn post(self: &Arc<Self>, frame: Frame) -> Result<(), Failure> {
        let mut body = frame.bytes;
        // The line's end belongs to pipes.
        body.pop();
        let extra = [
            (ACCEPT, "application/json, text/event-stream"),
            (CONTENT_TYPE, "application/json"),
        ];
        let response = self.fetch(Method::POST, &extra, body).await?;
        let Some(id) = frame.request else {
            // What comes with the receipt of a notification is of no interest.
            drop(response);
            if frame.method.as_deref() == Some("notifications/initialized")
                && !self.streams.swap(true, Ordering::Relaxed)
            {
                self.spawn(super::streams::keep_open(self.clone()));
            }
            return Ok(());
        };
        let status = response.status().as_u16();
        let refused = |text: String| Failure {
            text,
            cause: Cause::Status(status),
        };
        if matches!(status, 202 | 204) {
            let method = frame.method.unwrap_or_default();
            let text = format!("MCP server accepted request {method} without a response");
            return Err(refused(text));
        }
        match kind(&response).as_deref() {
            Some("application/json") => self.take_json(response.into_body()).await,
            Some("text/event-stream") => {
                let body = response.into_body();
                self.spawn(super::streams::await_answer(self.clone(), body, id));
                Ok(())
            }
            other => Err(refused(format!(
                "Unsupported MCP response content type: {}",
                other.unwrap_or("missing")
            ))),
        }
    }

    async fn take_json(&self, body: HttpBody) -> Result<(), Failure> {
        let (text, is_cut) = text(body, MOST_BYTES).await?;
        if is_cut {
            return Err(format!("MCP JSON response exceeds {MOST_BYTES} bytes").into());
        }
        // The texts of JavaScript's own parser are not modelled.
        let body: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("no JSON: {error}")))?;
        let messages = match body {
            serde_json::Value::Array(messages) => messages,
            message => vec![message],
        };
        for message in messages {
            self.arrive(message.to_string().into_bytes())?;
        }
        Ok(())
    }

    /// Hands a message over.
    pub(super) fn arrive(&self, message: Vec<u8>) -> Result<(), Failure> {
        if frame::parse(&message).is_none() {
            return Err("Invalid JSON-RPC message".into());
        }
        // Nobody takes anything any more when the connection was dropped.
        let _ = self.arrived.send(Arrived::Messages(vec![message]));
        Ok(())
    }

    /// Fails a request.
    pub(super) fn fail(&self, id: i64, failure: Failure) {
        // As above.
        let _ = self.arrived.send(Arrived::Failed { id, failure });
    }

    /// Runs something until the session is closed.
    pub(super) fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        let life = self.life.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = life.cancelled() => {}
                () = work => {}
            }
        });
    }
}

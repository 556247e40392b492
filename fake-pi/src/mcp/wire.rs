//! The way to a server as a transport of `rmcp` that speaks with Pi's voice (pi-host.md 4.1, 4.4).
//!
//! `rmcp` keeps the requests in flight, runs the handshake and closes the connection. Pi's frames differ from those that
//! it writes: ids count from 1, a tool call's progress token is its id, absent parameters stay absent. Pi also takes
//! results that `rmcp` would refuse or trim, and serves the server's own requests and notifications in the order in which
//! they came, where `rmcp` starts a task for each. So this transport writes the frames itself, answers the server itself,
//! and hands results over unread.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::future::BoxFuture;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeResult, JsonRpcMessage, NumberOrString, ServerCapabilities,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::channel::{Arrived, Channel, Frame};
use super::failure::Failure;
use super::frame::{self, Incoming};

/// Protocol versions that Pi accepts from a server; the first is the one it asks for.
pub(super) const PROTOCOL_VERSIONS: [&str; 4] =
    ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Pi's first id; `rmcp` starts at zero.
const FIRST_ID: i64 = 1;

/// Where the progress of one request goes. It travels with the request to the wire, so that no notification is missed.
#[derive(Debug, Clone)]
pub(super) struct ProgressSink(pub(super) UnboundedSender<Value>);

/// What the server says unasked.
#[derive(Debug)]
pub(super) enum Unasked {
    /// `notifications/tools/list_changed`, after the handshake.
    ListChanged,
    /// `notifications/message`.
    Log(Value),
}

/// What the server told of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    /// Its capabilities.
    pub(super) capabilities: Map<String, Value>,
    /// Its instructions, if they are not blank.
    pub(super) instructions: Option<String>,
}

/// The stream can be written no more.
#[derive(Debug, thiserror::Error)]
#[error("MCP connection closed")]
pub(super) struct WireClosed;

/// What the wire shares with the connection.
#[derive(Clone)]
pub(super) struct WirePorts {
    /// Fires when the stream ended.
    pub(super) ended: CancellationToken,
    /// Takes what the server says unasked.
    pub(super) unasked: UnboundedSender<Unasked>,
    /// Filled by a good answer to `initialize`.
    pub(super) handshake: Arc<OnceLock<Handshake>>,
    /// Why a message of the handshake did not reach the server.
    pub(super) unsent: Arc<Mutex<Option<Failure>>>,
}

/// The transport.
pub(super) struct Wire {
    channel: Box<dyn Channel>,
    /// Messages that came together and are still to be served.
    waiting: VecDeque<Vec<u8>>,
    /// Answers to requests that we serve: they leave when all that came together is served, while a refusal leaves at
    /// once (seen on 1.6.0).
    answers: Vec<Frame>,
    ports: WirePorts,
    roots: Value,
    initialized: bool,
    /// Requests without an answer yet, by Pi's id, with the sink of their progress.
    pending: BTreeMap<i64, Option<ProgressSink>>,
}

impl Wire {
    /// Takes the way to the server over. The session's folder becomes the only root that the server is told.
    pub(super) fn new(channel: Box<dyn Channel>, cwd: &Path, ports: WirePorts) -> Self {
        let name = cwd
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Self {
            channel,
            waiting: VecDeque::new(),
            answers: Vec::new(),
            ports,
            roots: json!({"roots": [{"uri": file_url(cwd), "name": name}]}),
            initialized: false,
            pending: BTreeMap::new(),
        }
    }

    /// The frame of a message that `rmcp` sends, or nothing for one that Pi would not send.
    fn outgoing(&mut self, message: ClientJsonRpcMessage) -> Option<Frame> {
        match message {
            JsonRpcMessage::Request(request) => {
                let id = pi_id(&request.id)?;
                let (method, params, sink) = match request.request {
                    ClientRequest::InitializeRequest(initialize) => (
                        "initialize".to_owned(),
                        serde_json::to_value(initialize.params).ok(),
                        None,
                    ),
                    ClientRequest::CustomRequest(mut custom) => {
                        let sink = custom.extensions.remove::<ProgressSink>();
                        if sink.is_some() {
                            let params = custom.params.get_or_insert_with(|| json!({}));
                            params["_meta"] = json!({"progressToken": id});
                        }
                        (custom.method, custom.params, sink)
                    }
                    _ => return None,
                };
                self.pending.insert(id, sink);
                Some(Frame {
                    bytes: frame::request(id, &method, params),
                    request: Some(id),
                    method: Some(method),
                })
            }
            JsonRpcMessage::Notification(notification) => match notification.notification {
                ClientNotification::InitializedNotification(_) => {
                    self.initialized = true;
                    Some(told("notifications/initialized", None))
                }
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = pi_id(&cancelled.params.request_id?)?;
                    self.pending.remove(&id);
                    let params = json!({"requestId": id, "reason": cancelled.params.reason});
                    Some(told("notifications/cancelled", Some(params)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Serves one message of the server; returns what is for `rmcp`.
    fn incoming(&mut self, message: &[u8]) -> Option<ServerJsonRpcMessage> {
        match frame::parse(message)? {
            Incoming::Answer { id, outcome } => {
                let id = id?;
                self.pending.remove(&id)?;
                let outcome = if id == FIRST_ID {
                    outcome
                        .and_then(|result| self.accept_handshake(&result).map_err(|text| (0, text)))
                } else {
                    outcome.map(|result| ServerResult::CustomResult(CustomResult(result)))
                };
                let id = NumberOrString::Number(id - FIRST_ID);
                Some(match outcome {
                    Ok(result) => ServerJsonRpcMessage::response(result, id),
                    Err((code, message)) => ServerJsonRpcMessage::error(
                        ErrorData::new(ErrorCode(code), message, None),
                        Some(id),
                    ),
                })
            }
            Incoming::Request { id, method } => {
                let served = match method.as_str() {
                    "ping" => Some(json!({})),
                    "roots/list" => Some(self.roots.clone()),
                    _ => None,
                };
                match served {
                    Some(result) => self.answers.push(answer(&id, Ok(result))),
                    None => {
                        let refusal = (-32601, format!("Method not found: {method}"));
                        // A way that closed meanwhile ends the connection by itself.
                        drop(self.channel.send(answer(&id, Err(refusal))));
                    }
                }
                None
            }
            Incoming::Notification { method, params } => {
                self.notified(&method, params);
                None
            }
        }
    }

    fn notified(&self, method: &str, params: Option<Value>) {
        // Nobody listens any more when the connection was dropped: then the news is of no use.
        match method {
            "notifications/progress" => {
                let params = params.unwrap_or_default();
                let token = params.get("progressToken").and_then(Value::as_i64);
                let sink = token
                    .and_then(|token| self.pending.get(&token))
                    .and_then(Option::as_ref);
                if let (Some(sink), true) =
                    (sink, params.get("progress").is_some_and(Value::is_number))
                {
                    let _ = sink.0.send(params);
                }
            }
            "notifications/tools/list_changed" if self.initialized => {
                let _ = self.ports.unasked.send(Unasked::ListChanged);
            }
            "notifications/message" => {
                let _ = self
                    .ports
                    .unasked
                    .send(Unasked::Log(params.unwrap_or_default()));
            }
            _ => {}
        }
    }

    /// Checks the answer to `initialize` as Pi does, keeps what it says, and makes of it what `rmcp` needs.
    fn accept_handshake(&mut self, result: &Value) -> Result<ServerResult, String> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let server = result.get("serverInfo").filter(|server| server.is_object());
        let name = server.and_then(|server| text(server.get("name")));
        let version = server.and_then(|server| text(server.get("version")));
        let capabilities = result.get("capabilities").and_then(Value::as_object);
        let has_good_instructions = result.get("instructions").is_none_or(Value::is_string);
        let (Some(protocol), Some(capabilities), Some(name), Some(version), true) = (
            text(result.get("protocolVersion")),
            capabilities,
            name,
            version,
            has_good_instructions,
        ) else {
            return Err("Invalid MCP initialize result".into());
        };
        if !PROTOCOL_VERSIONS.contains(&protocol.as_str()) {
            return Err(format!(
                "MCP server selected unsupported protocol version {protocol}"
            ));
        }
        let instructions = text(result.get("instructions")).map(|text| text.trim().to_owned());
        let handshake = Handshake {
            capabilities: capabilities.clone(),
            instructions: instructions.filter(|text| !text.is_empty()),
        };
        self.channel.agreed(&protocol);
        // Only the first answer to `initialize` is pending, so the cell is empty.
        let _ = self.ports.handshake.set(handshake);
        let result = InitializeResult::new(ServerCapabilities::default())
            .with_server_info(Implementation::new(name, version));
        Ok(ServerResult::InitializeResult(result))
    }
}

impl Transport<RoleClient> for Wire {
    type Error = WireClosed;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireClosed>> + Send + 'static {
        // Handed over at once, not in the future: `rmcp` awaits these futures in any order.
        let sent: Option<BoxFuture<'static, _>> =
            self.outgoing(item).map(|frame| self.channel.send(frame));
        let unsent = self.ports.unsent.clone();
        async move {
            let Some(sent) = sent else { return Ok(()) };
            sent.await.map_err(|failure| {
                *unsent.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                WireClosed
            })
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            while let Some(message) = self.waiting.pop_front() {
                if let Some(message) = self.incoming(&message) {
                    return Some(message);
                }
            }
            for answer in self.answers.drain(..) {
                // As above.
                drop(self.channel.send(answer));
            }
            match self.channel.receive().await {
                Some(Arrived::Messages(messages)) => self.waiting.extend(messages),
                Some(Arrived::Failed { id, failure }) => {
                    if self.pending.remove(&id).is_some() {
                        let data = failure.as_data();
                        let error = ErrorData::new(ErrorCode(0), failure.text, data);
                        let id = NumberOrString::Number(id - FIRST_ID);
                        return Some(ServerJsonRpcMessage::error(error, Some(id)));
                    }
                }
                None => {
                    self.ports.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), WireClosed> {
        self.channel.close().await;
        Ok(())
    }
}

fn told(method: &str, params: Option<Value>) -> Frame {
    Frame {
        bytes: frame::notification(method, params),
        request: None,
        method: Some(method.to_owned()),
    }
}

fn answer(id: &Value, outcome: Result<Value, (i64, String)>) -> Frame {
    Frame {
        bytes: frame::answer(id, outcome),
        request: None,
        method: None,
    }
}

/// The id that Pi would have given.
fn pi_id(id: &NumberOrString) -> Option<i64> {
    match id {
        NumberOrString::Number(number) => Some(number + FIRST_ID),
        NumberOrString::String(_) => None,
    }
}

/// The path as a `file:` address, encoded as Node does it.
fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"/-._!$&'()*+,;=:@".contains(&byte);
        if is_plain {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_an_address() {
        assert_eq!(
            file_url(Path::new("/a b/ü#?%.x")),
            "file:///a%20b/%C3%BC%23%3F%25.x"
        );
    }
}

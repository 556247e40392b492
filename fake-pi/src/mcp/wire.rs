//! A server's stream as a transport of `rmcp` that speaks with Pi's voice (pi-host.md 4.1, 4.4).
//!
//! `rmcp` keeps the requests in flight, runs the handshake and closes the connection. Pi's frames differ from those that
//! it writes: ids count from 1, a tool call's progress token is its id, absent parameters stay absent. Pi also takes
//! results that `rmcp` would refuse or trim, and serves the server's own requests and notifications in the order in which
//! they came, where `rmcp` starts a task for each. So this transport writes the frames itself, answers the server itself,
//! and hands results over unread.

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, InitializeResult, JsonRpcMessage, NumberOrString, ServerCapabilities,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::frame::{self, Incoming, Lines};
use super::launch::Duplex;

/// Protocol versions that Pi accepts from a server; the first is the one it asks for.
pub(super) const PROTOCOL_VERSIONS: [&str; 4] =
    ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Pi's first id; `rmcp` starts at zero.
const FIRST_ID: i64 = 1;

/// Bytes taken from the stream at once.
const CHUNK: usize = 8 * 1024;

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
}

/// The transport.
pub(super) struct Wire {
    reader: ReadHalf<Box<dyn Duplex>>,
    lines: Lines,
    out: Option<UnboundedSender<Vec<u8>>>,
    ports: WirePorts,
    roots: Value,
    initialized: bool,
    /// Requests without an answer yet, by Pi's id, with the sink of their progress.
    pending: BTreeMap<i64, Option<ProgressSink>>,
}

impl Wire {
    /// Takes the stream over. The session's folder becomes the only root that the server is told.
    pub(super) fn new(stream: Box<dyn Duplex>, cwd: &Path, ports: WirePorts) -> Self {
        let (reader, half) = tokio::io::split(stream);
        let (out, lines) = unbounded_channel();
        tokio::spawn(write_lines(half, lines));
        let name = cwd
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Self {
            reader,
            lines: Lines::default(),
            out: Some(out),
            ports,
            roots: json!({"roots": [{"uri": file_url(cwd), "name": name}]}),
            initialized: false,
            pending: BTreeMap::new(),
        }
    }

    fn write(&self, line: Vec<u8>) -> Result<(), WireClosed> {
        self.out
            .as_ref()
            .ok_or(WireClosed)?
            .send(line)
            .map_err(|_| WireClosed)
    }

    /// The frame of a message that `rmcp` sends, or nothing for one that Pi would not send.
    fn outgoing(&mut self, message: ClientJsonRpcMessage) -> Option<Vec<u8>> {
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
                Some(frame::request(id, &method, params))
            }
            JsonRpcMessage::Notification(notification) => match notification.notification {
                ClientNotification::InitializedNotification(_) => {
                    self.initialized = true;
                    Some(frame::notification("notifications/initialized", None))
                }
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = pi_id(&cancelled.params.request_id?)?;
                    self.pending.remove(&id);
                    let params = json!({"requestId": id, "reason": cancelled.params.reason});
                    Some(frame::notification("notifications/cancelled", Some(params)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Serves one line of the server; returns what is for `rmcp`.
    fn incoming(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        match frame::parse(line)? {
            Incoming::Answer { id, outcome } => {
                let id = id?;
                self.pending.remove(&id)?;
                let outcome = if id == FIRST_ID {
                    outcome.and_then(|result| self.accept_handshake(&result))
                } else {
                    outcome.map(|result| ServerResult::CustomResult(CustomResult(result)))
                };
                let id = NumberOrString::Number(id - FIRST_ID);
                Some(match outcome {
                    Ok(result) => ServerJsonRpcMessage::response(result, id),
                    // Pi shows the message only, so the code is not kept.
                    Err(message) => ServerJsonRpcMessage::error(
                        ErrorData::new(ErrorCode(0), message, None),
                        Some(id),
                    ),
                })
            }
            Incoming::Request { id, method } => {
                let outcome = match method.as_str() {
                    "ping" => Ok(json!({})),
                    "roots/list" => Ok(self.roots.clone()),
                    _ => Err((-32601, format!("Method not found: {method}"))),
                };
                // A stream that closed meanwhile ends the connection by itself.
                let _ = self.write(frame::answer(&id, outcome));
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
    fn accept_handshake(&self, result: &Value) -> Result<ServerResult, String> {
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
        // Queued at once, not in the future: `rmcp` awaits these futures in any order.
        let frame = self.outgoing(item);
        ready(frame.map_or(Ok(()), |frame| self.write(frame)))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            while let Some(line) = self.lines.next() {
                if let Some(message) = self.incoming(&line) {
                    return Some(message);
                }
            }
            let mut chunk = [0; CHUNK];
            match self.reader.read(&mut chunk).await {
                Ok(read @ 1..) => self.lines.push(&chunk[..read]),
                Ok(0) | Err(_) => {
                    self.ports.ended.cancel();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), WireClosed> {
        // The writer closes the server's input once the queue is empty. A server that reads nothing must not hold us.
        self.out = None;
        Ok(())
    }
}

/// Writes queued lines in order, then closes the server's input.
async fn write_lines(mut half: WriteHalf<Box<dyn Duplex>>, mut lines: UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if half.write_all(&line).await.is_err() || half.flush().await.is_err() {
            break;
        }
    }
    // A stream that cannot be closed is gone already.
    let _ = half.shutdown().await;
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

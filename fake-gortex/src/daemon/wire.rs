//! The byte stream of one launch: lines in, frames out, every one in the journal as it stands on the wire.
//!
//! rmcp has a transport over streams of its own. This one differs in three things: the journal sees a message before
//! rmcp's types drop what they do not know, frames leave in the order in which they were handed over, and a frame may
//! be anything but an answer.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};

use super::log::Log;
use super::requests::Requests;
use crate::journal::bounded;

/// The longest line that is read, in bytes; a longer one is dropped and only its length is journalled.
const LINE: usize = 16 << 20;
/// How much of a text in an answer, or of a line that is no JSON, the journal keeps, in bytes.
const KEPT: usize = 4096;

/// Something to be written, and how the journal tells it.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    note: Value,
    written: oneshot::Sender<()>,
}

/// The way out, shared by the protocol and by whatever goes past it.
#[derive(Clone)]
pub(super) struct Wire {
    queue: mpsc::UnboundedSender<Outgoing>,
    /// Requests whose answer the script has taken in hand: what the protocol would answer is dropped.
    taken: Arc<Mutex<BTreeSet<String>>>,
}

impl Wire {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        // Unbounded, because a frame's place in the order is fixed by a plain call. What waits is bounded by what the
        // script makes the daemon say.
        let (queue, outgoing) = mpsc::unbounded_channel();
        let taken = Arc::default();
        (Self { queue, taken }, outgoing)
    }

    /// Hands bytes over to be written as they are; their place in the order is fixed now. The future tells whether
    /// they left.
    pub(super) fn send(
        &self,
        bytes: Vec<u8>,
        note: Value,
    ) -> impl Future<Output = bool> + Send + 'static {
        let (written, done) = oneshot::channel();
        let outgoing = Outgoing {
            bytes,
            note,
            written,
        };
        let queued = self.queue.send(outgoing).is_ok();
        async move { queued && done.await.is_ok() }
    }

    /// Sends a notification without params.
    pub(super) fn announce(&self, method: &str) {
        let frame = frame(&json!({ "jsonrpc": "2.0", "method": method }));
        drop(self.send(frame, json!({ "method": method })));
    }

    /// Sends messages as they are, but for the version of JSON-RPC. The future tells when they have left.
    pub(super) fn say(
        &self,
        messages: &[Map<String, Value>],
    ) -> impl Future<Output = ()> + Send + 'static {
        let sent: Vec<_> = messages
            .iter()
            .map(|message| {
                let mut whole = json!({ "jsonrpc": "2.0" });
                for (key, value) in message {
                    whole[key] = value.clone();
                }
                self.send(frame(&whole), note(&whole))
            })
            .collect();
        async move {
            for one in sent {
                one.await;
            }
        }
    }

    /// Takes the answer to a request out of the protocol's hands.
    pub(super) fn take(&self, id: &RequestId) {
        self.lock().insert(id.to_string());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One message as a line.
pub(super) fn frame(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// What the journal tells of a message that is sent.
pub(super) fn note(message: &Value) -> Value {
    let mut note = Map::new();
    for key in ["id", "method", "params", "error"] {
        if let Some(value) = message.get(key) {
            note.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(result) = message.get("result") {
        let keys: Vec<&String> = result.as_object().into_iter().flat_map(Map::keys).collect();
        note.insert("resultKeys".to_owned(), json!(keys));
        let blocks = result.get("content").and_then(Value::as_array);
        let texts: Vec<&str> = blocks
            .into_iter()
            .flatten()
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .collect();
        if !texts.is_empty() {
            let text = bounded(&texts.join("\n"), KEPT);
            note.insert("text".to_owned(), Value::String(text));
        }
        if result.get("isError") == Some(&Value::Bool(true)) {
            note.insert("isError".to_owned(), Value::Bool(true));
        }
    }
    Value::Object(note)
}

/// What rmcp sees of the wire.
pub(super) struct Transport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    wire: Wire,
}

impl Transport {
    pub(super) fn new(incoming: mpsc::Receiver<ClientJsonRpcMessage>, wire: Wire) -> Self {
        Self { incoming, wire }
    }
}

impl rmcp::transport::Transport<RoleServer> for Transport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let id = match &item {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => None,
        };
        let mine = id.is_some_and(|id| self.wire.lock().remove(&id.to_string()));
        let sent = if mine {
            Ok(None)
        } else {
            serde_json::to_value(&item)
                .map(|message| Some(self.wire.send(frame(&message), note(&message))))
        };
        async move {
            let left = match sent? {
                None => true,
                Some(sent) => sent.await,
            };
            if left {
                Ok(())
            } else {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}

/// Writes what is handed over, all that waits in one write, until the stream breaks.
pub(super) async fn write<W: AsyncWrite>(
    writing: W,
    log: &Log,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
) {
    tokio::pin!(writing);
    while let Some(first) = outgoing.recv().await {
        let mut bytes = Vec::new();
        let mut waiting = Vec::new();
        let mut next = Some(first);
        while let Some(outgoing_one) = next {
            // Told before it is written, so that no reader of the stream is ahead of the journal.
            log.record("send", outgoing_one.note);
            bytes.extend_from_slice(&outgoing_one.bytes);
            waiting.push(outgoing_one.written);
            next = outgoing.try_recv().ok();
        }
        if writing.write_all(&bytes).await.is_err() || writing.flush().await.is_err() {
            return;
        }
        for written in waiting {
            // Nobody has to wait for it.
            let _ = written.send(());
        }
    }
}

/// Reads lines until the stream ends; each goes to the journal and, when it is a message, to the script's rules and on to
/// the protocol (unless `forward` is none: then nobody else answers).
pub(super) async fn read<R: AsyncRead>(
    reading: R,
    log: &Log,
    requests: &Requests,
    forward: Option<mpsc::Sender<ClientJsonRpcMessage>>,
) {
    let reading = BufReader::new(reading);
    tokio::pin!(reading);
    let mut line = Vec::new();
    let mut length = 0_usize;
    loop {
        let (used, ends) = match reading.fill_buf().await {
            Ok([]) | Err(_) => return,
            Ok(available) => {
                let newline = available.iter().position(|&byte| byte == b'\n');
                let part = &available[..newline.unwrap_or(available.len())];
                length = length.saturating_add(part.len());
                if length <= LINE {
                    line.extend_from_slice(part);
                }
                (newline.map_or(part.len(), |at| at + 1), newline.is_some())
            }
        };
        reading.as_mut().consume(used);
        if !ends {
            continue;
        }
        if length > LINE {
            log.record("recv", json!({ "dropped_bytes": length }));
        } else {
            take_line(&line, log, requests, forward.as_ref()).await;
        }
        line.clear();
        length = 0;
    }
}

async fn take_line(
    line: &[u8],
    log: &Log,
    requests: &Requests,
    forward: Option<&mpsc::Sender<ClientJsonRpcMessage>>,
) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(mut message)) => {
            message.shift_remove("jsonrpc");
            log.record("recv", Value::Object(message.clone()));
            requests.look_at(&message);
        }
        _ => {
            let text = String::from_utf8_lossy(line);
            log.record("recv", json!({ "raw": bounded(&text, KEPT) }));
        }
    }
    // A line that is no message is ignored, as by any MCP server: there is no id to answer to.
    if let (Some(forward), Ok(message)) = (forward, serde_json::from_slice(line)) {
        // A protocol that is over reads nothing more.
        let _ = forward.send(message).await;
    }
}

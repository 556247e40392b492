//! The server's side of a pipe, driven line by line.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

use super::super::client::{ClientOptions, Connection};

/// A server that says what the test tells it to.
pub(super) struct Peer {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Peer {
    /// Both ends of a pipe.
    pub(super) fn new() -> (Self, DuplexStream) {
        let (ours, theirs) = duplex(64 * 1024);
        let (reader, writer) = split(ours);
        (
            Self {
                reader: BufReader::new(reader),
                writer,
            },
            theirs,
        )
    }

    /// The next line as it is; empty at the end.
    pub(super) async fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    /// The next line as JSON.
    pub(super) async fn message(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// Sends a line as it is.
    pub(super) async fn raw(&mut self, line: &str) {
        self.writer
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Answers a request.
    pub(super) async fn answer(&mut self, id: i64, result: Value) {
        self.raw(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string())
            .await;
    }

    /// Sends a notification.
    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        self.raw(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string())
            .await;
    }

    /// Plays the handshake and lists tools of these names.
    pub(super) async fn welcome(&mut self, tools: &[&str]) {
        assert_eq!(self.message().await["method"], "initialize");
        self.answer(1, initialized(json!({"tools": {}}))).await;
        assert_eq!(self.message().await["method"], "notifications/initialized");
        let request = self.message().await;
        assert_eq!(request["method"], "tools/list");
        self.answer(2, listed(tools)).await;
    }
}

/// A good answer to `initialize`.
pub(super) fn initialized(capabilities: Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "serverInfo": {"name": "scripted", "version": "1"},
    })
}

/// A tool list.
pub(super) fn listed(tools: &[&str]) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
        .collect();
    json!({ "tools": tools })
}

/// Options with this limit for a request.
pub(super) fn options(timeout: Duration) -> ClientOptions {
    ClientOptions {
        server: "s".into(),
        cwd: PathBuf::from("/work/a b"),
        pi_version: "1.6.0".into(),
        timeout,
        temp_dir: PathBuf::from("/nonexistent"),
    }
}

/// A connection to a server with these tools and a second for each request.
pub(super) async fn connected(tools: &[&str]) -> (Peer, Connection) {
    let (mut peer, stream) = Peer::new();
    let opening = Connection::open(Box::new(stream), options(Duration::from_secs(1)));
    let (opened, ()) = tokio::join!(opening, peer.welcome(tools));
    (peer, opened.unwrap())
}

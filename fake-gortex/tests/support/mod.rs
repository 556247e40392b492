//! A client that speaks lines of JSON and nothing else, so that a test sees exactly what is on the wire.

use std::path::Path;
use std::sync::Arc;

use fake_gortex::{Daemon, DaemonScript, JournalEntry, Launch, MemoryJournal};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// One launched daemon and the client's end of its stream.
pub struct Client {
    reading: BufReader<ReadHalf<DuplexStream>>,
    writing: WriteHalf<DuplexStream>,
    next_id: u64,
    started: Instant,
    process: JoinHandle<i32>,
    journal: Arc<MemoryJournal>,
}

/// A script from the TOML of a case's `[daemon]` table.
pub fn script(toml: &str) -> DaemonScript {
    toml::from_str(toml).expect("script")
}

impl Client {
    /// Launches a daemon that is not greeted yet.
    pub fn launch(toml: &str, root: &Path) -> Self {
        let journal = Arc::new(MemoryJournal::default());
        let daemon = Daemon::new(script(toml), root.to_owned(), journal.clone());
        Self::of(&daemon, Launch::default(), journal)
    }

    pub fn of(daemon: &Daemon, launch: Launch, journal: Arc<MemoryJournal>) -> Self {
        // Small, so that a large frame takes many reads.
        let (ours, theirs) = tokio::io::duplex(4096);
        let daemon = daemon.clone();
        let process = tokio::spawn(async move { daemon.serve(theirs, launch).await });
        let (reading, writing) = tokio::io::split(ours);
        Self {
            reading: BufReader::new(reading),
            writing,
            next_id: 0,
            started: Instant::now(),
            process,
            journal,
        }
    }

    /// Launches a daemon and shakes hands as Pi does.
    pub async fn greeted(toml: &str, root: &Path) -> Self {
        let mut client = Self::launch(toml, root);
        client.greet().await;
        client
    }

    pub async fn greet(&mut self) -> Value {
        self.request("initialize", Some(initialize())).await;
        let answer = self.line().await.expect("answer to initialize");
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        answer
    }

    /// Milliseconds since the launch.
    pub fn now(&self) -> u128 {
        self.started.elapsed().as_millis()
    }

    pub async fn write(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    pub async fn raw(&mut self, bytes: &[u8]) {
        self.writing.write_all(bytes).await.expect("write");
    }

    pub async fn request(&mut self, method: &str, params: Option<Value>) -> u64 {
        self.next_id += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method });
        if let Some(params) = params {
            message["params"] = params;
        }
        self.write(&message).await;
        self.next_id
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.next_id + 1;
        let params =
            json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        self.request("tools/call", Some(params)).await
    }

    /// The next line as text; none at the end of the stream. A last line without a newline counts.
    pub async fn text(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = self
            .reading
            .read_until(b'\n', &mut line)
            .await
            .expect("read");
        (read > 0).then(|| String::from_utf8(line).expect("UTF-8"))
    }

    /// The next line as JSON; none at the end of the stream.
    pub async fn line(&mut self) -> Option<Value> {
        let text = self.text().await?;
        Some(serde_json::from_str(&text).expect("JSON"))
    }

    /// The names that `tools/list` gives now; notifications on the way are skipped.
    pub async fn names(&mut self) -> Vec<String> {
        let id = self.request("tools/list", None).await;
        loop {
            let line = self.line().await.expect("answer to tools/list");
            if line["id"] == id {
                let tools = line["result"]["tools"].as_array().expect("tools").clone();
                return tools
                    .iter()
                    .map(|tool| tool["name"].as_str().expect("name").to_owned())
                    .collect();
            }
        }
    }

    /// Closes the client's end and gives the exit code.
    pub async fn close(mut self) -> (i32, Vec<JournalEntry>) {
        self.writing.shutdown().await.expect("shutdown");
        let code = self.process.await.expect("process");
        (code, self.journal.entries())
    }

    /// Waits for the daemon's own end.
    pub async fn ended(self) -> (i32, Vec<JournalEntry>) {
        let code = self.process.await.expect("process");
        (code, self.journal.entries())
    }

    /// Kills the process as a host does: nothing of it runs afterwards.
    pub async fn kill(self) -> Vec<JournalEntry> {
        self.process.abort();
        assert!(self.process.await.expect_err("aborted").is_cancelled());
        self.journal.entries()
    }
}

/// What Pi 1.6.0 says first (pi-host.md 4.1).
pub fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": {} },
        "clientInfo": { "name": "pi", "version": "1.6.0" },
    })
}

/// The text of an answer's only content block.
pub fn said(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .expect("text")
}

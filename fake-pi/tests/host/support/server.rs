//! Scripted MCP servers in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fake_pi::mcp::launch::{
    Launch, ProcessControl, ServerLauncher, ServerProcess, Signal, StderrTail,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// How a server behaves.
#[derive(Clone, Default)]
pub struct Behaviour {
    /// The names of its tools.
    pub tools: Vec<&'static str>,
    /// How long it takes to answer `initialize`.
    pub start: Duration,
    /// How long it takes to list its tools.
    pub listing: Duration,
    /// How long a call takes, by tool.
    pub calls: BTreeMap<&'static str, Duration>,
    /// Calls that fail with this JSON-RPC message.
    pub fails: BTreeMap<&'static str, &'static str>,
    /// A call to this tool first replaces the list of tools.
    pub changes: Option<(&'static str, Vec<&'static str>)>,
    /// A call to this tool ends it.
    pub crashes: Option<&'static str>,
    /// Whether it ends before it answers anything, with this on stderr.
    pub dies: Option<&'static str>,
}

/// Starts servers by the name of their command.
#[derive(Default)]
pub struct Servers {
    known: Mutex<BTreeMap<String, Behaviour>>,
    journal: Arc<Mutex<Vec<String>>>,
}

impl Servers {
    pub fn add(&self, command: &str, behaviour: Behaviour) {
        self.known
            .lock()
            .unwrap()
            .insert(command.to_owned(), behaviour);
    }

    /// What the servers saw, in order: `<command> <method>`, `<command> eof`.
    pub fn journal(&self) -> Vec<String> {
        self.journal.lock().unwrap().clone()
    }
}

struct Control {
    ended: CancellationToken,
    killed: CancellationToken,
}

impl ProcessControl for Control {
    fn signal(&self, _: Signal) {
        self.killed.cancel();
    }

    fn closed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.ended.clone().cancelled_owned())
    }
}

impl ServerLauncher for Servers {
    fn launch(&self, launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>> {
        let found = self.known.lock().unwrap().get(&launch.command).cloned();
        let journal = self.journal.clone();
        Box::pin(async move {
            let behaviour = found.ok_or_else(|| format!("spawn {} ENOENT", launch.command))?;
            let (ours, theirs) = duplex(1 << 16);
            let control = Arc::new(Control {
                ended: CancellationToken::new(),
                killed: CancellationToken::new(),
            });
            let stderr = StderrTail::default();
            if let Some(text) = behaviour.dies {
                stderr.push(text.as_bytes());
            }
            let (ended, killed) = (control.ended.clone(), control.killed.clone());
            journal
                .lock()
                .unwrap()
                .push(format!("{} start", launch.command));
            tokio::spawn(async move {
                tokio::select! {
                    () = serve(launch.command.clone(), behaviour, theirs, journal) => {}
                    () = killed.cancelled() => {}
                }
                ended.cancel();
            });
            Ok(ServerProcess {
                stream: Box::new(ours),
                stderr,
                control,
            })
        })
    }
}

async fn serve(
    name: String,
    behaviour: Behaviour,
    stream: DuplexStream,
    journal: Arc<Mutex<Vec<String>>>,
) {
    let note = |what: &str| journal.lock().unwrap().push(format!("{name} {what}"));
    if behaviour.dies.is_some() {
        return;
    }
    let (input, output) = tokio::io::split(stream);
    let output = Arc::new(tokio::sync::Mutex::new(output));
    let mut tools = behaviour.tools.clone();
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        note(&method);
        let id = message["id"].clone();
        let tool = message["params"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let (delay, answer) = match method.as_str() {
            "initialize" => (
                behaviour.start,
                Ok(
                    json!({"protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": name, "version": "1"}}),
                ),
            ),
            "tools/list" => {
                let tools = tools.iter().map(|tool| {
                    json!({"name": tool, "description": tool, "inputSchema": {"type": "object",
                        "properties": {"x": {"type": "string"}}}})
                });
                (
                    behaviour.listing,
                    Ok(json!({"tools": tools.collect::<Vec<_>>()})),
                )
            }
            "tools/call" => {
                if behaviour.crashes == Some(tool.as_str()) {
                    return;
                }
                if let Some((_, changed)) = behaviour.changes.clone().filter(|(by, _)| *by == tool)
                {
                    tools = changed;
                    let news =
                        json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
                    let line = format!("{news}\n");
                    output
                        .lock()
                        .await
                        .write_all(line.as_bytes())
                        .await
                        .unwrap();
                }
                let delay = behaviour
                    .calls
                    .get(tool.as_str())
                    .copied()
                    .unwrap_or_default();
                let answer = match behaviour.fails.get(tool.as_str()) {
                    Some(text) => Err(json!({"code": -32000, "message": text})),
                    None => {
                        let text = format!("{tool} ok {}", message["params"]["arguments"]);
                        Ok(json!({"content": [{"type": "text", "text": text}]}))
                    }
                };
                (delay, answer)
            }
            _ => continue,
        };
        let output = output.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            let answer = match answer {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            };
            // The host may have hung up meanwhile.
            let _ = output
                .lock()
                .await
                .write_all(format!("{answer}\n").as_bytes())
                .await;
        });
    }
    note("eof");
}

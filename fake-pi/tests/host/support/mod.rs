//! What the tests of the host share: a scripted model, extensions from closures, servers in memory, a person.

pub mod fixtures;
pub mod server;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use fake_pi::{
    Ctx, Event, Exit, Extension, Handler, Host, HostOptions, Model, ModelReply, Pi, Thrown,
    ToolCall,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use server::Servers;

/// Plays a scene in a runtime of its own.
pub fn play(scene: impl Future<Output = ()>) {
    fake_pi::runtime(7).unwrap().block_on(scene);
}

/// Answers from a list, then `done` for ever; keeps the requests.
#[derive(Default)]
pub struct Script {
    replies: Mutex<VecDeque<ModelReply>>,
    requests: Mutex<Vec<Value>>,
}

impl Script {
    pub fn new(replies: Vec<ModelReply>) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(replies.into()),
            requests: Mutex::default(),
        })
    }

    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// The roles of each request's messages.
    pub fn roles(&self) -> Vec<Vec<String>> {
        self.requests()
            .iter()
            .map(|request| words(&request["messages"], "role"))
            .collect()
    }

    /// The tools that each request declares.
    pub fn tools(&self) -> Vec<Vec<String>> {
        let names = |request: &Value| {
            let tools = request["tools"].as_array().into_iter().flatten();
            tools
                .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
                .collect()
        };
        self.requests().iter().map(names).collect()
    }
}

impl Model for Script {
    fn complete(&self, request: Value) -> BoxFuture<'static, ModelReply> {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async move { reply.unwrap_or_else(|| ModelReply::text("done")) })
    }
}

/// One member of each object of a list, as words.
pub fn words(list: &Value, member: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items
        .map(|item| item[member].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// What extensions noted, in order.
pub type Log = Arc<Mutex<Vec<String>>>;

pub fn note(log: &Log, line: impl Into<String>) {
    log.lock().unwrap().push(line.into());
}

pub fn noted(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

type Factory = dyn Fn(Pi) -> BoxFuture<'static, Result<(), Thrown>> + Send + Sync;

/// An extension from a closure.
pub struct Scripted {
    path: String,
    factory: Box<Factory>,
}

impl Extension for Scripted {
    fn path(&self) -> String {
        self.path.clone()
    }

    fn activate(&self, pi: Pi) -> BoxFuture<'static, Result<(), Thrown>> {
        (self.factory)(pi)
    }
}

/// An extension whose factory runs synchronously.
pub fn extension(
    path: &str,
    factory: impl Fn(&Pi) -> Result<(), Thrown> + Send + Sync + 'static,
) -> Arc<dyn Extension> {
    Arc::new(Scripted {
        path: path.to_owned(),
        factory: Box::new(move |pi| {
            let outcome = factory(&pi);
            Box::pin(async move { outcome })
        }),
    })
}

/// A handler without an asynchronous part.
pub fn sync(
    handle: impl Fn(&Event, &Ctx) -> Result<Value, Thrown> + Send + Sync + 'static,
) -> Handler {
    Arc::new(move |event, ctx| {
        let outcome = handle(&event, &ctx);
        Box::pin(async move { outcome })
    })
}

/// A handler that waits, in milliseconds, before it returns.
pub fn slow(ms: u64, result: Value) -> Handler {
    Arc::new(move |_, _| {
        let result = result.clone();
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            Ok(result)
        })
    })
}

/// An extension that notes the names of these events as they come, before anything else of it runs.
pub fn recorder(
    log: &Log,
    name: &'static str,
    events: &'static [&'static str],
) -> Arc<dyn Extension> {
    let log = log.clone();
    extension(name, move |pi| {
        for event in events {
            let log = log.clone();
            pi.on(
                event,
                sync(move |event, _| {
                    note(&log, format!("{name} {}{}", event.kind(), detail(event)));
                    Ok(Value::Null)
                }),
            )?;
        }
        Ok(())
    })
}

fn detail(event: &Event) -> String {
    for member in ["toolCallId", "reason", "turnIndex", "outcome", "aborted"] {
        if let Some(value) = event.get(member) {
            return format!(
                " {}",
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            );
        }
    }
    let role = event
        .get("message")
        .and_then(|message| message["role"].as_str().map(str::to_owned));
    role.map(|role| format!(" {role}")).unwrap_or_default()
}

/// A call of the model.
pub fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

/// A host with a person in front of it.
pub struct Stage {
    pub host: Host,
    pub model: Arc<Script>,
    pub servers: Arc<Servers>,
    pub seen: Vec<Value>,
    sent: usize,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub fn new(extensions: Vec<Arc<dyn Extension>>, replies: Vec<ModelReply>) -> Self {
        Self::with(extensions, replies, |_| {})
    }

    /// A host whose options are changed before it starts.
    pub fn with(
        extensions: Vec<Arc<dyn Extension>>,
        replies: Vec<ModelReply>,
        change: impl FnOnce(&mut HostOptions),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = Script::new(replies);
        let servers = Arc::new(Servers::default());
        let mut options =
            HostOptions::new(PathBuf::from(folder.path()), model.clone(), servers.clone());
        options.extensions = extensions;
        change(&mut options);
        let host = Host::start(options);
        Self {
            host,
            model,
            servers,
            seen: Vec::new(),
            sent: 0,
            _folder: folder,
        }
    }

    /// Sends a command and gives its id.
    pub fn send(&mut self, mut command: Value) -> String {
        self.sent += 1;
        let id = format!("q{}", self.sent);
        command["id"] = id.clone().into();
        self.host.send(command);
        id
    }

    /// Reads records up to one that fits, and gives it.
    pub async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let record = self.host.records.recv().await.expect("the host ended");
            self.seen.push(record.clone());
            if fits(&record) {
                return record;
            }
        }
    }

    /// Sends a command and waits for its response.
    pub async fn ask(&mut self, command: Value) -> Value {
        let id = self.send(command);
        self.until(|record| record["id"] == id.as_str()).await
    }

    /// Sends a prompt and waits until its run settled.
    pub async fn prompt(&mut self, text: &str) -> Value {
        let response = self.ask(json!({"type": "prompt", "message": text})).await;
        self.until(|record| record["type"] == "agent_settled").await;
        response
    }

    /// The records seen so far of one type.
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.seen
            .iter()
            .filter(|record| record["type"] == kind)
            .cloned()
            .collect()
    }

    /// What the model read as the last request's tool results.
    pub fn tool_texts(&self) -> Vec<String> {
        let last = self.model.requests().pop().unwrap();
        let messages = last["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Ends the host, which has to leave nothing behind.
    pub async fn end(mut self) -> Exit {
        let exit = self.host.close().await;
        assert_eq!(
            (exit.hung, &exit.leftover_servers),
            (false, &Vec::new()),
            "{exit:?}"
        );
        assert_eq!(exit.leftover_tasks, Vec::<String>::new());
        exit
    }
}

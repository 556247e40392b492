//! One session with a server over HTTP: a process of the scripted server behind an in-process pipe, whose messages are
//! sorted by the request that they belong to.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use fake_gortex::{Daemon, Launch};
use futures::stream::{self, Stream};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bytes that wait in the pipe.
const PIPE: usize = 64 * 1024;

/// The messages that belong to one request, its answer last.
pub(super) struct Answer(UnboundedReceiver<Value>);

impl Stream for Answer {
    type Item = Value;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Value>> {
        self.0.poll_recv(context)
    }
}

/// A request whose answer is awaited.
struct Asked {
    id: Value,
    /// Whether messages that the server says unasked may go with its answer.
    takes_all: bool,
    to: UnboundedSender<Value>,
}

#[derive(Default)]
struct Sorted {
    asked: Vec<Asked>,
    own: Option<UnboundedSender<Value>>,
    /// What the server said unasked while nobody listened.
    unheard: Vec<Value>,
    /// Answers whose stream broke off, by the id after which it did.
    broken: BTreeMap<String, Answer>,
}

/// A running session.
pub(super) struct Session {
    pub(super) name: String,
    input: tokio::sync::Mutex<Option<WriteHalf<DuplexStream>>>,
    sorted: Arc<Mutex<Sorted>>,
    tasks: TaskTracker,
}

impl Session {
    /// Starts a process of the server.
    pub(super) fn begin(name: String, daemon: &Daemon, life: CancellationToken) -> Arc<Self> {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (reading, input) = tokio::io::split(ours);
        let sorted = Arc::<Mutex<Sorted>>::default();
        let tasks = TaskTracker::new();
        let (daemon, ends) = (daemon.clone(), life.clone());
        tasks.spawn(async move {
            tokio::select! {
                biased;
                () = ends.cancelled() => {}
                _ = daemon.serve(theirs, Launch::default()) => {}
            }
        });
        let sorting = sorted.clone();
        tasks.spawn(async move {
            tokio::select! {
                biased;
                () = life.cancelled() => {}
                () = sort(reading, &sorting) => {}
            }
        });
        Arc::new(Self {
            name,
            input: tokio::sync::Mutex::new(Some(input)),
            sorted,
            tasks,
        })
    }

    fn sorted(&self) -> MutexGuard<'_, Sorted> {
        lock(&self.sorted)
    }

    /// Hands a message to the server.
    pub(super) async fn tell(&self, message: &Value) {
        let mut input = self.input.lock().await;
        if let Some(input) = input.as_mut() {
            // A server that ended reads nothing; its end is in the journal.
            let _ = input.write_all(format!("{message}\n").as_bytes()).await;
        }
    }

    /// Hands a request to the server; gives what belongs to its answer.
    pub(super) async fn ask(&self, message: &Value, takes_all: bool) -> Answer {
        let (to, answer) = unbounded_channel();
        self.sorted().asked.push(Asked {
            id: message["id"].clone(),
            takes_all,
            to,
        });
        self.tell(message).await;
        Answer(answer)
    }

    /// Keeps an answer for who takes its stream up again after this id.
    pub(super) fn keep(&self, id: &str, answer: Answer) {
        self.sorted().broken.insert(id.to_owned(), answer);
    }

    /// The answer whose stream broke off after this id.
    pub(super) fn resume(&self, id: &str) -> Option<Answer> {
        self.sorted().broken.remove(id)
    }

    /// What the server says unasked from now on, and what it said while nobody listened.
    pub(super) fn own_stream(&self) -> impl Stream<Item = Value> + Send + 'static {
        let mut sorted = self.sorted();
        let (to, messages) = unbounded_channel();
        sorted.own = Some(to);
        let unheard = std::mem::take(&mut sorted.unheard);
        futures::StreamExt::chain(stream::iter(unheard), Answer(messages))
    }

    /// Closes the server's input and waits until it has ended.
    pub(super) async fn end(&self) {
        if let Some(mut input) = self.input.lock().await.take() {
            // As above.
            let _ = input.shutdown().await;
        }
        self.sorted().own = None;
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Sorts what the server says until it ends.
async fn sort(reading: ReadHalf<DuplexStream>, sorted: &Mutex<Sorted>) {
    let mut lines = BufReader::new(reading).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let mut sorted = lock(sorted);
        let is_answer = message.get("method").is_none();
        if is_answer {
            let of = |asked: &Asked| asked.id == message["id"];
            if let Some(at) = sorted.asked.iter().position(of) {
                let asked = sorted.asked.remove(at);
                // A request that was given up takes no answer.
                let _ = asked.to.send(message);
            }
            continue;
        }
        let with = sorted.asked.iter().find(|asked| asked.takes_all);
        let left = match with.map(|asked| &asked.to).or(sorted.own.as_ref()) {
            Some(to) => to.send(message).err().map(|unsent| unsent.0),
            None => Some(message),
        };
        sorted.unheard.extend(left);
    }
    // Who still waits gets nothing.
    lock(sorted).asked.clear();
}

fn lock(sorted: &Mutex<Sorted>) -> MutexGuard<'_, Sorted> {
    sorted.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The ports through which an instance reaches the world. A host hands them to the constructor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{BoxFuture, poll_immediate};
use serde_json::Value;
use tokio::task::yield_now;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::edits::WriteTable;
use crate::facts::ToolFact;

/// How loud a notification is, in Pi's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `warning`. What the adapter has to say to a person is always that something is not as it should be.
    Warning,
}

impl Level {
    /// The word that Pi's `ctx.ui.notify` takes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
        }
    }
}

/// What Pi knows and can be told. After `session_shutdown` an instance calls none of it (R10).
pub trait Host: Send + Sync {
    /// Every tool that is known now, or `None` once the session was replaced.
    fn tools(&self) -> BoxFuture<'static, Option<Vec<ToolFact>>>;

    /// The `content` of each custom message of this `customType` on the session's branch, oldest first, or `None`
    /// once the session was replaced (B3).
    fn custom_messages(&self, custom_type: &'static str) -> BoxFuture<'static, Option<Vec<Value>>>;

    /// Shows a person a line. Never fails, never blocks; may do nothing.
    fn notify(&self, message: &str, level: Level);
}

/// How a hook child is started: everything but the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    /// The Gortex executable, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder to run it in, absolute.
    pub cwd: PathBuf,
    /// Its environment, and nothing besides: the variables as the host captured them.
    pub vars: Arc<BTreeMap<String, String>>,
}

/// One question to the hook.
#[derive(Clone, Debug)]
pub struct HookAsk {
    /// Whom to ask.
    pub command: Arc<HookCommand>,
    /// What it reads on stdin: one JSON object.
    pub envelope: Vec<u8>,
    /// By when the answer has to be there.
    pub deadline: Instant,
    /// Ends the question at once.
    pub abort: CancellationToken,
}

/// How a question to the hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookEnd {
    /// The process exited with this code.
    Exited(i32),
    /// A signal ended the process.
    Signalled(i32),
    /// The deadline passed first.
    TimedOut,
    /// The abort token fired first.
    Aborted,
    /// No process came to be, or it was lost; the text says why.
    SpawnFailed(String),
    /// It wrote more than [`HookReport::MAX_BYTES`].
    TooLarge,
}

/// The raw outcome of a question. What the bytes mean is the core's business (`hook::Decision`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookReport {
    /// Everything read from stdout.
    pub stdout: Vec<u8>,
    /// How the process ended.
    pub end: HookEnd,
}

impl HookReport {
    /// The most that a hook may write, in bytes (H5).
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;
}

/// Asks the hook. Dropping a future or a child that waits ends whatever was started.
///
/// A future may be polled first on the thread of the host that asks, so that poll must not block.
pub trait HookPort: Send + Sync {
    /// Starts a child and puts one question to it; settles by its deadline and on abort.
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport>;

    /// Starts a child that waits for its question (H8). `None` where none can be started; the question then finds out
    /// why.
    fn prepare(&self, command: &Arc<HookCommand>)
    -> BoxFuture<'static, Option<Box<dyn ReadyHook>>>;
}

/// A hook child that waits for its question. It may be dropped on any thread, in or outside of a runtime.
pub trait ReadyHook: Send {
    /// Puts the question; settles by its deadline and on abort.
    ///
    /// # Errors
    ///
    /// The question itself, at once, where the child cannot have read a byte of it: it has ended, has closed its stdin,
    /// or has printed something before it was asked. It is ended then, and its output is lost. A child that ends after
    /// it could read the question is a report like any other (H5).
    fn ask(self: Box<Self>, ask: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>>;
}

/// Takes diagnostics and traces, one line at a time, already bounded and free of control characters (F3).
pub trait Log: Send + Sync {
    /// Records a line. Never fails, never blocks for long.
    fn line(&self, line: &str);
}

/// Runs work that blocks (file reads, line diffs) where it does not hold up the host.
///
/// A port, because no one way serves both hosts: on the real one the work belongs on a thread of its own, while on a
/// paused clock a runtime that waits for another thread counts as idle and lets virtual time jump to the next timer.
pub trait Work: Send + Sync {
    /// Runs `job`; the future settles when it has run, or was lost.
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;
}

/// Runs a blocking job where the host wants it; `None` where it was lost.
pub(crate) async fn offload<T: Send + 'static>(
    work: &dyn Work,
    job: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let slot = Arc::new(Mutex::new(None));
    let answer = Arc::clone(&slot);
    let job = move || {
        let done = job();
        *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    };
    work.run(Box::new(job)).await;
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Takes the first step of a work on the thread of the caller, the host's own perhaps. Where that was not all, this goes on
/// on a thread of the runtime, where the rest is to be waited for: timers that are set from the host's thread cost more.
pub(crate) async fn first_step<T>(work: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    let done = poll_immediate(work).await;
    if done.is_none() {
        yield_now().await;
    }
    done
}

/// [`Work`] on the thread of the caller: for virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineWork;

impl Work for InlineWork {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        job();
        Box::pin(std::future::ready(()))
    }
}

/// [`Work`] on tokio's blocking threads: for the real host. Needs a runtime whenever it is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadWork;

impl Work for ThreadWork {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        // A job that panics or is lost leaves no answer behind, which its caller takes for "nothing to say" (F1).
        Box::pin(async move { tokio::task::spawn_blocking(job).await.unwrap_or_default() })
    }
}

/// Everything that an instance reaches the world through.
#[derive(Clone)]
pub struct Ports {
    /// Pi.
    pub host: Arc<dyn Host>,
    /// The hook.
    pub hook: Arc<dyn HookPort>,
    /// The files being written, one table for all instances of a process (E3).
    pub writes: Arc<WriteTable>,
    /// The log.
    pub log: Arc<dyn Log>,
    /// Where blocking work runs.
    pub work: Arc<dyn Work>,
}

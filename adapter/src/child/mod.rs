//! The hook as a child process (H3-H5, H8, O02).

mod exchange;
mod leader;
mod process;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, poll_immediate};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use exchange::Exchange;
use process::Process;

/// How many children one hook starts for questions at a time, and so how many threads a file can hold that lies far away.
const STARTS: usize = 2;

/// How long a child that was started for a question keeps its turn. A quick one has answered by then.
const TURN: Duration = Duration::from_millis(5);

/// Whose turn it is to start a child for a question. One that starts takes a processor for itself; with more of them at
/// once a burst of questions would be answered little sooner, and the host's own thread would wait behind them for its
/// processor. So the hooks of a process share one.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

/// Asks the hook by a process for each question. Its futures need a tokio runtime with I/O enabled.
///
/// The child leads a process group of its own, which is killed as a whole on time-out, on abort and when the future is
/// dropped. What a child that answered has left running is let be: it is the hook's own affair (O02).
#[derive(Clone, Debug)]
pub struct ChildHook {
    starts: Arc<Semaphore>,
    turns: Turns,
}

impl ChildHook {
    /// A hook that takes turns with others.
    #[must_use]
    pub fn new(turns: Turns) -> Self {
        Self {
            starts: Arc::new(Semaphore::new(STARTS)),
            turns,
        }
    }
}

impl Default for ChildHook {
    fn default() -> Self {
        Self::new(Turns::default())
    }
}

impl HookPort for ChildHook {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        let (starts, Turns(turns)) = (Arc::clone(&self.starts), self.turns.clone());
        Box::pin(async move {
            if Instant::now() >= ask.deadline {
                return nothing(HookEnd::TimedOut);
            }
            let places = async { (starts.acquire_owned().await, turns.acquire_owned().await) };
            let (start, turn) = match within(ask.deadline, &ask.abort, places).await {
                Ok(places) => places,
                Err(end) => return nothing(end),
            };
            let mut report = std::pin::pin!(start_and_put(ask, start.ok()));
            if let Some(report) = poll_immediate(&mut report).await {
                return report;
            }
            // Timers are set on a thread of the runtime: from the host's own they cost more.
            yield_now().await;
            if let Ok(report) = timeout(TURN, &mut report).await {
                return report;
            }
            drop(turn);
            report.await
        })
    }

    fn prepare(&self, command: &HookCommand) -> Option<Box<dyn ReadyHook>> {
        let process = Process::spawn(command).ok()?;
        Some(Box::new(Waiting(process)))
    }
}

/// Starts a child and asks it. The place is given back once it runs, or failed to, also where nobody waits for it any more.
async fn start_and_put(ask: HookAsk, place: Option<OwnedSemaphorePermit>) -> HookReport {
    let HookAsk {
        command,
        envelope,
        deadline,
        abort,
    } = ask;
    // Starting a process blocks, for long where its file lies far away: not this thread, and not past the deadline.
    let start = spawn_blocking(move || {
        let _place = place;
        let mut process = Process::spawn(&command)?;
        let written = match process.put(&envelope) {
            // It has closed its stdin already, which is nothing wrong.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => envelope.len(),
            written => written?,
        };
        Ok((process, envelope, written))
    });
    yield_now().await;
    let started = match within(deadline, &abort, start).await {
        Ok(started) => started.unwrap_or_else(|lost| Err(io::Error::other(lost))),
        Err(end) => return nothing(end),
    };
    match started {
        Ok((process, envelope, written)) => {
            let exchange = Exchange {
                process,
                envelope,
                written,
                deadline,
                abort,
            };
            exchange.report().await
        }
        Err(error) => nothing(HookEnd::SpawnFailed(error.kind().to_string())),
    }
}

/// A child that waits for its question.
struct Waiting(Process);

impl ReadyHook for Waiting {
    fn ask(self: Box<Self>, ask: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>> {
        Box::pin(async move {
            if ask.abort.is_cancelled() {
                return Ok(nothing(HookEnd::Aborted));
            }
            let Self(mut process) = *self;
            if !process.is_waiting() {
                return Err(ask);
            }
            // Once its pipe took a byte, the child could read it and so counts as asked. A pipe whose reader is gone takes
            // none, so only a child that is just being taken apart by the system, before its pipes are closed, dies
            // unasked and counts all the same: as one that ended without a word, which lets the call run (H5).
            match process.put(&ask.envelope) {
                Ok(written) if written > 0 => {
                    let exchange = Exchange {
                        process,
                        envelope: ask.envelope,
                        written,
                        deadline: ask.deadline,
                        abort: ask.abort,
                    };
                    // The question is out; what waits for its answer is set up on a thread of the runtime.
                    yield_now().await;
                    Ok(exchange.report().await)
                }
                _ => Err(ask),
            }
        })
    }
}

/// Work until it is done, or how it ended before.
async fn within<T>(
    deadline: Instant,
    abort: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, HookEnd> {
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(HookEnd::Aborted),
        done = timeout_at(deadline, work) => done.map_err(|_| HookEnd::TimedOut),
    }
}

fn nothing(end: HookEnd) -> HookReport {
    HookReport {
        stdout: Vec::new(),
        end,
    }
}

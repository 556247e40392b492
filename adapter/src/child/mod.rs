//! The hook as a child process (H3-H5, H8, O02).

mod exchange;
mod leader;
mod process;
mod turn;

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use rustix::process::Pid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ports::first_step;
use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use exchange::Exchange;
use process::Process;
use turn::OwnTurns;
pub use turn::Turns;

/// How many children one hook starts for questions at a time, and so how many threads a file can hold that lies far away.
const STARTS: usize = 2;

/// How long the start of a child that is to wait waits for one before it. A start takes no longer, unless it hangs.
const PATIENCE: Duration = Duration::from_millis(25);

/// Asks the hook by a process for each question. Its futures need a tokio runtime with I/O enabled.
///
/// The child leads a process group of its own, which is killed as a whole on time-out, on abort and when the future is
/// dropped. What a child that answered has left running is let be: it is the hook's own affair (O02).
#[derive(Clone, Debug)]
pub struct ChildHook {
    starts: Arc<Semaphore>,
    /// The start of a child that is to wait. Its own, since one that hangs outlives its run.
    to_wait: Arc<Semaphore>,
    turns: OwnTurns,
}

impl ChildHook {
    /// A hook that takes turns with others.
    #[must_use]
    pub fn new(turns: Turns) -> Self {
        Self {
            starts: Arc::new(Semaphore::new(STARTS)),
            to_wait: Arc::new(Semaphore::new(1)),
            turns: turns.of_one_session(),
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
        let (starts, turns) = (Arc::clone(&self.starts), self.turns.clone());
        Box::pin(async move {
            if ask.abort.is_cancelled() {
                return nothing(HookEnd::Aborted);
            }
            if Instant::now() >= ask.deadline {
                return nothing(HookEnd::TimedOut);
            }
            let (deadline, abort) = (ask.deadline, ask.abort.clone());
            let mut places =
                std::pin::pin!(async { (starts.acquire_owned().await, turns.take().await) });
            let places = match first_step(&mut places).await {
                Some(places) => Ok(places),
                None => within(deadline, &abort, places).await,
            };
            let (place, turn) = match places {
                Ok(places) => places,
                Err(end) => return nothing(end),
            };
            let start = start_and_put(ask, place.ok(), turn.child());
            // It starts; what waits for it is set up on a thread of the runtime.
            yield_now().await;
            let _turn = turn.lend();
            let started = match within(deadline, &abort, start).await {
                Ok(started) => started.unwrap_or_else(|lost| Err(io::Error::other(lost))),
                Err(end) => return nothing(end),
            };
            match started {
                Ok(exchange) => exchange.report().await,
                Err(error) => nothing(HookEnd::SpawnFailed(error.kind().to_string())),
            }
        })
    }

    fn prepare(
        &self,
        command: &Arc<HookCommand>,
    ) -> BoxFuture<'static, Option<Box<dyn ReadyHook>>> {
        let (starts, to_wait) = (Arc::clone(&self.starts), Arc::clone(&self.to_wait));
        let (command, turns) = (Arc::clone(command), self.turns.clone());
        Box::pin(async move {
            // The questions that this session has in line go first.
            drop(starts.acquire().await);
            // One that hangs may be of another file, so that no question waits for it for long.
            let start = timeout(PATIENCE, to_wait.acquire_owned()).await.ok()?;
            let turn = turns.take_to_wait().await;
            let child = turn.child();
            let turn = turn.lend();
            let process = spawn_blocking(move || {
                let _start = start;
                start_process(&command, &child)
            });
            let process = process.await.ok()?.ok()?;
            Some(Box::new(Waiting { process, turn }) as Box<dyn ReadyHook>)
        })
    }
}

/// Starts a child, and says which it is.
fn start_process(command: &HookCommand, child: &OnceLock<Pid>) -> io::Result<Process> {
    let process = Process::spawn(command)?;
    // Nobody else names it.
    let _ = process.leader.id().map(|id| child.set(id));
    Ok(process)
}

/// Starts a child and puts the question to it, on a thread of its own: that blocks, for long where its file lies far away.
/// The place is given back once it runs, or failed to, also where nobody waits for it any more.
fn start_and_put(
    ask: HookAsk,
    place: Option<OwnedSemaphorePermit>,
    child: Arc<OnceLock<Pid>>,
) -> JoinHandle<io::Result<Exchange>> {
    spawn_blocking(move || {
        let _place = place;
        let mut process = start_process(&ask.command, &child)?;
        let written = match process.put(&ask.envelope) {
            // It has closed its stdin already, which is nothing wrong.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ask.envelope.len(),
            written => written?,
        };
        Ok(Exchange {
            process,
            ask,
            written,
        })
    })
}

/// A child that waits for its question, and its turn for as long as it starts.
struct Waiting {
    process: Process,
    turn: DropGuard,
}

impl ReadyHook for Waiting {
    fn ask(self: Box<Self>, ask: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>> {
        Box::pin(async move {
            if ask.abort.is_cancelled() {
                return Ok(nothing(HookEnd::Aborted));
            }
            let Self {
                mut process,
                turn: _turn,
            } = *self;
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
                        ask,
                        written,
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

#[cfg(test)]
mod tests;

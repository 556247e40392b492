//! The hook as a child process (H3-H5, H8, O02).

mod exchange;
mod leader;
mod process;

use std::io;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use exchange::Exchange;
use process::Process;

/// How many children one hook starts for questions at a time. A start takes a processor for itself; with more of them at
/// once a burst of questions would be answered no sooner, and the host's own thread would wait for its turn behind them.
const STARTS: usize = 2;

/// Asks the hook by a process for each question. Its futures need a tokio runtime with I/O enabled.
///
/// The child leads a process group of its own, which is killed as a whole on time-out, on abort and when the future is
/// dropped. What a child that answered has left running is let be: it is the hook's own affair (O02).
#[derive(Clone, Debug)]
pub struct ChildHook {
    starts: Arc<Semaphore>,
}

impl Default for ChildHook {
    fn default() -> Self {
        Self {
            starts: Arc::new(Semaphore::new(STARTS)),
        }
    }
}

impl HookPort for ChildHook {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        let starts = Arc::clone(&self.starts);
        Box::pin(async move {
            let HookAsk {
                command,
                envelope,
                deadline,
                abort,
            } = ask;
            if Instant::now() >= deadline {
                return nothing(HookEnd::TimedOut);
            }
            let place = match within(deadline, &abort, starts.acquire_owned()).await {
                Ok(place) => place,
                Err(end) => return nothing(end),
            };
            // Starting a process blocks, for long where its file lies far away: not this thread, and not past the deadline.
            let start = spawn_blocking(move || {
                let mut process = Process::spawn(&command)?;
                let written = match process.put(&envelope) {
                    // It has closed its stdin already, which is nothing wrong.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => envelope.len(),
                    written => written?,
                };
                // Until here, also where nobody waits for it any more.
                drop(place);
                Ok((process, envelope, written))
            });
            // Timers are set on a thread of the runtime: from the host's own they cost more.
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
        })
    }

    fn prepare(&self, command: &HookCommand) -> Option<Box<dyn ReadyHook>> {
        let process = Process::spawn(command).ok()?;
        Some(Box::new(Waiting(process)))
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

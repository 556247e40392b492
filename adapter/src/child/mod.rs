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
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use exchange::Exchange;
use process::Process;

/// How many children one hook starts for questions at a time, and so how many threads a file can hold that lies far away.
const STARTS: usize = 2;

/// How long a child that was started for a question keeps its turn. A quick one has answered by then.
const TURN: Duration = Duration::from_millis(5);

/// How long a child that is to wait keeps its turn, unless it was asked and has answered before. By then it waits, or is
/// one that takes its time without a processor.
const TURN_TO_WAIT: Duration = Duration::from_millis(2);

/// Whose turn it is to start a child. One that starts takes a processor for itself; with more of them at once a burst of
/// questions would be answered little sooner, and the host's own thread would wait behind them for its processor. So the
/// hooks of a process share one.
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
        let places = self.places();
        Box::pin(async move {
            if Instant::now() >= ask.deadline {
                return nothing(HookEnd::TimedOut);
            }
            let (start, turn) = match within(ask.deadline, &ask.abort, places).await {
                Ok(places) => places,
                Err(end) => return nothing(end),
            };
            let mut report = std::pin::pin!(start_and_put(ask, start));
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

    fn prepare(
        &self,
        command: &Arc<HookCommand>,
    ) -> BoxFuture<'static, Option<Box<dyn ReadyHook>>> {
        let (command, places) = (Arc::clone(command), self.places());
        Box::pin(async move {
            let (start, turn) = places.await;
            let turn = lend(turn, TURN_TO_WAIT);
            let start = spawn_blocking(move || {
                let _start = start;
                Process::spawn(&command)
            });
            let process = start.await.ok()?.ok()?;
            Some(Box::new(Waiting { process, turn }) as Box<dyn ReadyHook>)
        })
    }
}

/// A place among the starts, or the turn. It is given back when this is dropped.
type Permit = Option<OwnedSemaphorePermit>;

impl ChildHook {
    /// A place among the starts of this hook, and then the turn.
    fn places(&self) -> impl Future<Output = (Permit, Permit)> + use<> {
        let (starts, Turns(turns)) = (Arc::clone(&self.starts), self.turns.clone());
        // Neither is ever closed.
        async move {
            let start = starts.acquire_owned().await.ok();
            (start, turns.acquire_owned().await.ok())
        }
    }
}

/// Gives the turn back when the guard is dropped, and after a while by itself.
fn lend(turn: Permit, most: Duration) -> DropGuard {
    let over = CancellationToken::new();
    let guard = over.clone().drop_guard();
    tokio::spawn(async move {
        let _turn = turn;
        let _ = timeout(most, over.cancelled()).await;
    });
    guard
}

/// Starts a child and asks it. The place is given back once it runs, or failed to, also where nobody waits for it any more.
async fn start_and_put(ask: HookAsk, place: Permit) -> HookReport {
    let (deadline, abort) = (ask.deadline, ask.abort.clone());
    // Starting a process blocks, for long where its file lies far away: not this thread, and not past the deadline.
    let start = spawn_blocking(move || {
        let _place = place;
        let mut process = Process::spawn(&ask.command)?;
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
    });
    yield_now().await;
    let started = match within(deadline, &abort, start).await {
        Ok(started) => started.unwrap_or_else(|lost| Err(io::Error::other(lost))),
        Err(end) => return nothing(end),
    };
    match started {
        Ok(exchange) => exchange.report().await,
        Err(error) => nothing(HookEnd::SpawnFailed(error.kind().to_string())),
    }
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
mod tests {
    use super::*;

    fn sleeper() -> Arc<HookCommand> {
        Arc::new(HookCommand {
            program: "/bin/cat".into(),
            args: Vec::new(),
            cwd: "/".into(),
            vars: Arc::default(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn h3_h8_a_child_that_is_to_wait_is_started_in_its_turn_and_gives_it_back() {
        let turns = Turns::default();
        let turn = || Arc::clone(&turns.0).acquire_owned();
        let mine = turn().await;
        let mut start = ChildHook::new(turns.clone()).prepare(&sleeper());
        // As often as a start that did not wait for its turn would need.
        for _ in 0..10 {
            assert!(poll_immediate(&mut start).await.is_none());
            yield_now().await;
        }
        assert!(turns.0.try_acquire().is_err());
        drop(mine);
        let ready = start.await.expect("a child");

        let begun = Instant::now();
        assert!(turns.0.try_acquire().is_err());
        drop(turn().await);
        assert!(begun.elapsed() <= TURN_TO_WAIT, "{:?}", begun.elapsed());
        drop(ready);
    }

    #[tokio::test(start_paused = true)]
    async fn h3_h8_a_child_that_is_let_go_gives_its_turn_back_at_once() {
        let turns = Turns::default();
        let ready = ChildHook::new(turns.clone()).prepare(&sleeper()).await;
        let begun = Instant::now();
        drop(ready.expect("a child"));
        let _turn = turns.0.acquire().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

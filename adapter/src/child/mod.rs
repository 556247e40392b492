//! The hook as a child process (H3-H5, H8, O02).

mod exchange;
mod leader;
mod process;

use futures::future::BoxFuture;
use tokio::time::Instant;

use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use exchange::Exchange;
use process::Process;

/// Asks the hook by a process for each question. Its futures need a tokio runtime with I/O enabled.
///
/// The child leads a process group of its own, which is killed as a whole on time-out, on abort and when the future is
/// dropped. What a child that answered has left running is let be: it is the hook's own affair (O02).
#[derive(Clone, Copy, Debug, Default)]
pub struct ChildHook;

impl HookPort for ChildHook {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        Box::pin(async move {
            let deadline = Instant::now() + ask.deadline;
            if ask.abort.is_cancelled() {
                return nothing(HookEnd::Aborted);
            }
            let process = match Process::spawn(&ask.command) {
                Ok(process) => process,
                Err(error) => return nothing(HookEnd::SpawnFailed(error.kind().to_string())),
            };
            // A child that has closed its stdin already has done nothing wrong.
            let written = process.write_now(&ask.envelope);
            exchange(
                process,
                written.unwrap_or(ask.envelope.len()),
                deadline,
                ask,
            )
            .report()
            .await
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
            let deadline = Instant::now() + ask.deadline;
            if ask.abort.is_cancelled() {
                return Ok(nothing(HookEnd::Aborted));
            }
            let Self(process) = *self;
            if !process.is_waiting() {
                return Err(ask);
            }
            // Once its pipe took a byte, the child could read it and so counts as asked. A pipe whose reader is gone takes
            // none, so only a child that is just being taken apart by the system, before its pipes are closed, dies
            // unasked and counts all the same: as one that ended without a word, which lets the call run (H5).
            match process.write_now(&ask.envelope) {
                Ok(written) if written > 0 => {
                    Ok(exchange(process, written, deadline, ask).report().await)
                }
                _ => Err(ask),
            }
        })
    }
}

fn exchange(process: Process, written: usize, deadline: Instant, ask: HookAsk) -> Exchange {
    Exchange {
        process,
        envelope: ask.envelope,
        written,
        deadline,
        abort: ask.abort,
    }
}

fn nothing(end: HookEnd) -> HookReport {
    HookReport {
        stdout: Vec::new(),
        end,
    }
}

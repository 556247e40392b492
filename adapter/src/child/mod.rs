//! The hook as a child process (H3-H5, O02).

mod group;

use std::process::Stdio;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::{Instant, timeout, timeout_at};

use crate::{HookAsk, HookEnd, HookPort, HookReport};
use group::Group;

/// Asks the hook by starting a process for each question. Its futures need a tokio runtime with I/O enabled.
///
/// The child leads a process group of its own, which is killed as a whole on time-out, on abort and when the future is
/// dropped. What a child that answered has left running is let be: it is the hook's own affair (O02).
#[derive(Clone, Copy, Debug, Default)]
pub struct ChildHook;

/// How long bytes that are still in the pipe may take to arrive once the child has exited. They are there already; the
/// grace only covers a reader that has not been woken yet.
const DRAIN_GRACE: Duration = Duration::from_millis(50);

impl HookPort for ChildHook {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        Box::pin(run(ask))
    }
}

async fn run(ask: HookAsk) -> HookReport {
    let deadline = Instant::now() + ask.deadline;
    if ask.abort.is_cancelled() {
        return nothing(HookEnd::Aborted);
    }
    let spawned = Command::new(&ask.program)
        .args(&ask.args)
        .current_dir(&ask.cwd)
        .env_clear()
        .envs(
            ask.vars
                .iter()
                .filter(|(name, value)| can_be_set(name, value)),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Nothing of it is wanted, and a pipe that nobody reads would stall a child that floods it.
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return nothing(HookEnd::SpawnFailed(error.kind().to_string())),
    };
    let mut group = Group::of(child.id());
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let envelope = ask.envelope;
    let write = async move {
        if let Some(mut stdin) = stdin {
            // A child that reads nothing, or closes its stdin early, has done nothing wrong.
            let _ = stdin.write_all(&envelope).await;
        }
    };
    let mut bytes = Vec::new();
    let exchange = async {
        let mut read = std::pin::pin!(drain(stdout, &mut bytes));
        let mut write = std::pin::pin!(write);
        let (mut written, mut read_all) = (false, None);
        loop {
            tokio::select! {
                biased;
                within = &mut read, if read_all.is_none() => {
                    read_all = Some(within);
                    if !within {
                        return HookEnd::TooLarge;
                    }
                }
                status = child.wait() => {
                    if status.is_ok() {
                        // Its id is free by now, so whatever happens during the grace must kill nothing any more.
                        group.release();
                    }
                    if read_all.is_none() && timeout(DRAIN_GRACE, &mut read).await == Ok(false) {
                        return HookEnd::TooLarge;
                    }
                    return match status {
                        Ok(status) => ended(status),
                        Err(error) => HookEnd::SpawnFailed(error.kind().to_string()),
                    };
                }
                () = &mut write, if !written => written = true,
            }
        }
    };
    let end = tokio::select! {
        biased;
        () = ask.abort.cancelled() => HookEnd::Aborted,
        end = timeout_at(deadline, exchange) => end.unwrap_or(HookEnd::TimedOut),
    };
    HookReport { stdout: bytes, end }
}

/// Whether a variable can be handed to a process at all. One that cannot must not keep the child from starting.
fn can_be_set(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

/// Reads to the end; false when that is more than a hook may write. A pipe that breaks ends like one that closes.
async fn drain(stdout: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) -> bool {
    if let Some(stdout) = stdout {
        let _ = stdout
            .take(HookReport::MAX_BYTES as u64 + 1)
            .read_to_end(bytes)
            .await;
    }
    bytes.len() <= HookReport::MAX_BYTES
}

fn ended(status: std::process::ExitStatus) -> HookEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => HookEnd::Exited(code),
        (None, signal) => HookEnd::Signalled(signal.unwrap_or_default()),
    }
}

fn nothing(end: HookEnd) -> HookReport {
    HookReport {
        stdout: Vec::new(),
        end,
    }
}

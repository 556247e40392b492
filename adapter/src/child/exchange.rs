//! One question to a child that runs, and what comes of it (H4, H5, O02).

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;

use super::process::Process;
use super::within;
use crate::{HookAsk, HookEnd, HookReport};

/// How long bytes that are still in the pipe may take to arrive once the child has exited. They are there already; the
/// grace only covers a reader that has not been woken yet.
const DRAIN_GRACE: Duration = Duration::from_millis(50);

/// A question under way: what of it is still to be written, and when it ends by itself.
pub(super) struct Exchange {
    pub(super) process: Process,
    pub(super) ask: HookAsk,
    /// How much of the envelope is written already.
    pub(super) written: usize,
}

impl Exchange {
    /// Writes the rest and reads at once, so that neither side can wait for the other, until the child has ended.
    pub(super) async fn report(self) -> HookReport {
        let Process {
            mut leader,
            stdin,
            mut stdout,
        } = self.process;
        let mut bytes = Vec::new();
        let exchange = async {
            let mut read = std::pin::pin!(drain(&mut stdout, &mut bytes));
            let mut write = std::pin::pin!(write(stdin, &self.ask.envelope[self.written..]));
            let (mut written, mut read_all) = (false, None);
            loop {
                tokio::select! {
                    biased;
                    () = &mut write, if !written => written = true,
                    within = &mut read, if read_all.is_none() => {
                        read_all = Some(within);
                        if !within {
                            return HookEnd::TooLarge;
                        }
                    }
                    status = leader.ended() => {
                        if read_all.is_none() && timeout(DRAIN_GRACE, &mut read).await == Ok(false) {
                            return HookEnd::TooLarge;
                        }
                        return match status {
                            Ok(status) => end(status),
                            Err(error) => HookEnd::SpawnFailed(error.kind().to_string()),
                        };
                    }
                }
            }
        };
        let end = within(self.ask.deadline, &self.ask.abort, exchange).await;
        let end = end.unwrap_or_else(|ended| ended);
        HookReport { stdout: bytes, end }
    }
}

/// Writes the rest of an envelope and closes the pipe. A child that reads nothing, or closes its stdin early, has done
/// nothing wrong.
async fn write(stdin: Option<OwnedFd>, rest: &[u8]) {
    // The pipe has nearly always taken all of it already; then nobody needs to watch it.
    if let Some(mut stdin) = stdin.and_then(|stdin| Sender::from_owned_fd_unchecked(stdin).ok()) {
        let _ = stdin.write_all(rest).await;
    }
}

/// Reads to the end; false when that is more than a hook may write. A pipe that breaks ends like one that closes.
async fn drain(stdout: &mut Receiver, bytes: &mut Vec<u8>) -> bool {
    let _ = stdout
        .take(HookReport::MAX_BYTES as u64 + 1)
        .read_to_end(bytes)
        .await;
    bytes.len() <= HookReport::MAX_BYTES
}

fn end(status: std::process::ExitStatus) -> HookEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => HookEnd::Exited(code),
        (None, signal) => HookEnd::Signalled(signal.unwrap_or_default()),
    }
}

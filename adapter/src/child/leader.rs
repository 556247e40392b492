//! The leader of a child's process group, until it was waited for.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, ExitStatus};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;

/// A child that leads a process group of its own. Dropped before it was waited for, the whole group is killed, and the
/// child is waited for in the background.
///
/// Its end is told by a pidfd. The other way, the signal for ended children, is the host's: libuv installs a handler of
/// its own for it, and takes it away again.
pub(super) struct Leader {
    /// `None` once it was waited for: from then on its id may come to name a stranger, so nothing is signalled any more.
    watched: Option<Watched>,
    runtime: Handle,
}

struct Watched {
    child: Child,
    exit: AsyncFd<OwnedFd>,
}

impl Leader {
    /// Watches a child that has just been started. Needs a runtime with I/O.
    ///
    /// # Errors
    ///
    /// Where the system has no descriptor for it. The child has ended then.
    pub(super) fn of(mut child: Child) -> io::Result<Self> {
        match pid(&child).and_then(exit) {
            Ok(exit) => Ok(Self {
                watched: Some(Watched { child, exit }),
                runtime: Handle::current(),
            }),
            Err(error) => {
                // Of no use without a way to learn of its end. Who is killed ends soon.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The child's number; `None` once it was waited for.
    pub(super) fn id(&self) -> Option<Pid> {
        self.watched
            .as_ref()
            .and_then(|watched| pid(&watched.child).ok())
    }

    /// The descriptor that becomes readable when the child ends; `None` once it was waited for.
    pub(super) fn exit(&self) -> Option<BorrowedFd<'_>> {
        self.watched.as_ref().map(|watched| watched.exit.as_fd())
    }

    /// Waits for the child, at once where it has ended. What it has left running is let be from then on: it is the hook's
    /// own affair (O02). May be dropped midway and called again, but not once it has answered.
    ///
    /// # Errors
    ///
    /// Where the child was lost, since somebody else has waited for it.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let Some(watched) = &mut self.watched else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let ended = watched.wait().await;
        self.watched = None;
        ended
    }
}

impl Watched {
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            let mut told = self.exit.readable().await?;
            match self.child.try_wait() {
                Ok(None) => told.clear_ready(),
                Ok(Some(status)) => return Ok(status),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Answers at once where it was waited for. Else it was killed, and the runtime that was to wait for it has ended:
        // a host that lives on must not keep what is left of it.
        let _ = self.child.wait();
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let Some(mut watched) = self.watched.take() else {
            return;
        };
        if let Ok(leader) = pid(&watched.child) {
            // It may have ended by itself in the meantime.
            let _ = kill_process_group(leader, Signal::KILL);
        }
        // Or has left its group.
        let _ = watched.child.kill();
        if !matches!(watched.child.try_wait(), Ok(Some(_))) {
            self.runtime.spawn(async move { watched.wait().await });
        }
    }
}

/// The descriptor by which the end of a child is told.
fn exit(child: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let exit = pidfd_open(child, PidfdFlags::empty())?;
    #[expect(
        deprecated,
        reason = "its successor is unsafe for the sake of types that change or close their descriptor; an OwnedFd does neither"
    )]
    AsyncFd::with_interest(exit, Interest::READABLE)
}

fn pid(child: &Child) -> io::Result<Pid> {
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

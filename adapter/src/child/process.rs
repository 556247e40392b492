//! A hook child with its pipes.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use tokio::net::unix::pipe::Receiver;

use super::leader::Leader;
use crate::HookCommand;

/// A child that runs, and our ends of its pipes. Dropped, it is killed with its group.
pub(super) struct Process {
    pub(super) leader: Leader,
    /// Where it reads, until all of its question is written: its end is what it waits for. Never blocks.
    pub(super) stdin: Option<OwnedFd>,
    /// Where it prints.
    pub(super) stdout: Receiver,
}

impl Process {
    /// Starts a child. Blocks until it runs its program, some hundred microseconds; needs a runtime with I/O.
    ///
    /// # Errors
    ///
    /// Whatever the system says against it.
    pub(super) fn spawn(command: &HookCommand) -> io::Result<Self> {
        // The standard library does all of this by `posix_spawn`, folder and group included, which does not copy the
        // host's page tables. One setting more (a user, a hook before exec) would turn it to a fork.
        let mut child = Command::new(&command.program)
            .args(&command.args)
            .current_dir(&command.cwd)
            .env_clear()
            .envs(
                command
                    .vars
                    .iter()
                    .filter(|(name, value)| can_be_set(name, value)),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Nothing of it is wanted, and a pipe that nobody reads would stall a child that floods it.
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // First of all, so that no error below leaves the child behind.
        let leader = Leader::of(child)?;
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (stdin, stdout) = (OwnedFd::from(stdin), OwnedFd::from(stdout));
        ioctl_fionbio(&stdin, true)?;
        ioctl_fionbio(&stdout, true)?;
        Ok(Self {
            leader,
            stdin: Some(stdin),
            stdout: Receiver::from_owned_fd_unchecked(stdout)?,
        })
    }

    /// Puts the question: writes what its pipe takes of it without waiting, and tells how much that was. Behind the last
    /// byte the pipe is closed.
    ///
    /// # Errors
    ///
    /// Where it has closed its end, or has ended.
    pub(super) fn put(&mut self, question: &[u8]) -> io::Result<usize> {
        let stdin = self.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let written = match hand_over(&stdin, question) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        self.stdin = (written < question.len()).then_some(stdin);
        Ok(written)
    }

    /// Whether it lives, holds its stdout and has printed nothing so far.
    pub(super) fn is_waiting(&self) -> bool {
        let Some(exit) = self.leader.exit() else {
            return false;
        };
        // The system is asked, not the runtime, which learns of an event only when it looks for some.
        let mut looks = [
            PollFd::new(&self.stdout, PollFlags::IN),
            PollFd::from_borrowed_fd(exit, PollFlags::IN),
        ];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut looks, Some(&now)) == Ok(0)
    }
}

/// Moves bytes into a pipe, as many as it takes without waiting.
///
/// A plain write lets the scheduler believe that the writer is about to sleep, so that it puts the reader on the writer's
/// processor. Here that is often the host's own thread, which has more to do first, while another processor may be idle.
/// Bytes that are spliced in wake the reader wherever there is room.
fn hand_over(to: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let spliced = || {
        let (rest, all) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let count = rustix::io::write(&all, bytes)?;
        splice(&rest, None, to, None, count, SpliceFlags::NONBLOCK)
    };
    match spliced() {
        // What the child's pipe itself says.
        Err(error @ (Errno::PIPE | Errno::AGAIN | Errno::INTR)) => Err(error),
        // No descriptor is left for this, or the call is not let through: the child is to be asked all the same.
        Err(_) => rustix::io::write(to, bytes),
        Ok(count) => Ok(count),
    }
}

/// Whether a variable can be handed to a process at all. One that cannot must not keep the child from starting.
fn can_be_set(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read};

    use super::*;

    #[test]
    fn h8_a_question_is_written_where_the_system_refuses_to_splice() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("question");
        // Nothing is spliced into a file that is appended to.
        let append = File::options().create(true).append(true).open(&path);
        let to = OwnedFd::from(append.expect("a file"));
        let (rest, _all) = pipe_with(PipeFlags::NONBLOCK).expect("a pipe");
        assert_eq!(
            splice(&rest, None, &to, None, 1, SpliceFlags::NONBLOCK),
            Err(Errno::INVAL)
        );
        assert_eq!(hand_over(&to, b"{\"a\":1}"), Ok(7));
        assert_eq!(read(&path).expect("a question"), b"{\"a\":1}");
    }
}

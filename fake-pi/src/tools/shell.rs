//! A command in a real shell, run on the spot, whose `sleep` passes on the simulation's clock.
//!
//! A paused clock does not wait for a child, and a child that ran beside the simulation would end at a moment that no
//! two runs share. So the shell is run to its end while everything else stands still. Only `sleep` gives the thread
//! back: in the shell it is a function that asks us over a pipe and waits for the word. Thus `sleep 0.4; echo one` takes
//! 0.4 virtual seconds, and can be aborted or time out meanwhile.
//!
//! Limits: a command that waits for anything else cannot be aborted, and holds the whole simulation; `sleep`s that run
//! beside each other in one command pass one after the other; programs other than bash sleep in real time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group};

/// Real milliseconds between two looks at a child that says nothing.
const TICK_MS: i64 = 20;

/// Looks at a silent child before it is given up: ten real minutes.
const MAX_IDLE_TICKS: u32 = 30_000;

/// Looks at open pipes after the shell ended: what it left behind may still write, as long as it does not fall silent.
const MAX_TICKS_AFTER_EXIT: u32 = 5;

/// Output that is kept. A command that writes more is ended.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// Longest request of the `sleep` function.
const MAX_REQUEST_BYTES: usize = 4096;

/// Longest sleep in seconds, about a year; more is real time's business.
const MAX_SLEEP_SECONDS: f64 = 3.0e7;

/// Why the shell gave the thread back.
#[derive(Debug, PartialEq)]
pub(super) enum Pause {
    /// It wants to sleep.
    Sleep(Duration),
    /// It ended with this exit code, 128 and the signal's number if it was killed.
    Ended(i32),
    /// It wrote too much, or was silent too long, and was killed.
    GivenUp(&'static str),
}

/// A running shell.
pub(super) struct Shell {
    child: Child,
    /// Standard output and error, in the order written; gone once nobody writes any more.
    output: Option<OwnedFd>,
    requests: Option<OwnedFd>,
    answers: OwnedFd,
    pending: Vec<u8>,
    /// All that was written so far.
    pub(super) written: Vec<u8>,
}

/// Runs a command to its end; gives what it wrote and its exit code.
///
/// # Errors
/// When the shell does not start, or was given up.
pub(crate) async fn run_shell(command: &str, cwd: &Path) -> io::Result<(String, i32)> {
    let mut shell = Shell::start(command, cwd)?;
    loop {
        match shell.run() {
            Pause::Sleep(duration) => tokio::time::sleep(duration).await,
            Pause::Ended(code) => {
                return Ok((String::from_utf8_lossy(&shell.written).into_owned(), code));
            }
            Pause::GivenUp(reason) => return Err(io::Error::other(reason)),
        }
        shell.wake();
    }
}

impl Shell {
    /// Starts `command` in `cwd`, in a process group of its own.
    pub(super) fn start(command: &str, cwd: &Path) -> io::Result<Self> {
        let (output, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
        let (requests, their_requests) = pipe_with(PipeFlags::CLOEXEC)?;
        let (their_answers, answers) = pipe_with(PipeFlags::CLOEXEC)?;
        for ours in [&output, &requests] {
            ioctl_fionbio(ours, true)?;
        }
        // The shell inherits these two under the numbers that they have here.
        for inherited in [&their_requests, &their_answers] {
            fcntl_setfd(inherited, FdFlags::empty())?;
        }
        let program = if Path::new("/bin/bash").exists() {
            "/bin/bash"
        } else {
            "bash"
        };
        let mut shell = Command::new(program);
        shell
            .arg("-c")
            .arg(command)
            .current_dir(cwd)
            .process_group(0);
        shell.env(
            "BASH_FUNC_sleep%%",
            sleep_function(their_requests.as_raw_fd(), their_answers.as_raw_fd()),
        );
        shell
            .stdin(Stdio::null())
            .stdout(theirs.try_clone()?)
            .stderr(theirs);
        let child = shell.spawn()?;
        Ok(Self {
            child,
            output: Some(output),
            requests: Some(requests),
            answers,
            pending: Vec::new(),
            written: Vec::new(),
        })
    }

    /// Runs on until the shell ends or wants to sleep. Holds the thread.
    pub(super) fn run(&mut self) -> Pause {
        let (mut idle, mut idle_after_exit) = (0, 0);
        loop {
            self.wait_a_tick();
            let before = self.written.len();
            self.drain_output();
            if self.written.len() > MAX_OUTPUT_BYTES {
                self.kill();
                return Pause::GivenUp("The command wrote more than the simulation keeps (64MB).");
            }
            if let Some(request) = self.next_request() {
                // What was written before the request is in the pipe by now.
                self.drain_output();
                match sleep_duration(&request) {
                    Some(duration) => return Pause::Sleep(duration),
                    None => self.answer("real"),
                }
                continue;
            }
            let is_silent = self.written.len() == before;
            if let Ok(Some(status)) = self.child.try_wait() {
                idle_after_exit = if is_silent { idle_after_exit + 1 } else { 0 };
                if self.output.is_none() || idle_after_exit > MAX_TICKS_AFTER_EXIT {
                    return Pause::Ended(exit_code(status));
                }
            }
            idle = if is_silent { idle + 1 } else { 0 };
            if idle > MAX_IDLE_TICKS {
                self.kill();
                return Pause::GivenUp(
                    "The command was silent for longer than the simulation waits (10 minutes).",
                );
            }
        }
    }

    /// Tells the shell that its sleep is over.
    pub(super) fn wake(&self) {
        self.answer("ok");
    }

    /// Kills the shell and all that it started, and takes what they had written.
    pub(super) fn kill(&mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // It was killed: there is nothing to wait for but the kernel.
        let _ = self.child.wait();
        self.drain_output();
    }

    fn answer(&self, word: &str) {
        // A shell that went away meanwhile ends by itself.
        let _ = write(&self.answers, format!("{word}\n").as_bytes());
    }

    /// Waits until something can be read, or a tick is over.
    fn wait_a_tick(&self) {
        let open = [&self.output, &self.requests];
        let mut polled: Vec<PollFd<'_>> = open
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN))
            .collect();
        let nanoseconds = if self.output.is_none() {
            1_000_000
        } else {
            TICK_MS * 1_000_000
        };
        let tick = Timespec {
            tv_sec: 0,
            tv_nsec: nanoseconds,
        };
        // An interrupted wait is a short tick.
        let _ = poll(&mut polled, Some(&tick));
    }

    fn drain_output(&mut self) {
        if drain(
            self.output.as_ref(),
            &mut self.written,
            MAX_OUTPUT_BYTES + 1,
        ) {
            self.output = None;
        }
    }

    /// The next whole line of the request pipe.
    fn next_request(&mut self) -> Option<String> {
        if drain(self.requests.as_ref(), &mut self.pending, MAX_REQUEST_BYTES) {
            self.requests = None;
        }
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // A run that is dropped midway must leave no process behind. An ended shell's group may live on, as under Pi.
        if let Ok(None) = self.child.try_wait() {
            self.kill();
        }
    }
}

/// Reads what is there into `kept`, up to `limit` bytes in all; tells whether the pipe is at its end.
fn drain(pipe: Option<&OwnedFd>, kept: &mut Vec<u8>, limit: usize) -> bool {
    let Some(pipe) = pipe else { return false };
    let mut chunk = [0; 16 * 1024];
    while kept.len() < limit {
        match read(pipe, &mut chunk) {
            Ok(0) => return true,
            Ok(count) => kept.extend_from_slice(&chunk[..count]),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    false
}

/// The shell's `sleep`: asks, and waits for the word. Without a word it is the real one.
fn sleep_function(requests: i32, answers: i32) -> String {
    format!(
        "() {{ local word; if printf '%s\\n' \"$*\" >&{requests} && read -r word <&{answers} && [ \"$word\" = ok ]; \
         then return 0; fi 2>/dev/null; command sleep \"$@\"; }}"
    )
}

/// How long `sleep` is to last by its arguments, if they are plain.
fn sleep_duration(arguments: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut is_any = false;
    for argument in arguments.split_whitespace() {
        let (number, unit) = match argument.char_indices().last()? {
            (at, 's') => (&argument[..at], 1.0),
            (at, 'm') => (&argument[..at], 60.0),
            (at, 'h') => (&argument[..at], 3600.0),
            (at, 'd') => (&argument[..at], 86_400.0),
            _ => (argument, 1.0),
        };
        if !number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
        {
            return None;
        }
        seconds += number.parse::<f64>().ok()? * unit;
        is_any = true;
    }
    if !is_any || seconds > MAX_SLEEP_SECONDS {
        None
    } else {
        Duration::try_from_secs_f64(seconds).ok()
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_are_read_as_coreutils_reads_them() {
        let seconds = |arguments| sleep_duration(arguments).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("0.4"), Some(0.4));
        assert_eq!(seconds("1m 2 .5s"), Some(62.5));
        assert_eq!(seconds("2h"), Some(7200.0));
        for other in ["", "infinity", "-1", "1x", "1e3", "--help", "."] {
            assert_eq!(seconds(other), None, "{other}");
        }
    }
}

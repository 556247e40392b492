//! A child process under control: bounded in time and in what is kept of its output, ended with all that it started.

use std::{
    collections::VecDeque,
    io::{self, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::interrupt::Interrupt;

/// How much of each output is kept; the end is where tools say what went wrong.
const KEPT: usize = 64 * 1024;
/// How many lines of it an error carries.
const TAIL_LINES: usize = 30;
/// A line of it is cut here.
const TAIL_COLUMNS: usize = 400;
/// The waits between two looks at the child, from short ones for a child that is done at once.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_millis(50);
/// How long outputs may stay open after the child and its group are gone (something left the group and holds them).
const DRAIN: Duration = Duration::from_secs(2);

/// A child that ended by itself.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// The last lines of what was said, without control characters: stderr if it has any, else stdout.
    pub fn tail(&self) -> String {
        let text = if self.stderr.trim().is_empty() {
            &self.stdout
        } else {
            &self.stderr
        };
        tail_of(text)
    }
}

/// A child that did not.
#[derive(Debug)]
pub(super) enum Failed {
    /// There is no such program.
    Missing,
    /// It could not be started or waited for.
    Io(io::Error),
    /// It was killed at its limit.
    TimedOut,
    /// It was killed because a signal arrived.
    Interrupted,
}

/// Runs `command` to its end with no input, in a process group of its own, which dies with it.
///
/// A group of its own also keeps the terminal's Ctrl-C away from the child, so that it is this process that decides
/// when the child goes and what is removed after it.
pub(super) fn run(
    command: &mut Command,
    limit: Duration,
    interrupt: &Interrupt,
) -> Result<Ended, Failed> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failed::Missing,
        _ => Failed::Io(error),
    })?;
    let mut group = Group {
        child,
        ended: false,
    };
    let stdout = group.child.stdout.take().map(Output::collect);
    let stderr = group.child.stderr.take().map(Output::collect);
    wait(&group, limit, interrupt)?;
    let status = group.end().map_err(Failed::Io)?;
    Ok(Ended {
        status,
        stdout: text_of(stdout),
        stderr: text_of(stderr),
    })
}

/// Waits until the child has ended, without reaping it: while it is a zombie its number cannot name another group.
fn wait(group: &Group, limit: Duration, interrupt: &Interrupt) -> Result<(), Failed> {
    let mut waited = Duration::ZERO;
    let mut look = FIRST_LOOK;
    loop {
        let looked = waitid(
            WaitId::Pid(group.pid()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT,
        );
        match looked {
            Ok(Some(_)) => return Ok(()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(Failed::Io(error.into())),
        }
        if interrupt.arrived() {
            return Err(Failed::Interrupted);
        }
        if waited >= limit {
            return Err(Failed::TimedOut);
        }
        thread::sleep(look);
        waited += look;
        look = (look * 2).min(LAST_LOOK);
    }
}

/// A child that leads its group. Dropped, it takes the group with it.
struct Group {
    child: Child,
    ended: bool,
}

impl Group {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends whatever is left of the group and reaps the child.
    fn end(&mut self) -> io::Result<ExitStatus> {
        if !self.ended {
            // Fails when the group is already empty, which is what is wanted.
            let _ = kill_process_group(self.pid(), Signal::KILL);
            self.ended = true;
        }
        self.child.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// One output of a child, read by a thread so that a full pipe never blocks the child.
struct Output {
    kept: Arc<Mutex<VecDeque<u8>>>,
    closed: mpsc::Receiver<()>,
}

impl Output {
    fn collect(mut pipe: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (done, closed) = mpsc::channel();
        let mine = Arc::clone(&kept);
        thread::spawn(move || {
            let mut chunk = [0; 8192];
            loop {
                match pipe.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(read) => keep(
                        &mut mine.lock().unwrap_or_else(PoisonError::into_inner),
                        &chunk[..read],
                    ),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // Nobody listens any more when the child outlived its limit.
            let _ = done.send(());
        });
        Self { kept, closed }
    }
}

fn keep(kept: &mut VecDeque<u8>, chunk: &[u8]) {
    kept.extend(chunk);
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

fn text_of(output: Option<Output>) -> String {
    let Some(output) = output else {
        return String::new();
    };
    let _ = output.closed.recv_timeout(DRAIN);
    let mut kept = output.kept.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

/// The last lines of a text that a stranger wrote, fit to be shown on a terminal.
pub(super) fn tail_of(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(shown)
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

fn shown(line: &str) -> String {
    line.chars()
        .filter(|c| !c.is_control() || *c == '\t')
        .take(TAIL_COLUMNS)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::Path,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    const AMPLE: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn never() -> Interrupt {
        Interrupt::by_hand(Arc::default())
    }

    #[test]
    fn both_outputs_are_kept_and_the_end_of_a_long_one() {
        let script = "echo out; i=0
            while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done; exit 3";
        let ended = run(&mut shell(script), AMPLE, &never()).expect("ended");
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.stdout, "out\n");
        assert_eq!(ended.stderr.len(), KEPT);
        let tail = ended.tail();
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(tail.ends_with("line 19999"), "{tail}");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_from_one_that_fails() {
        let missing = run(&mut Command::new("/nowhere/npm"), AMPLE, &never());
        assert!(matches!(missing, Err(Failed::Missing)), "{missing:?}");
    }

    #[test]
    fn at_its_limit_a_child_is_gone() {
        let ended = run(
            &mut shell("sleep 1000"),
            Duration::from_millis(20),
            &never(),
        );
        assert!(matches!(ended, Err(Failed::TimedOut)), "{ended:?}");
    }

    #[test]
    fn a_signal_ends_the_child_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let started = folder.path().join("started");
        let script = format!(
            "sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait",
            started.display()
        );
        let arrived = Arc::new(AtomicBool::new(false));
        let interrupt = Interrupt::by_hand(Arc::clone(&arrived));
        let signal = thread::spawn({
            let started = started.clone();
            move || {
                while !started.exists() {
                    thread::yield_now();
                }
                arrived.store(true, Ordering::SeqCst);
            }
        });
        let ended = run(&mut shell(&script), AMPLE, &interrupt);
        assert!(matches!(ended, Err(Failed::Interrupted)), "{ended:?}");
        signal.join().expect("no panic");
        assert_gone(&fs::read_to_string(&started).expect("written"));
    }

    #[test]
    fn what_a_child_leaves_behind_neither_delays_nor_survives_it() {
        let ended = run(&mut shell("sleep 1000 & echo $!"), AMPLE, &never()).expect("ended");
        assert!(ended.status.success());
        assert_gone(&ended.stdout);
    }

    /// The kernel takes a killed process away soon, not at once; a zombie of it is no longer running.
    fn assert_gone(pid: &str) {
        let stat = Path::new("/proc").join(pid.trim()).join("stat");
        for _ in 0..50_000 {
            match fs::read_to_string(&stat) {
                Ok(stat) if !stat.contains(") Z ") => thread::yield_now(),
                _ => return,
            }
        }
        panic!("process {} still runs", pid.trim());
    }
}

//! The real Pi, or a program around it, as a child: its standard error, its end, and what it leaves behind.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::case::person;
use crate::hosts::PlayProblem;

/// How long Pi may take to end once its input closed. Stopping a server that does not want to end takes it 2.5 s.
const END_WITHIN: Duration = Duration::from_secs(20);

/// The most of standard error that is kept, in bytes.
const STDERR_KEPT: usize = 64 * 1024;

/// The variable by which the processes of a play are known, whoever started them.
const MARK: &str = "PI_BENCH_CASE";

/// A running Pi. Dropping it kills its whole process group.
pub struct Process {
    /// The child; its standard input and output are for whoever started it to take.
    pub child: Child,
    errors: Arc<Mutex<Vec<u8>>>,
    reads_errors: JoinHandle<()>,
    mark: String,
}

/// How Pi ended.
#[derive(Debug)]
pub struct End {
    /// Its exit code, or the negative number of the signal that killed it.
    pub exit: Option<i32>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Names of processes that it left behind.
    pub leftovers: Vec<String>,
}

impl Process {
    /// Starts Pi: `command` holds program, arguments, environment, and where standard input and output lead.
    ///
    /// # Errors
    /// When it cannot be spawned.
    pub fn start(mut command: Command, mark: &Path) -> Result<Self, PlayProblem> {
        let mark = mark.display().to_string();
        command
            .env(MARK, &mark)
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let started = |error: std::io::Error| PlayProblem::NotStarted(error.to_string());
        let mut child = command.spawn().map_err(started)?;
        let Some(stderr) = child.stderr.take() else {
            return Err(PlayProblem::NotStarted("its pipes are missing".into()));
        };
        let errors: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = errors.clone();
        let reads_errors = tokio::spawn(async move {
            let mut stderr = stderr;
            let mut chunk = [0; 4096];
            // Kept as it comes, so that a Pi that dies or hangs has said what it said.
            while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let room = STDERR_KEPT.saturating_sub(kept.len());
                kept.extend_from_slice(&chunk[..read.min(room)]);
            }
        });
        Ok(Self {
            child,
            errors,
            reads_errors,
            mark,
        })
    }

    /// Sends a signal to Pi itself, not to what it started.
    pub fn signal(&self, signal: person::Signal) {
        let signal = match signal {
            person::Signal::Term => Signal::TERM,
            person::Signal::Hup => Signal::HUP,
            person::Signal::Int => Signal::INT,
        };
        if let Some(id) = self.id() {
            // One that has ended hears none.
            let _ = rustix::process::kill_process(id, signal);
        }
    }

    fn id(&self) -> Option<Pid> {
        self.child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
    }

    /// Waits until Pi has ended, and looks at what it left.
    ///
    /// # Errors
    /// When it does not end in time; it is killed then.
    pub async fn end(mut self) -> Result<End, PlayProblem> {
        let status: ExitStatus = match timeout(END_WITHIN, self.child.wait()).await {
            Ok(status) => status?,
            Err(_) => {
                return Err(PlayProblem::Lingers {
                    seconds: END_WITHIN.as_secs(),
                });
            }
        };
        // A grandchild that holds standard error would keep this open: it is a leftover, and looked for by its mark.
        let _ = timeout(Duration::from_secs(1), &mut self.reads_errors).await;
        Ok(End {
            exit: status
                .code()
                .or_else(|| status.signal().map(|signal| -signal)),
            stderr: self.stderr(),
            leftovers: self.leftovers().await,
        })
    }

    /// What this Pi wrote to standard error so far, for a report on why it died.
    pub fn stderr(&self) -> String {
        let kept = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Names of the play's processes that live on; those that are just ending get a moment.
    async fn leftovers(&self) -> Vec<String> {
        for _ in 0..20 {
            if marked(&self.mark).is_empty() {
                return Vec::new();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let left = marked(&self.mark);
        for (id, _) in &left {
            if let Some(id) = Pid::from_raw(*id) {
                // Gone meanwhile is as good.
                let _ = rustix::process::kill_process(id, Signal::KILL);
            }
        }
        left.into_iter().map(|(_, name)| name).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(id) = self.id() {
            // No group, no harm: it ended by itself.
            let _ = kill_process_group(id, Signal::KILL);
            for (id, _) in marked(&self.mark) {
                let _ = Pid::from_raw(id).map(|id| rustix::process::kill_process(id, Signal::KILL));
            }
        }
        self.reads_errors.abort();
    }
}

/// The processes whose environment bears a play's mark: id and name.
fn marked(mark: &str) -> Vec<(i32, String)> {
    let wanted = format!("{MARK}={mark}");
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|process| {
            let id: i32 = process.file_name().to_str()?.parse().ok()?;
            let environment = std::fs::read(process.path().join("environ")).ok()?;
            let found = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == wanted.as_bytes());
            let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            found.then(|| (id, name.trim().to_owned()))
        })
        .collect()
}

//! The real Pi as a child that speaks RPC.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::hosts::PlayProblem;
use crate::hosts::person::Line;

/// How long Pi may take to end once its input closed. Stopping a server that does not want to end takes it 2.5 s.
const END_WITHIN: Duration = Duration::from_secs(20);

/// The most of standard error that is kept, in bytes.
const STDERR_KEPT: usize = 64 * 1024;

/// The most that is kept of a line that is no record, in bytes.
const STRAY_KEPT: usize = 1024;

/// The longest record, in bytes.
const LONGEST_RECORD: u64 = 64 * 1024 * 1024;

/// The variable by which the processes of a play are known, whoever started them.
const MARK: &str = "PI_BENCH_CASE";

/// A running Pi. Dropping it kills its whole process group.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    records: UnboundedReceiver<Value>,
    errors: Arc<Mutex<Vec<u8>>>,
    reads_errors: JoinHandle<()>,
    mark: String,
}

/// How Pi ended.
#[derive(Debug)]
pub struct End {
    /// Its exit code; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Names of processes that it left behind.
    pub leftovers: Vec<String>,
}

impl Process {
    /// Starts Pi: `command` holds program, arguments and environment.
    ///
    /// # Errors
    /// When it cannot be spawned.
    pub fn start(mut command: Command, mark: &Path) -> Result<Self, PlayProblem> {
        let mark = mark.display().to_string();
        command
            .env(MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let started = |error: std::io::Error| PlayProblem::NotStarted(error.to_string());
        let mut child = command.spawn().map_err(started)?;
        let (Some(input), Some(output), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
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
        let (sender, records) = mpsc::unbounded_channel();
        tokio::spawn(read_records(output, sender));
        Ok(Self {
            child,
            input: Some(input),
            records,
            errors,
            reads_errors,
            mark,
        })
    }

    /// Closes Pi's input, as a person who leaves does.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits until Pi has ended, and looks at what it left.
    ///
    /// # Errors
    /// When it does not end in time; it is killed then.
    pub async fn end(mut self) -> Result<End, PlayProblem> {
        self.close();
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
            exit: status.code(),
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
        if let Some(id) = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()))
        {
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

impl Line for Process {
    fn send(&mut self, command: Value) -> BoxFuture<'_, Result<(), PlayProblem>> {
        Box::pin(async move {
            let input = self.input.as_mut().ok_or(PlayProblem::Closed)?;
            input
                .write_all(format!("{command}\n").as_bytes())
                .await
                .map_err(|_| PlayProblem::Closed)
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Value>> {
        Box::pin(self.records.recv())
    }
}

/// Hands over each line that is JSON. A task of its own, since a line that is half read must survive a caller who stops
/// waiting.
async fn read_records(output: ChildStdout, records: UnboundedSender<Value>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut output)
            .take(LONGEST_RECORD)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Standard output belongs to the protocol; what is no record is kept as what it is, and judged.
        let record = super::value(&line).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(&line[..line.len().min(STRAY_KEPT)]);
            json!({ "type": "stray", "text": text })
        });
        if records.send(record).is_err() {
            return;
        }
    }
}

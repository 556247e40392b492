//! The adapter's child, cold and warm, as Rust asks it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapter::child::ChildHook;
use adapter::{HookAsk, HookCommand, HookEnd, HookPort, HookReport};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::{Child, ENVELOPE, Outcome};

/// A host without Node, whose own thread waits, as that of the floor does. What the addon's threads cost is seen with it.
pub struct Rust {
    runtime: Runtime,
    hook: ChildHook,
    child: Child,
}

impl Rust {
    /// A host that asks this child.
    pub fn start(child: Child) -> Outcome<Self> {
        Ok(Self {
            runtime: Builder::new_current_thread().enable_all().build()?,
            hook: ChildHook::default(),
            child,
        })
    }

    /// The time that a child for the question takes.
    pub fn cold(&self) -> Outcome<Duration> {
        std::thread::sleep(self.child.pause());
        let from = Instant::now();
        let report = self.runtime.block_on(self.hook.ask(self.question()));
        answered(from, &report)
    }

    /// The time that a child takes which waited for the question.
    pub fn warm(&self) -> Outcome<Duration> {
        let command = self.question().command;
        let ready = self.runtime.block_on(self.hook.prepare(&command));
        let ready = ready.ok_or("no child")?;
        std::thread::sleep(self.child.pause());
        let from = Instant::now();
        let report = self.runtime.block_on(ready.ask(self.question()));
        answered(from, &report.map_err(|_| "the child did not wait")?)
    }

    /// The time from the abort of a question until it is settled, while its child is starting.
    pub fn aborted(&self) -> Outcome<Duration> {
        let question = self.question();
        let abort = question.abort.clone();
        let (report, time) = self.runtime.block_on(async {
            let asked = tokio::spawn(self.hook.ask(question));
            tokio::time::sleep(self.child.starts_in / 2).await;
            let from = Instant::now();
            abort.cancel();
            asked.await.map(|report| (report, from.elapsed()))
        })?;
        let aborted = report.end == HookEnd::Aborted;
        aborted
            .then_some(time)
            .ok_or_else(|| format!("{report:?}").into())
    }

    fn question(&self) -> HookAsk {
        HookAsk {
            command: Arc::new(HookCommand {
                program: PathBuf::from(self.child.program),
                args: vec!["hook".into(), "--agent=pi".into()],
                cwd: std::env::temp_dir(),
                vars: Arc::default(),
            }),
            envelope: ENVELOPE.as_bytes().to_vec(),
            deadline: tokio::time::Instant::now() + Duration::from_secs(5),
            abort: CancellationToken::new(),
        }
    }
}

/// A way that answered wrongly measures nothing.
fn answered(from: Instant, report: &HookReport) -> Outcome<Duration> {
    let time = from.elapsed();
    if report.stdout == b"{}" && report.end == HookEnd::Exited(0) {
        return Ok(time);
    }
    Err(format!("{report:?}").into())
}

//! The adapter's child, cold and warm, in turns with the floor.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapter::child::ChildHook;
use adapter::{HookAsk, HookCommand, HookEnd, HookPort, HookReport};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::bare::bare;
use crate::table::Samples;
use crate::{Child, ENVELOPE, Outcome};

/// What was measured with one child.
pub struct Rust {
    /// A bare `posix_spawn`.
    pub floor: Samples,
    /// A child for the question.
    pub cold: Samples,
    /// A child that waited for it.
    pub warm: Samples,
}

fn ask(program: &str) -> HookAsk {
    HookAsk {
        command: HookCommand {
            program: PathBuf::from(program),
            args: vec!["hook".into(), "--agent=pi".into()],
            cwd: std::env::temp_dir(),
            vars: Arc::default(),
        },
        envelope: ENVELOPE.as_bytes().to_vec(),
        deadline: Duration::from_secs(5),
        abort: CancellationToken::new(),
    }
}

/// A way that answered wrongly measures nothing.
fn check(report: &HookReport) -> Outcome<()> {
    let right = report.stdout == b"{}" && report.end == HookEnd::Exited(0);
    right
        .then_some(())
        .ok_or_else(|| format!("{report:?}").into())
}

/// Measures.
pub fn measure(child: Child) -> Outcome<Rust> {
    let program = CString::new(child.program)?;
    let pause = Duration::from_millis(child.pause_ms());
    // As the addon has it: workers beside the thread that waits.
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let mut found = Rust {
        floor: Samples::default(),
        cold: Samples::default(),
        warm: Samples::default(),
    };
    for _ in 0..child.rounds {
        std::thread::sleep(pause);
        let from = Instant::now();
        let decision = bare(&program)?;
        found.floor.push(from.elapsed());
        if decision != b"{}" {
            return Err("the child answered wrongly".into());
        }

        std::thread::sleep(pause);
        let question = ask(child.program);
        let from = Instant::now();
        let report = runtime.block_on(ChildHook.ask(question));
        found.cold.push(from.elapsed());
        check(&report)?;

        let question = ask(child.program);
        let ready = runtime
            .block_on(async { ChildHook.prepare(&question.command) })
            .ok_or("no child")?;
        std::thread::sleep(pause);
        let from = Instant::now();
        let report = runtime.block_on(ready.ask(question));
        found.warm.push(from.elapsed());
        check(&report.map_err(|_| "the child did not wait")?)?;
    }
    Ok(found)
}

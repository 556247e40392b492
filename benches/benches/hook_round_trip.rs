//! The hook round trip, cold: what a person waits before each tool call, as a ratio to the floor.
//!
//! The floor is a bare `posix_spawn` of the same child with a pipe in, a pipe out and a wait, without a runtime, a
//! deadline or an abort. Both are measured in one run, since only their ratio means something on another machine.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use adapter::child::ChildHook;
use adapter::{HookAsk, HookCommand, HookEnd, HookPort};
use benches::{Outcome, median};
use criterion::Criterion;
use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::pipe2;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

const GROUP: &str = "hook round trip";

const PROGRAM: &str = env!("CARGO_BIN_EXE_bench-hook");

/// An envelope of the usual size: a read of one file.
const ENVELOPE: &[u8] = br#"{"event":"tool_call","cwd":"/home/somebody/project","session_id":"01a22c3f-be7b-7737-bf41-b8751afa4e43","tool_name":"Read","tool_input":{"path":"src/lib.rs","file_path":"src/lib.rs"},"is_gortex_tool":false}"#;

/// The floor: spawn, write, read, wait.
fn bare(program: &CStr) -> Outcome<Vec<u8>> {
    let (child_in, ours_out): (OwnedFd, OwnedFd) = pipe2(OFlag::O_CLOEXEC)?;
    let (ours_in, child_out) = pipe2(OFlag::O_CLOEXEC)?;
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_dup2(child_in.as_raw_fd(), 0)?;
    actions.add_dup2(child_out.as_raw_fd(), 1)?;
    let none: [&CStr; 0] = [];
    let child = posix_spawn(
        program,
        &actions,
        &PosixSpawnAttr::init()?,
        &[program],
        &none,
    )?;
    drop((child_in, child_out));
    let mut input = File::from(ours_out);
    input.write_all(ENVELOPE)?;
    drop(input);
    let mut decision = Vec::new();
    File::from(ours_in).read_to_end(&mut decision)?;
    match waitpid(child, None)? {
        WaitStatus::Exited(_, 0) => Ok(decision),
        other => Err(format!("the child ended with {other:?}").into()),
    }
}

fn ask() -> HookAsk {
    HookAsk {
        command: HookCommand {
            program: PathBuf::from(PROGRAM),
            args: vec!["hook".into(), "--agent=pi".into()],
            cwd: std::env::temp_dir(),
            vars: std::sync::Arc::default(),
        },
        envelope: ENVELOPE.to_vec(),
        deadline: Duration::from_secs(5),
        abort: CancellationToken::new(),
    }
}

#[expect(clippy::print_stdout, reason = "the ratio is what the bench is for")]
fn main() -> Outcome<()> {
    let program = std::ffi::CString::new(PROGRAM)?;
    // One of each first: a bench of something that does not work measures nothing.
    assert_eq!(bare(&program)?, b"{}");
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(ChildHook.ask(ask()));
    assert_eq!(
        (report.stdout.as_slice(), report.end),
        (b"{}".as_slice(), HookEnd::Exited(0))
    );

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group(GROUP);
    group
        .sample_size(50)
        .measurement_time(Duration::from_secs(8));
    group.bench_function("floor", |bencher| bencher.iter(|| bare(&program)));
    group.bench_function("cold", |bencher| {
        bencher.iter(|| runtime.block_on(ChildHook.ask(ask())));
    });
    group.finish();
    criterion.final_summary();

    // `--test` and `--list` measure nothing.
    if let (Ok(floor), Ok(cold)) = (median(GROUP, "floor"), median(GROUP, "cold")) {
        println!(
            "hook round trip, medians: floor {:.0} us, cold {:.0} us",
            floor / 1000.0,
            cold / 1000.0
        );
        println!(
            "cold / floor = {:.2} (target of a later step: 1.10)",
            cold / floor
        );
    }
    Ok(())
}

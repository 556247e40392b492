//! The floor: spawn, write, read, wait, and nothing else: no runtime, no deadline, no abort.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::pipe2;

use crate::{Child, ENVELOPE, Outcome};

/// The time that a bare child takes.
pub fn time(child: Child) -> Outcome<Duration> {
    let program = CString::new(child.program)?;
    std::thread::sleep(child.pause());
    let from = Instant::now();
    let decision = ask(&program)?;
    let time = from.elapsed();
    if decision != b"{}" {
        return Err("the child answered wrongly".into());
    }
    Ok(time)
}

fn ask(program: &CStr) -> Outcome<Vec<u8>> {
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
    input.write_all(ENVELOPE.as_bytes())?;
    drop(input);
    let mut decision = Vec::new();
    File::from(ours_in).read_to_end(&mut decision)?;
    match waitpid(child, None)? {
        WaitStatus::Exited(_, 0) => Ok(decision),
        other => Err(format!("the child ended with {other:?}").into()),
    }
}

//! A search program run on the spot: `rg` for `grep`, `fd` for `find`.
//!
//! Like the shell it runs while the simulation stands still. Pi looks for the programs in its own folder and on the
//! path and, offline, does without; here whoever builds the tools names them.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest line of a search program that is read.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Bytes of its standard error that are kept.
const MAX_ERROR_BYTES: u64 = 64 * 1024;

/// Where the search programs are. Without one its tool fails with Pi's text for an offline host.
#[derive(Debug, Clone, Default)]
pub struct SearchPrograms {
    /// ripgrep.
    pub ripgrep: Option<PathBuf>,
    /// fd.
    pub fd: Option<PathBuf>,
}

/// What `grep` and `find` are told once.
#[derive(Debug, Clone)]
pub(super) struct Searching {
    /// The user's home folder.
    pub(super) home: PathBuf,
    /// The search program, if there is one.
    pub(super) program: Option<PathBuf>,
}

/// How a search ended.
pub(super) struct Searched {
    /// Exit code, if it ended by itself.
    pub(super) code: Option<i32>,
    /// The trimmed start of its standard error.
    pub(super) errors: String,
}

/// Runs a program and hands each line of its output to `on_line`, until that says to stop.
pub(super) fn search(
    program: &Path,
    args: &[String],
    cwd: &Path,
    mut on_line: impl FnMut(&str) -> bool,
) -> Result<Searched, String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(cwd);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::scope(|scope| {
        // Read beside the output, or the program would block on the one while we wait for the other.
        let errors = scope.spawn(move || {
            let mut kept = Vec::new();
            if let Some(mut stderr) = stderr {
                // What cannot be read is no error text; the rest is drained.
                let _ = stderr.by_ref().take(MAX_ERROR_BYTES).read_to_end(&mut kept);
                let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            }
            String::from_utf8_lossy(&kept).trim().to_owned()
        });
        if let Some(stdout) = stdout {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while matches!(
                reader
                    .by_ref()
                    .take(MAX_LINE_BYTES)
                    .read_until(b'\n', &mut line),
                Ok(1..)
            ) {
                if !on_line(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r'])) {
                    // It may have ended by itself.
                    let _ = child.kill();
                    break;
                }
                line.clear();
            }
        }
        errors.join().unwrap_or_default()
    });
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok(Searched {
        code: status.code(),
        errors,
    })
}

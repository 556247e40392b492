//! The log file that `GORTEX_PI_LOG` names.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

use adapter::{Environment, Log};
use rustix::fs::OFlags;

/// Appends lines to a file, or drops them where none is named or it cannot be opened.
#[derive(Debug)]
pub struct FileLog {
    file: Option<File>,
}

impl FileLog {
    /// Opens the file that the environment names. Nobody is told of a failure: there is no place to tell it (F3).
    #[must_use]
    pub fn new(environment: &Environment) -> Self {
        // Non-blocking, so that a pipe without a reader holds up neither the start nor a line.
        let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
        let file = environment.var("GORTEX_PI_LOG").and_then(|path| {
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600) // It names files of the user's projects.
                .custom_flags(flags)
                .open(environment.expand(path)?)
                .ok()
        });
        Self { file }
    }
}

impl Log for FileLog {
    fn line(&self, line: &str) {
        if let Some(mut file) = self.file.as_ref() {
            // One write, so that lines of several instances do not interleave.
            file.write_all(format!("{line}\n").as_bytes())
                .unwrap_or_default();
        }
    }
}

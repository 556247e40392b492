//! Where diagnostics go: a file that the user asked for (`GORTEX_PI_LOG`), else nowhere (F3).

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};

use crate::{Environment, Log};

/// A [`Log`] that appends to a file, or drops every line where there is none.
#[derive(Debug, Default)]
pub struct FileLog(Option<Mutex<File>>);

impl FileLog {
    /// Opens the file that `GORTEX_PI_LOG` names, made private to the user if it is new. What cannot be opened, or is
    /// no regular file and so could block, is dropped: a log is worth no failure (F1).
    #[must_use]
    pub fn open(environment: &Environment) -> Self {
        let path = environment
            .var("GORTEX_PI_LOG")
            .and_then(|path| environment.place(path));
        let file = path.and_then(|path| {
            if path.metadata().is_ok_and(|found| !found.is_file()) {
                return None;
            }
            OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .open(path)
                .ok()
        });
        Self(file.map(Mutex::new))
    }
}

impl Log for FileLog {
    fn line(&self, line: &str) {
        if let Some(file) = &self.0 {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // One write a line, so that lines of several processes do not mix.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_lines_are_appended_to_the_file_that_was_asked_for() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("log");
        let mut environment = Environment::default();
        FileLog::open(&environment).line("nowhere");
        environment.vars.insert(
            "GORTEX_PI_LOG".to_owned(),
            path.to_string_lossy().into_owned(),
        );
        FileLog::open(&environment).line("one");
        FileLog::open(&environment).line("two");
        assert_eq!(std::fs::read_to_string(path).expect("log"), "one\ntwo\n");
    }

    #[test]
    fn f1_what_cannot_be_a_log_is_dropped() {
        for path in ["/dev/stdout", "/", "/nowhere/log"] {
            let vars = [("GORTEX_PI_LOG".to_owned(), path.to_owned())].into();
            let log = FileLog::open(&Environment {
                vars,
                ..Environment::default()
            });
            assert!(log.0.is_none(), "{path}");
        }
    }
}

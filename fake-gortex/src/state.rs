//! What outlives a single process of Gortex: how often each rule has matched, and what a posture remembers.
//!
//! A hook is a new process for every envelope and a daemon may be started again, so the counters live either in
//! memory that all of them share (in process) or in a small file under a lock (the binary).

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The largest state file that is read, in bytes. A real one has a line for each rule.
const LIMIT: u64 = 1 << 20;

/// The counters of one case.
#[derive(Debug)]
pub struct State(Store);

#[derive(Debug)]
enum Store {
    Memory(Mutex<BTreeMap<String, u64>>),
    File(PathBuf),
}

impl State {
    /// Counters for one process.
    #[must_use]
    pub fn memory() -> Self {
        Self(Store::Memory(Mutex::new(BTreeMap::new())))
    }

    /// Counters that processes share through a file, which is created with the first count.
    #[must_use]
    pub fn file(path: PathBuf) -> Self {
        Self(Store::File(path))
    }

    /// Counts each key once more and gives the new counts, in the order of the keys; all of them in one step.
    ///
    /// # Errors
    /// When the shared file cannot be read, locked or written. Memory never fails.
    pub(crate) fn bump(&self, keys: &[String]) -> io::Result<Vec<u64>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.with(|counts| count(counts, keys))
    }

    /// Gives a key a new count that depends on its old one, which is 0 where there was none; answers the new one.
    ///
    /// # Errors
    /// As [`State::bump`].
    pub(crate) fn change(&self, key: &str, new: impl FnOnce(u64) -> u64) -> io::Result<u64> {
        self.with(|counts| {
            let count = counts.entry(key.to_owned()).or_default();
            *count = new(*count);
            *count
        })
    }

    /// One step on all counters that nobody else comes between.
    fn with<T>(&self, step: impl FnOnce(&mut BTreeMap<String, u64>) -> T) -> io::Result<T> {
        match &self.0 {
            Store::Memory(counts) => {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(step(&mut counts))
            }
            Store::File(path) => {
                let mut file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)?;
                // The lock falls with the file, however this ends.
                file.lock()?;
                let mut counts = read(&mut file)?;
                let done = step(&mut counts);
                file.rewind()?;
                file.set_len(0)?;
                file.write_all(&serde_json::to_vec(&counts)?)?;
                Ok(done)
            }
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::memory()
    }
}

fn count(counts: &mut BTreeMap<String, u64>, keys: &[String]) -> Vec<u64> {
    keys.iter()
        .map(|key| {
            let count = counts.entry(key.clone()).or_default();
            *count = count.saturating_add(1);
            *count
        })
        .collect()
}

fn read(file: &mut File) -> io::Result<BTreeMap<String, u64>> {
    let mut text = Vec::new();
    file.take(LIMIT).read_to_end(&mut text)?;
    if text.is_empty() {
        return Ok(BTreeMap::new());
    }
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_in_a_file_are_shared_and_never_lost() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("state");
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let state = State::file(path.clone());
                std::thread::spawn(move || {
                    for _ in 0..25 {
                        state.bump(&["a".to_owned()]).expect("bump");
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("thread");
        }
        let state = State::file(path);
        assert_eq!(
            state.bump(&["a".to_owned(), "b".to_owned()]).expect("bump"),
            [101, 1]
        );
    }

    #[test]
    fn a_broken_state_file_is_an_error_and_no_fresh_start() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("state");
        std::fs::write(&path, "no json").expect("write");
        assert!(State::file(path).bump(&["a".to_owned()]).is_err());
    }
}

//! What this process holds, as `/proc` has it.

use std::fs;
use std::time::Duration;

use crate::children::children;

/// How many descriptors, threads and children this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Children, those included that ended and were not waited for.
    pub children: usize,
}

impl Census {
    /// Counts.
    pub fn take() -> Self {
        let count = |folder| fs::read_dir(folder).map_or(0, Iterator::count);
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            children: children().len(),
        }
    }
}

/// Waits until every child is gone and was waited for: who is killed takes a moment to end.
///
/// # Panics
/// When one stays for 30 s.
pub async fn no_child_left() {
    let gone = async {
        while !children().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone)
        .await
        .expect("a child stays");
}

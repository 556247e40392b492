//! The children of this process, as `/proc` has them. Each test has a process of its own.

use std::fs;

/// The state of each: `Z` is one that has ended and was not waited for.
pub fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    processes
        .filter_map(|it| fs::read_to_string(it.path().join("stat")).ok())
        .filter_map(|stat| {
            // The state and the parent stand behind the name, which may hold anything.
            let mut behind = stat.rsplit_once(')')?.1.split_whitespace();
            let state = behind.next()?.to_owned();
            (behind.next()? == own).then_some(state)
        })
        .collect()
}

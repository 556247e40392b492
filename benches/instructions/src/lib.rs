//! The pure parts with what they are given, ready to be counted; the same on each machine.
//!
//! No text in here comes from the environment: the length of a folder's name would be counted too.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adapter::config::Settings;
use adapter::edits::{Budget, Entry};
use adapter::hook::{Decision, Envelope, translate};
use adapter::{Environment, HookEnd, HookReport};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What is counted: the work and the end of what it makes. What it needs is made before.
pub type Work = Box<dyn Fn()>;

/// Does it once already, so that neither what a process does only once is counted (asking the processor what it can),
/// nor the clearing away of what the making of texts left to the allocator.
fn work<T>(part: impl Fn() -> T + 'static) -> Work {
    let work = move || drop(black_box(part()));
    work();
    Box::new(work)
}

/// What is never dropped, so that its end is not counted.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A folder that is not there, so that no settings are read from it.
fn folder() -> &'static Path {
    Path::new("/nonexistent/somebody/project")
}

/// What the model gives the tool `edit`, with the keys of a read beside it.
fn input() -> &'static Value {
    kept(json!({
        "path": "src/lib.rs", "offset": 1, "limit": 200,
        "edits": [{ "oldText": "one", "newText": "two" }]
    }))
}

/// Settings are made of the variables of a user who set two of ours.
#[must_use]
pub fn configuration() -> Work {
    let environment = kept(Environment {
        vars: [
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ("GORTEX_BIN".to_owned(), "/bin/sh".to_owned()),
            ("GORTEX_HOOK_MODE".to_owned(), "nudge".to_owned()),
        ]
        .into(),
        home: Some(PathBuf::from("/nonexistent/somebody")),
        cwd: None,
    });
    work(|| Settings::resolve(environment, folder()))
}

/// A call is put into the hook's words.
#[must_use]
pub fn translation() -> Work {
    let input = input();
    work(|| translate("edit", input))
}

/// A translated call becomes the bytes that the hook reads.
#[must_use]
pub fn envelope() -> Work {
    let call = kept(translate("edit", input()));
    work(|| Envelope::tool_call(folder(), "s-1", call).and_then(|envelope| envelope.to_bytes()))
}

/// A hook's report is read that blocks a call.
#[must_use]
pub fn decision() -> Work {
    let report = kept(HookReport {
        stdout: br#"{"block":true,"reason":"This file is indexed: use search_symbols or read instead."}"#.to_vec(),
        end: HookEnd::Exited(0),
    });
    work(|| Decision::read(report))
}

/// What is done once both texts of a file are there. Only the number of steps ends it, never the clock.
#[must_use]
pub fn diff(before: String, after: String) -> Work {
    work(move || {
        let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
        Entry::of_texts("src/lib.rs", &before, &after, &mut budget)
    })
}

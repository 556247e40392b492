//! A question to a shell script, as a hook.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapter::{HookAsk, HookCommand};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Longer than a loaded machine needs for any of it.
pub const LONG: Duration = Duration::from_secs(30);

/// A question to a script, with the least that a question can be.
pub fn ask(script: &str) -> HookAsk {
    HookAsk {
        command: Arc::new(HookCommand {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            cwd: PathBuf::from("/"),
            vars: Arc::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into()),
        }),
        envelope: b"{}".to_vec(),
        deadline: Instant::now() + LONG,
        abort: CancellationToken::new(),
    }
}

//! Follows a file to which other processes append JSON lines.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How often the file is looked at. Only the times in a trace depend on it, no order.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The most that is read of one file: a trace larger than this is a fault of the case.
const LARGEST: u64 = 64 * 1024 * 1024;

/// A file being followed.
#[derive(Debug)]
pub struct Tail {
    end: CancellationToken,
    task: JoinHandle<()>,
}

impl Tail {
    /// Follows `path`, which need not exist yet, and hands over each line that is JSON.
    pub fn follow(path: PathBuf, mut take: impl FnMut(Value) + Send + 'static) -> Self {
        let end = CancellationToken::new();
        let ended = end.clone();
        let task = tokio::spawn(async move {
            let mut position = 0;
            loop {
                let last = ended.is_cancelled();
                read_lines(&path, &mut position, &mut take);
                if last {
                    break;
                }
                tokio::select! {
                    () = ended.cancelled() => {}
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
            }
        });
        Self { end, task }
    }

    /// Reads what is left and ends.
    pub async fn finish(self) {
        self.end.cancel();
        // The task only ends by itself; were it to panic, the lines it missed would show as missing events.
        let _ = self.task.await;
    }
}

fn read_lines(path: &PathBuf, position: &mut u64, take: &mut impl FnMut(Value)) {
    let Ok(mut file) = File::open(path) else {
        return;
    };
    if *position > LARGEST || file.seek(SeekFrom::Start(*position)).is_err() {
        return;
    }
    let mut text = Vec::new();
    if file.take(LARGEST).read_to_end(&mut text).is_err() {
        return;
    }
    // An unfinished line is read again when it is whole.
    let Some(whole) = text.iter().rposition(|&byte| byte == b'\n') else {
        return;
    };
    *position += whole as u64 + 1;
    for line in text[..whole].split(|&byte| byte == b'\n') {
        if let Some(value) = super::value(line) {
            take(value);
        }
    }
}

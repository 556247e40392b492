//! A FIFO that a whole process group holds open for writing, and the two moments that it tells.

use std::path::Path;
use std::time::Duration;

use tokio::net::unix::pipe::{OpenOptions, Receiver};
use tokio::time::timeout;

/// Longer than a loaded machine needs for any of it.
const LONG: Duration = Duration::from_secs(30);

/// The reading end of the FIFO. Waits on events, without a thread.
pub struct Lifeline {
    folder: tempfile::TempDir,
    end: Receiver,
}

impl Lifeline {
    /// Makes one.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("line");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let end = OpenOptions::new().open_receiver(&path).expect("line");
        Self { folder, end }
    }

    /// The folder in which the FIFO stands as `line`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A script of a child and a grandchild that hold the line and never end by themselves.
    pub fn holders(&self) -> String {
        let path = self.folder().join("line");
        format!(
            "exec 3>'{}'; sleep 600 & printf u >&3; sleep 600",
            path.display()
        )
    }

    /// Resolves once a child holds the line.
    ///
    /// # Panics
    /// When none does within 30 s.
    pub async fn taken_up(&mut self) {
        assert_eq!(self.read().await, 1, "the line was let go first");
    }

    /// Resolves once nobody holds it any more.
    ///
    /// # Panics
    /// When somebody still does after 30 s.
    pub async fn let_go(&mut self) {
        assert_eq!(self.read().await, 0, "somebody writes on the line");
    }

    async fn read(&mut self) -> usize {
        let mut byte = [0];
        let read = async {
            loop {
                self.end.readable().await.expect("line");
                match self.end.try_read(&mut byte) {
                    Ok(count) => return count,
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
                }
            }
        };
        timeout(LONG, read).await.expect("nothing on the line")
    }
}

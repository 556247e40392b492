//! A FIFO that a whole process group holds open for writing, and the two moments that it tells.

use std::io::Read;
use std::path::PathBuf;

use crate::question::LONG;

/// The FIFO.
pub struct Lifeline {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl Lifeline {
    /// Makes one.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("line");
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo");
        assert!(made.success());
        Self {
            _folder: folder,
            path,
        }
    }

    /// A child and a grandchild that hold the line and never end by themselves.
    pub fn holders(&self) -> String {
        format!("exec 3>'{}'; sleep 600 & sleep 600", self.path.display())
    }

    /// Resolves once a child has opened the line.
    pub async fn opened(&self) -> std::fs::File {
        let path = self.path.clone();
        blocking(move || std::fs::File::open(path).expect("line")).await
    }
}

/// Runs a job on a thread that a failed test does not wait for.
pub async fn blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || done.send(job()));
    tokio::time::timeout(LONG, answer)
        .await
        .expect("the job hangs")
        .expect("the job failed")
}

/// Resolves once nobody holds the line any more.
pub async fn closed(mut line: std::fs::File) {
    let rest = blocking(move || {
        let mut rest = Vec::new();
        line.read_to_end(&mut rest).map(|_| rest)
    });
    assert_eq!(rest.await.expect("line"), b"");
}

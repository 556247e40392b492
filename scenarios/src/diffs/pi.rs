//! Pi's own functions, in a Node of their own.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::json;

use super::{Pair, Shown};
use crate::setup::RealPi;

/// Node with the script `real-pi/diffs.ts`, which answers one question after another. Ends when dropped.
#[derive(Debug)]
pub struct PiDiffs {
    node: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// Node does not start, or its pipe is broken.
    #[error("Pi's diff functions cannot be asked: {0}")]
    Io(#[from] io::Error),
    /// The script ended; what it said stands on stderr.
    #[error("the script with Pi's diff functions ended")]
    Ended,
    /// The answer is none.
    #[error("the script with Pi's diff functions gave no answer that can be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// What Pi shows, and how long it takes.
#[derive(Debug, Deserialize)]
pub struct Timed {
    /// What it shows.
    #[serde(flatten)]
    pub shown: Shown,
    /// Nanoseconds of each further run: the numbered diff and the patch, one after the other.
    pub nanoseconds: Vec<u64>,
}

impl PiDiffs {
    /// Starts Node. Pi itself is loaded while the first question waits.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(pi: &RealPi) -> Result<Self, Lost> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("real-pi/diffs.ts");
        let mut node = Command::new(&pi.node)
            .arg(script)
            .arg(pi.entry())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(questions), Some(answers)) = (node.stdin.take(), node.stdout.take()) else {
            return Err(Lost::Ended);
        };
        Ok(Self {
            node,
            questions: Some(questions),
            answers: BufReader::new(answers),
        })
    }

    /// What Pi shows of a pair.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn ask(&mut self, pair: &Pair) -> Result<Shown, Lost> {
        Ok(self.time(pair, 0)?.shown)
    }

    /// What Pi shows of a pair, and how long each of so many further runs took.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn time(&mut self, pair: &Pair, runs: usize) -> Result<Timed, Lost> {
        let mut question = serde_json::to_vec(&json!({
            "path": pair.path, "old": pair.old, "new": pair.new, "runs": runs,
        }))?;
        question.push(b'\n');
        self.questions
            .as_mut()
            .ok_or(Lost::Ended)?
            .write_all(&question)?;
        let mut answer = Vec::new();
        self.answers.read_until(b'\n', &mut answer)?;
        if answer.is_empty() {
            return Err(Lost::Ended);
        }
        Ok(serde_json::from_slice(&answer)?)
    }
}

impl Drop for PiDiffs {
    fn drop(&mut self) {
        // It ends at the end of its questions; one that is busy is not waited for.
        drop(self.questions.take());
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}

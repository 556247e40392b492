//! A child whose standard input and output are pipes: commands and records as lines, or what it prints.

use std::path::Path;
use std::process::Stdio;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use super::process::{End, Process};
use crate::case::person::Signal;
use crate::hosts::PlayProblem;
use crate::hosts::person::Line;

/// The most that is kept of a line that is no record, in bytes.
const STRAY_KEPT: usize = 1024;

/// The longest record, in bytes.
const LONGEST_RECORD: u64 = 64 * 1024 * 1024;

/// The most that is kept of what `-p` prints, in bytes.
const PRINTED_KEPT: u64 = 1024 * 1024;

/// What a child writes to its standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// One record a line.
    Records,
    /// Text.
    Text,
}

/// A running child at the end of two pipes.
pub struct Pipes {
    process: Process,
    input: Option<ChildStdin>,
    records: UnboundedReceiver<Value>,
    reads: JoinHandle<String>,
}

impl Pipes {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be spawned.
    pub fn start(mut command: Command, mark: &Path, output: Output) -> Result<Self, PlayProblem> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(command, mark)?;
        let (input, stdout) = (process.child.stdin.take(), process.child.stdout.take());
        let stdout =
            stdout.ok_or_else(|| PlayProblem::NotStarted("its pipes are missing".into()))?;
        let (sender, records) = mpsc::unbounded_channel();
        let reads = tokio::spawn(async move {
            match output {
                Output::Records => {
                    read_records(stdout, sender).await;
                    String::new()
                }
                // The sender is held until the end, by which a reader learns of it.
                Output::Text => {
                    let text = read_text(stdout).await;
                    drop(sender);
                    text
                }
            }
        });
        Ok(Self {
            process,
            input,
            records,
            reads,
        })
    }

    /// Writes to its input and closes it, as a shell does that pipes something in.
    ///
    /// # Errors
    /// When it took no more.
    pub async fn give(&mut self, text: &str) -> Result<(), PlayProblem> {
        let Some(mut input) = self.input.take() else {
            return Ok(());
        };
        let given = input.write_all(text.as_bytes()).await;
        given.map_err(|_| PlayProblem::Closed)
    }

    /// Closes its input, as a person who leaves does.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Waits for its end; gives what it printed too.
    ///
    /// # Errors
    /// When it does not end in time; it is killed then.
    pub async fn end(self) -> Result<(End, String), PlayProblem> {
        let input = self.input;
        let end = self.process.end().await?;
        drop(input);
        // It ended by reading to the end of a pipe that nobody holds any more.
        let printed = self.reads.await.unwrap_or_default();
        Ok((end, printed))
    }
}

impl Line for Pipes {
    fn send(&mut self, command: Value) -> BoxFuture<'_, Result<(), PlayProblem>> {
        Box::pin(async move {
            let input = self.input.as_mut().ok_or(PlayProblem::Closed)?;
            input
                .write_all(format!("{command}\n").as_bytes())
                .await
                .map_err(|_| PlayProblem::Closed)
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Option<Value>> {
        Box::pin(self.records.recv())
    }

    fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }
}

async fn read_text(output: ChildStdout) -> String {
    let mut text = Vec::new();
    // What was read before an error is what there is to tell.
    let _ = output.take(PRINTED_KEPT).read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

/// Hands over each line that is JSON. A task of its own, since a line that is half read must survive a caller who stops
/// waiting.
async fn read_records(output: ChildStdout, records: UnboundedSender<Value>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut output)
            .take(LONGEST_RECORD)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Standard output belongs to the protocol; what is no record is kept as what it is, and judged.
        let record = super::value(&line).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(&line[..line.len().min(STRAY_KEPT)]);
            json!({ "type": "stray", "text": text })
        });
        if records.send(record).is_err() {
            return;
        }
    }
}

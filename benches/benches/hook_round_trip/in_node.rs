//! The addon inside Node, beside Node's own ways to ask the same child.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::{Child, ENVELOPE, Outcome};

/// A Node that asks one child whenever it is told to, in one way or another.
pub struct Node {
    process: std::process::Child,
    ways: ChildStdin,
    times: BufReader<ChildStdout>,
}

impl Node {
    /// Starts one.
    pub fn start(node: &Path, addon: &Path, child: Child) -> Outcome<Self> {
        let told = json!({
            "addon": addon, "program": child.program, "envelope": ENVELOPE, "pause": child.pause().as_millis(),
        });
        let mut process = Command::new(node)
            // A child has the variables of its host. Those of cargo name folders in which it would look for its libraries.
            .env_clear()
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("node/round-trip.mjs"))
            .arg(told.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let ways = process.stdin.take().ok_or("no stdin")?;
        let times = BufReader::new(process.stdout.take().ok_or("no stdout")?);
        Ok(Self {
            process,
            ways,
            times,
        })
    }

    /// The time that a question takes in one way, after the pause.
    pub fn time(&mut self, way: &str) -> Outcome<Duration> {
        writeln!(self.ways, "{way}")?;
        let mut time = String::new();
        self.times.read_line(&mut time)?;
        let microseconds: f64 = time
            .trim()
            .parse()
            .map_err(|_| format!("{way}: {time:?}"))?;
        Ok(Duration::from_secs_f64(microseconds / 1e6))
    }

    /// Ends it.
    pub fn end(mut self) -> Outcome<()> {
        drop(self.ways);
        let end = self.process.wait()?;
        end.success()
            .then_some(())
            .ok_or_else(|| format!("Node ended with {end}").into())
    }
}

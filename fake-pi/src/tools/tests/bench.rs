//! A folder with a tool in it.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::super::{SearchPrograms, ToolOptions, builtin_with, prepare};
use crate::tool::{ToolError, ToolOutput, ToolRun, ToolSession};

/// A session's folder and another for output files.
pub(super) struct Bench {
    pub(super) cwd: TempDir,
    pub(super) temp_dir: TempDir,
    pub(super) programs: SearchPrograms,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = || tempfile::tempdir().unwrap();
        Self {
            cwd: folder(),
            temp_dir: folder(),
            programs: SearchPrograms::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.cwd.path()
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(path), content).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(path)).ok()
    }

    /// Runs a tool as the host does: its arguments prepared, its abort never fired.
    pub(super) async fn run(&self, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
        self.start(tool, input, CancellationToken::new()).0.await
    }

    /// The text of a run that succeeds.
    pub(super) async fn text(&self, tool: &str, input: Value) -> String {
        let output = self.run(tool, input).await.unwrap();
        output.content[0]["text"].as_str().unwrap().to_owned()
    }

    /// The text of a run that throws.
    pub(super) async fn error(&self, tool: &str, input: Value) -> String {
        self.run(tool, input).await.unwrap_err().0
    }

    /// A run that can be aborted, and its updates.
    pub(super) fn start(
        &self,
        tool: &str,
        input: Value,
        abort: CancellationToken,
    ) -> (
        impl Future<Output = Result<ToolOutput, ToolError>> + use<>,
        UnboundedReceiver<Value>,
    ) {
        let options = ToolOptions {
            home: self.path().to_owned(),
            temp_dir: self.temp_dir.path().to_owned(),
        };
        let tools = builtin_with(&options, &self.programs);
        let found = tools
            .into_iter()
            .find(|candidate| candidate.definition().name == tool)
            .unwrap();
        let (updates, receiver) = unbounded_channel();
        let run = ToolRun {
            call_id: "c1".into(),
            input: prepare(tool, input),
            cwd: self.path().to_owned(),
            abort,
            updates,
            session: ToolSession::default(),
        };
        (found.execute(run), receiver)
    }
}

//! A folder in which the real Pi runs as a person starts it, with the scripted model and the scripted Gortex.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use scenarios::case::Case;
use scenarios::hosts::folder::CaseFolder;
use scenarios::hosts::model::ScriptedModel;
use scenarios::hosts::pi::endpoint::Endpoint;
use scenarios::setup::RealPi;
use scenarios::trace::recorder::Recorder;
use scenarios::trace::{Event, Lane};
use serde_json::json;
use tokio::process::Command;

/// A model that edits one file through the graph and then says so.
pub const EDIT: &str = r#"
title = "A graph edit, and a word about it"

[files]
"src/greet.rs" = """
/// Greets.
pub fn greet(name: &str) -> String {
    format!("Hi {name}")
}
"""

[[model]]
calls = [
  { id = "c1", tool = "mcp__gortex__edit", args = { operation = "file", path = "src/greet.rs", old_string = "Hi {name}", new_string = "Hello {name}" } },
]

[[model]]
say = "Greeted properly."

[[model]]
say = "Still here."

[[person]]
prompt = "Greet properly."

[[person]]
prompt = "And now?"
"#;

/// No run of Pi in these tests takes longer.
const LIMIT: Duration = Duration::from_secs(90);

/// The case in [`EDIT`].
pub fn edit() -> Case {
    toml::from_str(EDIT).expect("a case")
}

/// A folder, a model and a Pi.
pub struct World {
    pub folder: CaseFolder,
    pub pi: RealPi,
    case: Case,
    recorder: Recorder,
    started: Instant,
    _endpoint: Endpoint,
}

impl World {
    /// Lays it out for a case.
    pub async fn new(pi: &RealPi, case: &Case) -> Self {
        let folder =
            CaseFolder::lay_out(case, Some(&pi.gortex), BTreeMap::new()).expect("a folder");
        let recorder = Recorder::new(folder.placeholders());
        let model = ScriptedModel::new(case.model.clone(), recorder.clone());
        let endpoint = Endpoint::open(model).await.expect("an endpoint");
        fs::write(folder.agent().join("models.json"), endpoint.models_json()).expect("written");
        let script = json!({ "daemon": case.daemon, "hook": case.hook });
        fs::write(folder.scratch().join("script.json"), script.to_string()).expect("written");
        Self {
            folder,
            pi: pi.clone(),
            case: case.clone(),
            recorder,
            started: Instant::now(),
            _endpoint: endpoint,
        }
    }

    /// The variables with which everything in here runs.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.folder.variables(&self.case);
        for (name, path) in [
            ("HOME", self.folder.home()),
            ("TMPDIR", self.folder.scratch()),
            ("PI_CODING_AGENT_DIR", self.folder.agent()),
            (
                "FAKE_GORTEX_SCRIPT",
                self.folder.scratch().join("script.json"),
            ),
        ] {
            variables.insert(name.into(), path.display().to_string());
        }
        variables.insert("LANG".into(), "C.UTF-8".into());
        variables.insert("PI_OFFLINE".into(), "1".into());
        variables
    }

    /// A command in the project's folder.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.project())
            .env_clear()
            .envs(self.variables())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Pi with these arguments.
    pub fn pi(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.pi.node);
        command.arg(&self.pi.cli).args(arguments);
        command
    }

    /// How long ago the model gave its last answer.
    pub fn since_last_answer(&self) -> Duration {
        let answered = |event: &&Event| event.lane == Lane::Model && event.event == "answer";
        let events = self.recorder.take();
        let last = events.iter().rfind(answered).expect("the model answered");
        // The recorder's clock began with this one.
        self.started
            .elapsed()
            .saturating_sub(Duration::from_millis(last.t))
    }

    /// What the model was asked so far, oldest first.
    pub fn requests(&self) -> Vec<Event> {
        let asked = |event: &Event| event.lane == Lane::Model && event.event == "request";
        self.recorder.take().into_iter().filter(asked).collect()
    }
}

/// Arguments that choose the scripted model.
pub const MODEL: [&str; 4] = ["--provider", "bench", "--model", "scripted"];

/// Runs a command to its end.
pub async fn run(command: &mut Command) -> Output {
    tokio::time::timeout(LIMIT, command.output())
        .await
        .expect("it ends in time")
        .expect("it runs")
}

/// Both outputs, for a message.
pub fn told(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Runs a test's future on real time.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

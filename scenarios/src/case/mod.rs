//! A case: what is played, and what must hold.
//!
//! One TOML file under `cases/<area>/`. Every table refuses a key that it does not know, and the JSON Schema that
//! editors complete from is generated from these types.

pub mod beside;
pub mod expect;
pub mod host;
pub mod http;
pub mod load;
pub mod model;
mod names;
pub mod person;
pub mod problem;
pub mod script;
mod scripts;
pub mod settings;
pub mod since;
pub mod tools;
pub mod validate;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::expect::Expectation;
pub use self::host::{Connector, HostPart, Mode, OtherExtension};
pub use self::http::HttpServer;
pub use self::load::load;
pub use self::model::{Answer, Call};
pub use self::person::{Step, When};
pub use self::problem::CaseProblem;
pub use self::since::{Before, Since};

/// What is played, and what must hold.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case shows, in one sentence.
    pub title: String,
    /// Ids of the rules that it covers (`R5`, `H1`) and of the field failures that it plays (`O08`).
    #[serde(default)]
    pub covers: Vec<String>,
    /// Why the real Pi cannot be brought here; with it the case is played on sim only.
    #[serde(default)]
    pub sim_only: Option<String>,
    /// The version of Pi from which on all of this holds; without it, it holds in every version.
    #[serde(default)]
    pub since: Option<Since>,
    /// The host: connector and other extensions.
    #[serde(default)]
    pub host: HostPart,
    /// Files of the project, by path relative to its folder.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Files of the project that are programs; nothing in a case may ever run one, so each should leave a mark.
    #[serde(default)]
    pub programs: BTreeMap<String, String>,
    /// Sessions that are on disk from before, by name; a step resumes one by `resume_stored`.
    #[serde(default)]
    pub stored: BTreeMap<String, StoredSession>,
    /// The adapter's configuration.
    #[serde(default)]
    pub config: Config,
    /// What `gortex mcp` does.
    #[serde(default)]
    pub daemon: fake_gortex::DaemonScript,
    /// Further MCP servers by name, with the keys of `[daemon]`. Each is a program of its name on `PATH`; who starts it is
    /// up to `mcp.json` or to what an extension registers.
    #[serde(default)]
    pub servers: BTreeMap<String, fake_gortex::DaemonScript>,
    /// Which of them are reached over HTTP instead, and how they answer there.
    #[serde(default)]
    pub http: BTreeMap<String, HttpServer>,
    /// What `gortex hook` does.
    #[serde(default)]
    pub hook: fake_gortex::HookScript,
    /// What the model answers, request by request.
    #[serde(default)]
    pub model: Vec<Answer>,
    /// What the person does, in order.
    pub person: Vec<Step>,
    /// What must hold, besides what every play is checked for.
    #[serde(default)]
    pub expect: Vec<Expectation>,
}

impl Case {
    /// The prompts of all steps, in order.
    pub fn prompts(&self) -> Vec<&str> {
        self.person
            .iter()
            .filter_map(|step| step.prompt.as_deref())
            .collect()
    }
}

/// A session that is on disk from before: one prompt, and its answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoredSession {
    /// The folder that it worked in, relative to the project's; it need not exist.
    pub cwd: String,
    /// The prompt.
    pub prompt: String,
    /// The answer.
    pub answer: String,
}

/// The adapter's configuration in this case (rules C1 to C5). In each text and variable `<case>` stands for the folder
/// of the play, which holds `proj` (the project), `agent`, `home` and `bin` (what is on `PATH`).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Variables of the host's environment; only names that begin with `GORTEX_`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Text of `<cwd>/.pi/gortex.json`.
    #[serde(default)]
    pub project: Option<String>,
    /// Text of `<agent dir>/extensions/gortex.json`.
    #[serde(default)]
    pub global: Option<String>,
    /// Whether there is a `gortex` on `PATH`.
    #[serde(default = "yes")]
    pub installed: bool,
    /// Entries of `PATH` before the one of `installed`, as they are.
    #[serde(default)]
    pub path: Vec<String>,
    /// Further names of the Gortex executable: links at these paths, relative to the folder of the play.
    #[serde(default)]
    pub links: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            env: BTreeMap::new(),
            project: None,
            global: None,
            installed: true,
            path: Vec::new(),
            links: Vec::new(),
        }
    }
}

fn yes() -> bool {
    true
}

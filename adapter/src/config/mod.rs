//! The settings of a session: layers, first hit wins per key (C1-C5).

mod binary;
mod keys;
mod layer;
mod preset;

use std::path::{Path, PathBuf};

use crate::{Environment, texts};
use layer::{FileLayer, Value, switch};

pub use keys::{KEYS, Key};
pub use preset::is_preset_spec;

/// How the hook steers reads (`--mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookMode {
    /// Blocks reads and searches of indexed source.
    #[default]
    Deny,
    /// Never blocks.
    Enrich,
    /// Blocks until a graph call was seen.
    ConsultUnlock,
    /// Blocks once after a streak of calls that are no graph calls.
    Nudge,
}

impl HookMode {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "deny" => Some(Self::Deny),
            "enrich" => Some(Self::Enrich),
            "consult-unlock" => Some(Self::ConsultUnlock),
            "nudge" | "adaptive-nudge" => Some(Self::Nudge),
            _ => None,
        }
    }

    /// The arguments of a hook call. The default mode rides as no flag (wire.md "Command line").
    #[must_use]
    pub fn hook_args(self) -> Vec<String> {
        let mode = match self {
            Self::Deny => None,
            Self::Enrich => Some("--mode=enrich"),
            Self::ConsultUnlock => Some("--mode=consult-unlock"),
            Self::Nudge => Some("--mode=nudge"),
        };
        ["hook", "--agent=pi"]
            .into_iter()
            .chain(mode)
            .map(str::to_owned)
            .collect()
    }
}

/// The settings of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The Gortex executable, absolute, or why there is none (C8).
    pub bin: Result<PathBuf, String>,
    /// The posture of the hook.
    pub hook_mode: HookMode,
    /// Whether calls are sent to the hook at all.
    pub enforce: bool,
    /// A valid tool-surface spec (C5).
    pub tools_preset: Option<String>,
    /// Whether a hook child may be kept ready (H8).
    pub warm_hook: bool,
    /// What the user should be told about the layers, a line each (C2, C3): at most one for each file, one for the
    /// project's executable, and one for each key of a layer, whatever the files hold.
    pub problems: Vec<String>,
}

impl Settings {
    /// Resolves the settings of a session in `cwd`. Reads two small files and looks for the executable.
    #[must_use]
    pub fn resolve(environment: &Environment, cwd: &Path) -> Self {
        let project = FileLayer::read(&cwd.join(".pi").join("gortex.json"));
        let global = environment
            .agent_dir()
            .map(|dir| FileLayer::read(&dir.join("extensions").join("gortex.json")))
            .unwrap_or_default();
        let mut layers = Layers {
            environment,
            files: [project, global],
            problems: Vec::new(),
        };
        layers.report_files();
        let bin = binary::resolve(environment, cwd, layers.bin().as_deref());
        Self {
            bin,
            hook_mode: layers
                .first(&keys::HOOK_MODE, |value| HookMode::parse(value.text()?))
                .unwrap_or_default(),
            enforce: layers.first(&keys::ENFORCE, switch).unwrap_or(true),
            tools_preset: layers.first(&keys::TOOLS_PRESET, |value| {
                value
                    .text()
                    .filter(|spec| is_preset_spec(spec))
                    .map(str::to_owned)
            }),
            warm_hook: layers.first(&keys::WARM_HOOK, switch).unwrap_or(true),
            problems: layers.problems,
        }
    }
}

/// The layers above the defaults, best first.
struct Layers<'a> {
    environment: &'a Environment,
    /// The project's file, then the user's own.
    files: [FileLayer; 2],
    problems: Vec<String>,
}

impl Layers<'_> {
    fn report_files(&mut self) {
        self.problems
            .extend(self.files.iter().filter_map(FileLayer::problem));
        // C2: whatever its spelling, a project's own executable is never used. Told of the first spelling only: a
        // project may hold thousands, and a person reads one line.
        let [project, _] = &self.files;
        let claim = project.keys().find(|key| names_the_binary(key));
        self.problems
            .extend(claim.map(|key| texts::project_bin(&project.place(key))));
    }

    /// The first layer whose value `read` accepts; the ones before it that hold another are told to the user.
    fn first<T>(&mut self, key: &Key, read: impl Fn(&Value<'_>) -> Option<T>) -> Option<T> {
        if let Some(value) = self.environment.var(key.variable) {
            match read(&Value::Variable(value)) {
                Some(value) => return Some(value),
                None => self.problems.push(texts::bad_variable(key.variable)),
            }
        }
        for file in &self.files {
            if let Some(value) = file.get(key.name) {
                match read(&Value::Json(value)) {
                    Some(value) => return Some(value),
                    None => self.problems.push(texts::bad_key(&file.place(key.name))),
                }
            }
        }
        None
    }

    /// The executable by name or path: from the environment or the user's own file, never from the project's.
    fn bin(&mut self) -> Option<String> {
        if let Some(bin) = self.environment.var(keys::BIN.variable) {
            return Some(bin.to_owned());
        }
        let [_, global] = &self.files;
        let value = global.get(keys::BIN.name)?;
        let bin = Value::Json(value)
            .text()
            .filter(|bin| !bin.is_empty())
            .map(str::to_owned);
        if bin.is_none() {
            self.problems
                .push(texts::bad_key(&global.place(keys::BIN.name)));
        }
        bin
    }
}

/// Whether a key could be taken for `bin`: any case, with any punctuation, and by the variable's name.
fn names_the_binary(key: &str) -> bool {
    let letters: String = key
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    matches!(letters.as_str(), "bin" | "gortexbin" | "binary")
}

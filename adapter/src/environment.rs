//! The process environment as the host captured it; the core reads no global.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Variables and the home folder of the host's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Every environment variable.
    pub vars: BTreeMap<String, String>,
    /// The user's home folder, absolute, where there is one.
    pub home: Option<PathBuf>,
    /// The folder that the process runs in, absolute. No session's: several sessions of one process differ in theirs.
    pub cwd: Option<PathBuf>,
}

impl Environment {
    /// The value of a variable; an empty one counts as unset.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Pi's agent folder (C1): `PI_CODING_AGENT_DIR` with `~` expanded, else `~/.pi/agent`. `None` without a home.
    ///
    /// Pi 1.6.0 leaves a relative one as it is, so that it lies below the folder that the process runs in, whatever the
    /// session's.
    #[must_use]
    pub fn agent_dir(&self) -> Option<PathBuf> {
        match self.var("PI_CODING_AGENT_DIR") {
            Some(dir) => self.place(dir),
            None => self
                .home
                .as_ref()
                .map(|home| home.join(".pi").join("agent")),
        }
    }

    /// The absolute place of a path from a variable. `None` where that needs a folder that there is not.
    #[must_use]
    pub fn place(&self, path: &str) -> Option<PathBuf> {
        let path = self.expand(path)?;
        if path.is_absolute() {
            Some(path)
        } else {
            Some(self.cwd.as_ref()?.join(path))
        }
    }

    /// Expands a leading `~` or `~/`. `None` where that needs a home and there is none.
    #[must_use]
    pub fn expand(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => {
                Some(self.home.as_ref()?.join(rest.trim_start_matches('/')))
            }
            _ => Some(Path::new(path).to_path_buf()),
        }
    }
}

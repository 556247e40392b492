//! The folder in which one case is played: project, agent folder, home, programs.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::case::Case;

/// Stands for the folder in a trace.
const PLACEHOLDER: &str = "<case>";

/// A folder of its own for one play; it is gone when this is dropped.
#[derive(Debug)]
pub struct CaseFolder {
    temp: TempDir,
    root: PathBuf,
}

impl CaseFolder {
    /// Lays out the folder for a case. `gortex` is the program that the name `gortex` on `PATH` leads to; without one a
    /// file that only looks like a program stands there, which is all that the simulated host needs.
    ///
    /// # Errors
    /// What the file system gives.
    pub fn lay_out(case: &Case, gortex: Option<&Path>) -> io::Result<Self> {
        let temp = tempfile::Builder::new().prefix("pi-bench-").tempdir()?;
        let root = temp.path().canonicalize()?;
        let folder = Self { temp, root };
        for part in [
            folder.project(),
            folder.agent(),
            folder.home(),
            folder.programs(),
            folder.scratch(),
        ] {
            fs::create_dir_all(part)?;
        }
        for (path, text) in &case.files {
            write(&folder.project().join(path), text)?;
        }
        if let Some(text) = &case.config.project {
            write(&folder.project().join(".pi/gortex.json"), text)?;
        }
        if let Some(text) = &case.config.global {
            write(&folder.agent().join("extensions/gortex.json"), text)?;
        }
        if case.config.installed {
            let name = folder.programs().join("gortex");
            match gortex {
                Some(program) => symlink(program, name)?,
                None => {
                    fs::write(&name, "#!/bin/sh\nexit 1\n")?;
                    fs::set_permissions(&name, fs::Permissions::from_mode(0o755))?;
                }
            }
        }
        Ok(folder)
    }

    /// The session's working directory.
    pub fn project(&self) -> PathBuf {
        self.root.join("proj")
    }

    /// Pi's agent folder.
    pub fn agent(&self) -> PathBuf {
        self.root.join("agent")
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The only folder of the case on `PATH`.
    pub fn programs(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Where the runner's own files and temporary files of the host go.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Where the adapter writes its log.
    pub fn log(&self) -> PathBuf {
        self.scratch().join("gortex-pi.log")
    }

    /// The value of `PATH` for the host.
    pub fn path_variable(&self) -> String {
        format!("{}:/usr/bin:/bin", self.programs().display())
    }

    /// What stands for what in a trace.
    pub fn placeholders(&self) -> Vec<(String, String)> {
        // Pi names a project's folder of sessions after its path, with dashes for slashes.
        let dashed = self.root.to_string_lossy().replace('/', "-");
        vec![
            (self.root.to_string_lossy().into_owned(), PLACEHOLDER.into()),
            (dashed, format!("-{PLACEHOLDER}")),
        ]
    }

    /// The texts of the project's files by relative path, in order: what is no file of at most 64 KiB of UTF-8 is left
    /// out, and so are Pi's own folder and all files beyond the first 64.
    pub fn texts(project: &Path) -> Value {
        let mut found = Vec::new();
        collect(project, project, &mut found);
        found.sort();
        found.truncate(64);
        Value::Object(
            found
                .into_iter()
                .map(|(path, text)| (path, Value::String(text)))
                .collect(),
        )
    }

    /// Removes the folder now, so that a failure to do so is seen.
    ///
    /// # Errors
    /// What the file system gives.
    pub fn remove(self) -> io::Result<()> {
        self.temp.close()
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        if kind.is_dir() {
            if name != ".pi" {
                collect(root, &path, found);
            }
        } else if kind.is_file()
            && entry.metadata().is_ok_and(|about| about.len() <= 64 * 1024)
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.push((name, text));
        }
    }
}

//! The folder in which one case is played: project, agent folder, home, programs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::case::{Case, OtherExtension, StoredSession};

/// Stands for the folder in a trace.
const PLACEHOLDER: &str = "<case>";

/// A folder of its own for one play; it is gone when this is dropped.
#[derive(Debug)]
pub struct CaseFolder {
    temp: TempDir,
    root: PathBuf,
    /// The addresses of the case's HTTP servers.
    addresses: BTreeMap<String, String>,
}

impl CaseFolder {
    /// Lays out the folder for a case. `gortex` is the program that the name `gortex` on `PATH` leads to; without one a
    /// file that only looks like a program stands there, which is all that the simulated host needs. `addresses` are those
    /// of the case's HTTP servers on the host.
    ///
    /// # Errors
    /// What the file system gives.
    pub fn lay_out(
        case: &Case,
        gortex: Option<&Path>,
        addresses: BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let temp = tempfile::Builder::new().prefix("pi-bench-").tempdir()?;
        let root = temp.path().canonicalize()?;
        let folder = Self {
            temp,
            root,
            addresses,
        };
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
        for (path, text) in &case.programs {
            program(&folder.project().join(path), text)?;
        }
        let settings = case.host.settings.file(&case.host.tools);
        let config = [
            (folder.agent().join("settings.json"), &settings),
            (
                folder.project().join(".pi/gortex.json"),
                &case.config.project,
            ),
            (
                folder.agent().join("extensions/gortex.json"),
                &case.config.global,
            ),
            (folder.agent().join("mcp.json"), &case.host.mcp_json.user),
            (
                folder.project().join(".pi/mcp.json"),
                &case.host.mcp_json.project,
            ),
        ];
        for (path, text) in config {
            if let Some(text) = text {
                write(&path, &folder.filled(text))?;
            }
        }
        for (number, (name, session)) in case.stored.iter().enumerate() {
            let text = stored_text(&folder.project().join(&session.cwd), number, session);
            write(&folder.stored().join(format!("{name}.jsonl")), &text)?;
        }
        match gortex {
            Some(program) => symlink(program, folder.gortex())?,
            None => program(&folder.gortex(), "#!/bin/sh\nexit 1\n")?,
        }
        let on_path = case.config.installed.then(|| "bin/gortex".to_owned());
        let started = case
            .servers
            .keys()
            .filter(|name| !case.http.contains_key(*name));
        let servers: Vec<String> = started.map(|name| format!("bin/{name}")).collect();
        for link in on_path.iter().chain(&case.config.links).chain(&servers) {
            let link = folder.root.join(link);
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent)?;
            }
            symlink(folder.gortex(), link)?;
        }
        Ok(folder)
    }

    /// A text of the case with the folder, and the addresses of servers, in the place of their placeholders.
    pub fn filled(&self, text: &str) -> String {
        let text = text.replace(PLACEHOLDER, &self.root.to_string_lossy());
        let servers = self.addresses.iter();
        servers.fold(text, |text, (name, address)| {
            text.replace(&server_placeholder(name), address)
        })
    }

    /// A scripted extension whose registrations are filled in the same way.
    pub fn filled_in(&self, extension: &OtherExtension) -> OtherExtension {
        let fill = |registered: &mut BTreeMap<String, Value>| {
            registered.values_mut().for_each(|value| self.fill(value));
        };
        let mut filled = extension.clone();
        fill(&mut filled.registers);
        let commands = filled.commands.iter_mut().map(|command| &mut command.does);
        let handlers = filled.on.iter_mut().map(|handler| &mut handler.does);
        for deeds in commands.chain(handlers) {
            fill(&mut deeds.registers);
        }
        filled
    }

    fn fill(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.filled(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill(item)),
            Value::Object(members) => members.values_mut().for_each(|item| self.fill(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The Gortex executable itself, where nothing looks for it.
    pub fn gortex(&self) -> PathBuf {
        self.scratch().join("fake-gortex")
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

    /// Where sessions from before the play lie.
    pub fn stored(&self) -> PathBuf {
        self.agent().join("sessions").join("before")
    }

    /// Where the adapter writes its log.
    pub fn log(&self) -> PathBuf {
        self.scratch().join("gortex-pi.log")
    }

    /// The variables that a case sets: the adapter's, and `PATH`.
    pub fn variables(&self, case: &Case) -> BTreeMap<String, String> {
        let own = case.config.env.iter();
        let mut variables: BTreeMap<_, _> = own
            .map(|(name, value)| (name.clone(), self.filled(value)))
            .collect();
        let path = case.config.path.iter().map(|entry| self.filled(entry));
        let path: Vec<String> = path
            .chain([
                self.programs().display().to_string(),
                "/usr/bin:/bin".into(),
            ])
            .collect();
        variables.insert("PATH".into(), path.join(":"));
        variables
    }

    /// What stands for what in a trace.
    pub fn placeholders(&self) -> Vec<(String, String)> {
        // Pi names a project's folder of sessions after its path, with dashes for slashes.
        let dashed = self.root.to_string_lossy().replace('/', "-");
        let mut placeholders = vec![
            (self.root.to_string_lossy().into_owned(), PLACEHOLDER.into()),
            (dashed, format!("-{PLACEHOLDER}")),
        ];
        let servers = self.addresses.iter();
        placeholders
            .extend(servers.map(|(name, address)| (address.clone(), server_placeholder(name))));
        placeholders
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

/// Stands for the address of an HTTP server.
fn server_placeholder(name: &str) -> String {
    format!("<server {name}>")
}

/// A session's file as Pi writes it (Pi's page on the session format).
fn stored_text(cwd: &Path, number: usize, session: &StoredSession) -> String {
    const AT: &str = "2026-01-01T00:00:00.000Z";
    let id = format!("01900000-0000-7000-8000-{number:012x}");
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let usage = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } });
    let lines = [
        json!({ "type": "session", "version": 3, "id": id, "timestamp": AT, "cwd": cwd }),
        json!({ "type": "message", "id": "00000001", "parentId": null, "timestamp": AT,
            "message": { "role": "user", "content": text(&session.prompt), "timestamp": 1 } }),
        json!({ "type": "message", "id": "00000002", "parentId": "00000001", "timestamp": AT,
            "message": { "role": "assistant", "content": text(&session.answer), "api": "openai-completions",
                "provider": "bench", "model": "scripted", "usage": usage, "stopReason": "stop", "timestamp": 2 } }),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn program(path: &Path, text: &str) -> io::Result<()> {
    write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
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

//! The runner's own files of one play: the scripts, what is recorded, and the extensions around ours.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::case::Case;
use crate::case::host::Place;
use crate::hosts::PlayProblem;
use crate::hosts::folder::CaseFolder;

/// The files.
pub struct RunFiles {
    /// What the scripted Gortex does.
    pub script: PathBuf,
    /// What it saw.
    pub journal: PathBuf,
    /// What the recorders saw.
    pub events: PathBuf,
    /// The extensions that Pi loads before ours, in order.
    pub before: Vec<PathBuf>,
    /// Those that it loads after ours.
    pub after: Vec<PathBuf>,
}

impl RunFiles {
    /// Writes them.
    ///
    /// # Errors
    /// What the file system gives.
    pub fn write(case: &Case, folder: &CaseFolder) -> Result<Self, PlayProblem> {
        let run = folder.scratch();
        let events = run.join("events.jsonl");
        let script = run.join("script.json");
        fs::write(
            &script,
            json!({ "daemon": case.daemon, "hook": case.hook, "servers": case.servers })
                .to_string(),
        )?;
        // Where Pi prints no events, the last recorder keeps those of the host too.
        let silent = !case.host.mode.prints_events();
        let recorder = |by: &str| {
            let call = format!("record({}, {}, {silent})", json!(by), json!(events));
            entry(&run, &format!("record-{by}"), "record.ts", &call)
        };
        let mut before = vec![recorder("first")?];
        let mut after = Vec::new();
        for other in &case.host.extensions {
            let call = format!(
                "scripted({}, {})",
                json!(folder.filled_in(other)),
                json!(events)
            );
            let path = entry(&run, &other.name, "scripted.ts", &call)?;
            match other.place {
                Place::Before => before.push(path),
                Place::After => after.push(path),
            }
        }
        after.push(recorder("last")?);
        Ok(Self {
            script,
            journal: run.join("journal.jsonl"),
            events,
            before,
            after,
        })
    }

    /// All extensions in load order, ours among them.
    pub fn extensions<'a>(&'a self, ours: &'a Path) -> impl Iterator<Item = &'a Path> {
        let before = self.before.iter().map(PathBuf::as_path);
        let after = self.after.iter().map(PathBuf::as_path);
        before.chain([ours]).chain(after)
    }
}

/// Writes the file that Pi loads: it calls a function of ours with values written as JSON, which is JavaScript too.
fn entry(run: &Path, name: &str, library: &str, call: &str) -> Result<PathBuf, PlayProblem> {
    let function = call.split('(').next().unwrap_or_default();
    let path = run.join(format!("{name}.ts"));
    fs::write(
        &path,
        format!(
            "import {{ {function} }} from {};\nexport default {call};\n",
            json!(library_path(library))
        ),
    )?;
    Ok(path)
}

/// A TypeScript file of the bench.
pub fn library_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("real-pi")
        .join(name)
}

/// The entries of each session that Pi wrote below its agent folder, oldest first: a file's name begins with its time.
pub fn stored_sessions(agent: &Path) -> Vec<Vec<Value>> {
    let mut files: Vec<PathBuf> = Vec::new();
    let folders = fs::read_dir(agent.join("sessions")).into_iter().flatten();
    for folder in folders.flatten() {
        let inside = fs::read_dir(folder.path()).into_iter().flatten();
        files.extend(inside.flatten().map(|file| file.path()));
    }
    files.sort_by_key(|file| file.file_name().map(ToOwned::to_owned));
    let entries = |file: PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        // The first line is the session's header.
        let lines = text.lines().skip(1);
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    files.into_iter().map(entries).collect()
}

//! The real Pi as a host: driven from outside, unmodified.
//!
//! Pi runs in RPC mode in a folder of the case's own, with the real addon, the `fake-gortex` binary as `gortex`, the
//! scripted model behind a loopback endpoint, and recording extensions around ours.

pub mod endpoint;
mod network;
mod process;
mod tail;

use std::fs;
use std::path::{Path, PathBuf};

use fake_pi::Version;
use serde_json::{Value, json};
use tokio::process::Command;

use self::endpoint::Endpoint;
use self::network::Ports;
use self::process::Process;
use self::tail::Tail;
use super::folder::CaseFolder;
use super::http::HttpServers;
use super::model::ScriptedModel;
use super::{PlayProblem, Unfinished, person};
use crate::case::host::Place;
use crate::case::{Case, Connector};
use crate::setup::RealPi;
use crate::trace::recorder::Recorder;
use crate::trace::{Header, Lane, Trace, normal};

/// Plays a case on the real Pi.
///
/// # Errors
/// When Pi does not start, ends in the middle or hangs, or the case's folder fails; with what was recorded until then.
pub async fn play(name: &str, case: &Case, pi: &RealPi) -> Result<Trace, Box<Unfinished>> {
    let ports = Ports::take(case).await?;
    let folder = CaseFolder::lay_out(case, Some(&pi.gortex), ports.addresses())?;
    let mut placeholders = folder.placeholders();
    placeholders.push((pi.package.display().to_string(), "<adapter>".into()));
    let recorder = Recorder::new(placeholders);
    let header = Header {
        trace: 1,
        case: name.into(),
        host: "pi".into(),
        pi: pi.version.clone(),
        seed: None,
    };
    let servers = HttpServers::new(case, &folder.project(), &recorder);
    let served = ports.serve(&servers);
    let ended = run(case, pi, &folder, &recorder).await;
    drop(served);
    let removed = folder.remove().map_err(PlayProblem::from);
    super::finish(header, &recorder, ended.and(removed))
}

async fn run(
    case: &Case,
    pi: &RealPi,
    folder: &CaseFolder,
    recorder: &Recorder,
) -> Result<(), PlayProblem> {
    let endpoint = Endpoint::open(ScriptedModel::new(case.model.clone(), recorder.clone())).await?;
    fs::write(folder.agent().join("models.json"), endpoint.models_json())?;
    if case.host.connector == Connector::Absent && without_option(pi) {
        let settings = json!({ "extensions": ["-builtin:mcp"] });
        fs::write(folder.agent().join("settings.json"), settings.to_string())?;
    }
    let files = RunFiles::write(case, folder)?;
    let journal = follow_journal(files.journal.clone(), recorder.clone());
    let events = follow_events(files.events.clone(), recorder.clone());

    let mut process = Process::start(command(case, pi, folder, &files), &folder.project())?;
    if let Err(problem) = person::play(case, &mut process, recorder).await {
        let stderr = process.stderr();
        drop(process);
        journal.finish().await;
        events.finish().await;
        return Err(match problem {
            PlayProblem::Closed if !stderr.is_empty() => PlayProblem::NotStarted(stderr),
            other => other,
        });
    }
    process.close();
    person::listen_to_the_end(&mut process, recorder).await;
    let end = process.end().await?;
    journal.finish().await;
    events.finish().await;
    super::record_log(recorder, &folder.log());
    recorder.record(
        Lane::Disk,
        "end",
        json!({ "files": CaseFolder::texts(&folder.project()) }),
    );
    recorder.record(
        Lane::Person,
        "closed",
        json!({ "exit": end.exit, "stderr": end.stderr, "leftovers": end.leftovers }),
    );
    Ok(())
}

/// The runner's own files of one play.
struct RunFiles {
    script: PathBuf,
    journal: PathBuf,
    events: PathBuf,
    extensions: Vec<PathBuf>,
    last: PathBuf,
    after: Vec<PathBuf>,
}

impl RunFiles {
    fn write(case: &Case, folder: &CaseFolder) -> Result<Self, PlayProblem> {
        let run = folder.scratch();
        let events = run.join("events.jsonl");
        let script = run.join("script.json");
        fs::write(
            &script,
            json!({ "daemon": case.daemon, "hook": case.hook, "servers": case.servers })
                .to_string(),
        )?;
        let recorder = |by: &str| {
            entry(
                &run,
                &format!("record-{by}"),
                "record.ts",
                &format!("record({}, {})", json!(by), json!(events)),
            )
        };
        let mut extensions = vec![recorder("first")?];
        let mut after = Vec::new();
        for other in &case.host.extensions {
            let call = format!("scripted({}, {})", json!(folder.filled_in(other)), json!(events));
            let path = entry(&run, &other.name, "scripted.ts", &call)?;
            match other.place {
                Place::Before => extensions.push(path),
                Place::After => after.push(path),
            }
        }
        let last = recorder("last")?;
        Ok(Self {
            script,
            journal: run.join("journal.jsonl"),
            events,
            extensions,
            last,
            after,
        })
    }
}

/// Writes the file that Pi loads: it calls a function of ours with values written as JSON, which is JavaScript too.
fn entry(run: &Path, name: &str, library: &str, call: &str) -> Result<PathBuf, PlayProblem> {
    let function = call.split('(').next().unwrap_or_default();
    let library = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("real-pi")
        .join(library);
    let path = run.join(format!("{name}.ts"));
    fs::write(
        &path,
        format!(
            "import {{ {function} }} from {};\nexport default {call};\n",
            json!(library)
        ),
    )?;
    Ok(path)
}

/// Whether this Pi has no `--no-mcp` (pi-host.md 14); its settings say the same there.
fn without_option(pi: &RealPi) -> bool {
    pi.version == Version::V1_0_3.as_str()
}

fn command(case: &Case, pi: &RealPi, folder: &CaseFolder, files: &RunFiles) -> Command {
    let mut command = Command::new(&pi.node);
    command.arg(&pi.cli).args([
        "--mode",
        "rpc",
        "--provider",
        "bench",
        "--model",
        "scripted",
    ]);
    if case.host.connector == Connector::Absent && !without_option(pi) {
        command.arg("--no-mcp");
    }
    if case.host.trusted {
        command.arg("--approve");
    }
    let ours = std::iter::once(&pi.package);
    for extension in files
        .extensions
        .iter()
        .chain(ours)
        .chain(&files.after)
        .chain([&files.last])
    {
        command.arg("-e").arg(extension);
    }
    command
        .current_dir(folder.project())
        .env_clear()
        .env("HOME", folder.home())
        .env("TMPDIR", folder.scratch())
        .env("LANG", "C.UTF-8")
        .env("PI_CODING_AGENT_DIR", folder.agent())
        .env("PI_OFFLINE", "1")
        .env("GORTEX_PI_LOG", folder.log())
        .env("FAKE_GORTEX_SCRIPT", &files.script)
        .env("FAKE_GORTEX_JOURNAL", &files.journal)
        .envs(folder.variables(case));
    command
}

fn follow_journal(path: PathBuf, recorder: Recorder) -> Tail {
    Tail::follow(path, move |value| {
        if let Ok(entry) = serde_json::from_value::<fake_gortex::JournalEntry>(value) {
            super::record_journal(&recorder, entry);
        }
    })
}

fn follow_events(path: PathBuf, recorder: Recorder) -> Tail {
    Tail::follow(path, move |value| {
        let lane = if value["lane"] == "disk" {
            Lane::Disk
        } else {
            Lane::Extension
        };
        let event = value["event"].as_str().unwrap_or_default().to_owned();
        let payload = match lane {
            Lane::Extension => normal::extension_event(&value["payload"]),
            _ => value["payload"].clone(),
        };
        recorder.record(lane, &event, payload);
    })
}

/// A line that JavaScript wrote as JSON; `None` when it is none. Half a surrogate pair, which a Rust string cannot hold,
/// becomes U+FFFD, as it does on the simulated host.
fn value(line: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    serde_json::from_str(&fake_pi::without_lone_surrogates(text)).ok()
}

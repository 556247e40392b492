//! The real Pi as a host: driven from outside, unmodified.
//!
//! Pi runs in the case's mode in a folder of its own, with the real addon, the `fake-gortex` binary as `gortex`, the
//! scripted model behind a loopback endpoint, and recording extensions around ours.

mod command;
pub mod endpoint;
mod files;
mod network;
mod pipes;
mod process;
mod tail;
mod terminal;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use self::command::command;
use self::endpoint::Endpoint;
use self::files::RunFiles;
use self::network::Ports;
use self::pipes::{Output, Pipes};
use self::process::End;
use self::tail::Tail;
use self::terminal::Terminal;
use super::folder::CaseFolder;
use super::http::HttpServers;
use super::model::ScriptedModel;
use super::person::{Left, listen_to_the_end};
use super::{PlayProblem, Unfinished, person};
use crate::case::{Case, Connector, Mode};
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
    if case.host.connector == Connector::Absent && command::lacks_no_mcp(pi) {
        let path = folder.agent().join("settings.json");
        let laid_out = fs::read_to_string(&path).unwrap_or_default();
        let mut settings: Value = serde_json::from_str(&laid_out).unwrap_or_else(|_| json!({}));
        settings["extensions"] = json!(["-builtin:mcp"]);
        fs::write(path, settings.to_string())?;
    }
    let files = RunFiles::write(case, folder)?;
    let journal = follow_journal(files.journal.clone(), recorder.clone());
    let (seen, sees) = unbounded_channel();
    let events = follow_events(files.events.clone(), recorder.clone(), seen);
    let started = command(case, pi, folder, &files);
    let mark = folder.project();
    let ended = match case.host.mode {
        Mode::Terminal => {
            let terminal = Terminal::start(started, &mark, sees)?;
            through_keys(case, folder, terminal, recorder).await
        }
        Mode::Print => {
            let pipes = Pipes::start(started, &mark, Output::Text)?;
            through_pipes(case, folder, pipes, recorder).await
        }
        Mode::Rpc | Mode::Json | Mode::Embedded => {
            let pipes = Pipes::start(started, &mark, Output::Records)?;
            through_pipes(case, folder, pipes, recorder).await
        }
    };
    journal.finish().await;
    events.finish().await;
    let (end, printed) = ended?;
    super::record_stdout(recorder, &printed);
    super::record_stored(
        recorder,
        case.host.mode,
        &files::stored_sessions(&folder.agent()),
    );
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

/// Plays a case on a child at the end of pipes.
async fn through_pipes(
    case: &Case,
    folder: &CaseFolder,
    mut pipes: Pipes,
    recorder: &Recorder,
) -> Result<(End, String), PlayProblem> {
    if case.host.mode.is_one_shot() {
        pipes
            .give(case.host.piped.as_deref().unwrap_or_default())
            .await?;
    }
    match person::play(case, &folder.stored(), &mut pipes, recorder).await {
        Ok(Left::Done) => pipes.close(),
        Ok(Left::Ends) => {}
        Err(problem) => return Err(told(problem, pipes.stderr())),
    }
    listen_to_the_end(case.host.mode, &mut pipes, recorder).await;
    pipes.end().await
}

/// Plays a case in a terminal.
async fn through_keys(
    case: &Case,
    folder: &CaseFolder,
    mut terminal: Terminal,
    recorder: &Recorder,
) -> Result<(End, String), PlayProblem> {
    match person::play(case, &folder.stored(), &mut terminal, recorder).await {
        Ok(Left::Done) => terminal.close(),
        Ok(Left::Ends) => {}
        Err(problem) => return Err(told(problem, terminal.stderr())),
    }
    Ok((terminal.end().await?, String::new()))
}

/// A Pi that ended too early says why on standard error.
fn told(problem: PlayProblem, stderr: String) -> PlayProblem {
    match problem {
        PlayProblem::Closed if !stderr.is_empty() => PlayProblem::NotStarted(stderr),
        other => other,
    }
}

fn follow_journal(path: PathBuf, recorder: Recorder) -> Tail {
    Tail::follow(path, move |value| {
        if let Ok(entry) = serde_json::from_value::<fake_gortex::JournalEntry>(value) {
            super::record_journal(&recorder, entry);
        }
    })
}

/// Follows what the recorders see; `seen` is told too, for who has nothing else to go by.
fn follow_events(path: PathBuf, recorder: Recorder, seen: UnboundedSender<Value>) -> Tail {
    Tail::follow(path, move |value| {
        let event = value["event"].as_str().unwrap_or_default();
        let payload = value.get("payload").cloned().unwrap_or_default();
        match value["lane"].as_str() {
            Some("host") => {
                let mut record = json!({ "type": event });
                for (name, member) in payload.as_object().into_iter().flatten() {
                    record[name] = member.clone();
                }
                if let Some((lane, event, payload)) = normal::rpc_record(&record) {
                    recorder.record(lane, &event, payload);
                }
            }
            Some("disk") => recorder.record(Lane::Disk, event, payload),
            _ => recorder.record(Lane::Extension, event, normal::extension_event(&payload)),
        }
        // Only a terminal listens.
        let _ = seen.send(value);
    })
}

/// A line that JavaScript wrote as JSON; `None` when it is none. Half a surrogate pair, which a Rust string cannot hold,
/// becomes U+FFFD, as it does on the simulated host.
fn value(line: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    serde_json::from_str(&fake_pi::without_lone_surrogates(text)).ok()
}

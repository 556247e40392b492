//! Replacing the session: new, resume, fork, reload (pi-host.md 6).

use std::sync::Arc;

use serde_json::{Value, json};

use super::{new_history, session_file};
use crate::fault::Fault;
use crate::host::Shared;
use crate::instance::Instance;
use crate::mode::Mode;
use crate::session::Session;
use crate::session::history::History;
use crate::version::Difference;

/// What replaces a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// An empty session.
    New,
    /// A session that was kept.
    Resume { file: String },
    /// The current session up to `leaf`; `entry` and `position` are what the extensions are told.
    Fork {
        entry: String,
        leaf: Option<String>,
        position: &'static str,
    },
}

impl Replacement {
    fn reason(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Resume { .. } => "resume",
            Self::Fork { .. } => "fork",
        }
    }

    fn before_event(&self) -> Value {
        match self {
            Self::New => json!({"type": "session_before_switch", "reason": "new"}),
            Self::Resume { file } => {
                json!({"type": "session_before_switch", "reason": "resume", "targetSessionFile": file})
            }
            Self::Fork {
                entry, position, ..
            } => {
                json!({"type": "session_before_fork", "entryId": entry, "position": position})
            }
        }
    }
}

/// Where a fork at this entry begins, and the text of the prompt that is left out.
///
/// # Errors
/// Pi's text for an entry that is no prompt of the person.
pub(super) fn fork_point(session: &Session, entry: &str) -> Result<(Replacement, String), String> {
    const INVALID: &str = "Invalid entry ID for forking";
    let history = session.history();
    let value = history.entry(entry).ok_or(INVALID)?;
    if value["type"] != "message" || value["message"]["role"] != "user" {
        return Err(INVALID.to_owned());
    }
    let parent = history.parent(entry).ok_or(INVALID)?;
    let parts = value["message"]["content"].as_array().into_iter().flatten();
    let text = parts.filter_map(|part| part["text"].as_str()).collect();
    Ok((
        Replacement::Fork {
            entry: entry.to_owned(),
            leaf: if session.host.makes(Fault::ForksTooLate) {
                Some(entry.to_owned())
            } else {
                parent
            },
            position: "before",
        },
        text,
    ))
}

/// Replaces the current session. Gives whether a handler cancelled it.
///
/// # Errors
/// Why the next session could not be made; the current one may be gone by then, as on the real Pi.
pub(crate) async fn replace(host: &Arc<Shared>, replacement: Replacement) -> Result<bool, String> {
    let session = host.session().ok_or("no session")?;
    if let Mode::Embedded { .. } = host.options.mode {
        return embed_another(host, &session, replacement).await;
    }
    let asked = session.instance().emit(replacement.before_event()).await;
    // A `cancel` that is merely true in JavaScript's eyes keeps later handlers from running and cancels nothing.
    if asked["cancel"] == true {
        return Ok(true);
    }
    let next = next_history(host, &session, &replacement)?;
    tear_down(&session, replacement.reason(), next.file.as_deref()).await;
    let previous = session.file();
    let instance = Instance::load(host, &next.cwd())
        .await
        .map_err(|failure| failure.text())?;
    let next = Session::new(host, next, &instance);
    host.set_session(&next);
    let mut start = json!({"type": "session_start", "reason": replacement.reason()});
    if let Some(previous) = previous {
        start["previousSessionFile"] = previous.into();
    }
    bind(&next, start.clone()).await;
    if host.does(Difference::StartsReplacedTwice) && host.options.mode == Mode::Rpc {
        start_extensions(&next, &instance, start, "startup").await;
    }
    Ok(false)
}

/// A program that embeds Pi is done with a session and makes another one. The SDK has no replacement for a single session:
/// the old one's extensions hear nothing of its end, and its servers live on until the process ends (pi-host.md 5).
async fn embed_another(
    host: &Arc<Shared>,
    session: &Arc<Session>,
    replacement: Replacement,
) -> Result<bool, String> {
    let Replacement::New = replacement else {
        return Err("the embedding program only makes new sessions".to_owned());
    };
    session.dispose();
    let instance = Instance::load(host, &session.cwd())
        .await
        .map_err(|failure| failure.text())?;
    let next = Session::new(host, new_history(host, &session.cwd()), &instance);
    host.set_session(&next);
    // For the SDK each session is a start.
    bind(&next, json!({"type": "session_start", "reason": "startup"})).await;
    Ok(false)
}

fn next_history(
    host: &Arc<Shared>,
    session: &Session,
    replacement: &Replacement,
) -> Result<History, String> {
    match replacement {
        Replacement::New => Ok(new_history(host, &session.cwd())),
        Replacement::Resume { file } => resumed(host, session, file),
        Replacement::Fork { leaf, .. } => {
            let id = host.ids.session(host.clock.now_ms());
            let file = session_file(host, &id);
            Ok(session
                .history()
                .branched(leaf.as_deref(), id, file, &host.clock))
        }
    }
}

/// The session of a file. A file that is not there becomes a new session in that place; one whose folder is gone is
/// refused, and the current session stays.
///
/// # Errors
/// Pi's text for such a folder.
fn resumed(host: &Arc<Shared>, session: &Session, file: &str) -> Result<History, String> {
    let Some(history) = host.stored_session(file) else {
        let mut history = new_history(host, &session.cwd());
        history.file = Some(file.to_owned());
        return Ok(history);
    };
    if history.cwd().is_dir() {
        return Ok(history);
    }
    Err(format!(
        "Stored session working directory does not exist: {}\nSession file: {file}\nCurrent working directory: {}",
        history.cwd().display(),
        session.cwd().display()
    ))
}

/// Settles the run, lets the extensions say goodbye while their `pi` still works, and makes them stale.
async fn tear_down(session: &Session, reason: &str, target: Option<&str>) {
    session.abort().await;
    let mut event = json!({"type": "session_shutdown", "reason": reason});
    if let Some(target) = target {
        event["targetSessionFile"] = target.into();
    }
    session.instance().emit(event).await;
    session.dispose();
}

/// Makes a session the client's and starts its extensions. Commands reach it from here on, before `session_start` is
/// through (pi-host.md 5).
pub(crate) async fn bind(session: &Arc<Session>, start: Value) {
    session.host.set_client_session(session);
    if session.host.options.mode != Mode::Print {
        session.subscribe();
    }
    if session.host.options.mode == (Mode::Embedded { binds: false }) {
        return;
    }
    let instance = session.instance();
    instance.listen();
    start_extensions(session, &instance, start, "startup").await;
}

async fn start_extensions(session: &Session, instance: &Instance, start: Value, reason: &str) {
    instance.emit(start).await;
    instance.report_unconnected();
    if instance.has_handlers("resources_discover") {
        let cwd = session.cwd().display().to_string();
        // The folders that handlers return hold skills, prompts and themes, none of which is modelled.
        instance
            .emit_each(&json!({"type": "resources_discover", "cwd": cwd, "reason": reason}))
            .await;
    }
}

/// Loads the extensions afresh in the same session.
///
/// # Errors
/// Pi's text while a run is active, or why a factory failed.
pub(crate) async fn reload(session: &Arc<Session>) -> Result<(), String> {
    if session.host.options.mode == (Mode::Embedded { binds: false }) {
        // Nobody has said what a reload is to do.
        return Ok(());
    }
    if session.is_running() {
        return Err("Wait for the current response to finish before reloading.".to_owned());
    }
    let old = session.instance();
    old.emit(json!({"type": "session_shutdown", "reason": "reload"}))
        .await;
    if !session.host.makes(Fault::KeepsOldInstances) {
        old.invalidate();
    }
    let instance = Instance::load(&session.host, &session.cwd())
        .await
        .map_err(|failure| failure.text())?;
    instance.listen();
    session.set_instance(instance.clone());
    start_extensions(
        session,
        &instance,
        json!({"type": "session_start", "reason": "reload"}),
        "reload",
    )
    .await;
    Ok(())
}

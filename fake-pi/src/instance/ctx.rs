//! `ctx`: what a handler is told about the session it runs in.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Instance, STALE};
use crate::extension::Thrown;
use crate::mode::Mode;
use crate::rpc::replace::{self, Replacement};
use crate::session::{NavigateOptions, Session};

/// A handler's context. Every method throws [`STALE`] once the session was replaced (pi-host.md 6, 11).
#[derive(Clone)]
pub struct Ctx {
    instance: Weak<Instance>,
}

impl Ctx {
    pub(crate) fn new(instance: &Arc<Instance>) -> Self {
        Self {
            instance: Arc::downgrade(instance),
        }
    }

    pub(super) fn active(&self) -> Result<Arc<Instance>, Thrown> {
        Instance::current(&self.instance).ok_or_else(|| Thrown::error(STALE))
    }

    fn session(&self) -> Result<Arc<Session>, Thrown> {
        self.active()?.session()
    }

    /// The session's working directory.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn cwd(&self) -> Result<PathBuf, Thrown> {
        Ok(self.session()?.cwd())
    }

    /// Whether notices reach a person.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn has_ui(&self) -> Result<bool, Thrown> {
        let instance = self.active()?;
        Ok(instance.is_listened() && instance.host.options.mode.has_ui())
    }

    /// How Pi runs: `rpc`, `print`, `json` or `tui`.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn mode(&self) -> Result<&'static str, Thrown> {
        Ok(self.active()?.host.options.mode.name())
    }

    /// `sessionManager.getSessionId()`.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn session_id(&self) -> Result<String, Thrown> {
        Ok(self.session()?.id())
    }

    /// `sessionManager.getSessionFile()`, absent in a session that is not kept.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn session_file(&self) -> Result<Option<String>, Thrown> {
        Ok(self.session()?.file())
    }

    /// `sessionManager.getBranch()`: the entries from the root to the current one.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn branch(&self) -> Result<Vec<Value>, Thrown> {
        Ok(self.session()?.branch())
    }

    /// `sessionManager.getEntries()`: all entries, in the order they were appended.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn entries(&self) -> Result<Vec<Value>, Thrown> {
        Ok(self.session()?.entries())
    }

    /// The run's abort signal; none outside of a run (pi-host.md 9).
    ///
    /// # Errors
    /// [`STALE`].
    pub fn signal(&self) -> Result<Option<CancellationToken>, Thrown> {
        Ok(self.session()?.signal())
    }

    /// Shows a notice; `kind` is `info`, `warning` or `error`.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn notify(&self, message: &str, kind: Option<&str>) -> Result<(), Thrown> {
        let instance = self.active()?;
        if self.has_ui()? {
            let mut record = json!({
                "type": "extension_ui_request", "id": instance.host.ids.request(), "method": "notify", "message": message
            });
            if let Some(kind) = kind {
                record["notifyType"] = kind.into();
            }
            instance.host.output(record);
        }
        Ok(())
    }

    /// Whether no run is active.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn is_idle(&self) -> Result<bool, Thrown> {
        Ok(!self.session()?.is_running())
    }

    /// Whether prompts are queued.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn has_pending_messages(&self) -> Result<bool, Thrown> {
        Ok(self.session()?.pending_messages() > 0)
    }

    /// Whether the project's own files are trusted.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn is_project_trusted(&self) -> Result<bool, Thrown> {
        let instance = self.active()?;
        Ok(instance.is_trusted(&instance.session()?.cwd()))
    }

    /// Aborts the run, without waiting for it to settle.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn abort(&self) -> Result<(), Thrown> {
        let session = self.session()?;
        let host = session.host.clone();
        host.spawn("ctx.abort", async move { session.abort().await });
        Ok(())
    }

    /// Waits until no run is active. For command handlers.
    ///
    /// # Errors
    /// [`STALE`].
    pub async fn wait_for_idle(&self) -> Result<(), Thrown> {
        self.session()?.wait_idle().await;
        Ok(())
    }

    /// Replaces the session by a new one. For command handlers; returns whether a handler cancelled it.
    ///
    /// # Errors
    /// [`STALE`], or why the next instance could not be loaded.
    pub async fn new_session(&self) -> Result<bool, Thrown> {
        let host = self.active()?.host.clone();
        if let Mode::Embedded { .. } = host.options.mode {
            // The program has not said how.
            return Ok(false);
        }
        replace::replace(&host, Replacement::New)
            .await
            .map_err(Thrown::error)
    }

    /// Replaces the session by a stored one. For command handlers; returns whether a handler cancelled it.
    ///
    /// # Errors
    /// [`STALE`], or why the session could not be opened.
    pub async fn switch_session(&self, file: &str) -> Result<bool, Thrown> {
        let host = self.active()?.host.clone();
        if let Mode::Embedded { .. } = host.options.mode {
            return Ok(false);
        }
        replace::replace(
            &host,
            Replacement::Resume {
                file: file.to_owned(),
            },
        )
        .await
        .map_err(Thrown::error)
    }

    /// Goes to another entry of the session's tree. For command handlers; returns whether it was cancelled.
    ///
    /// # Errors
    /// [`STALE`], or Pi's text: something runs, there is no such entry, or why there is no summary.
    pub async fn navigate_tree(
        &self,
        entry: &str,
        options: NavigateOptions,
    ) -> Result<bool, Thrown> {
        let session = self.session()?;
        session
            .navigate(entry, options)
            .await
            .map_err(Thrown::error)
    }

    /// Compacts the session, without waiting for it; `focus` is what the summary is to look at.
    ///
    /// # Errors
    /// [`STALE`].
    pub fn compact(&self, focus: Option<String>) -> Result<(), Thrown> {
        let session = self.session()?;
        let host = session.host.clone();
        host.spawn("ctx.compact", async move {
            // Who asked may listen to `session_compact_failed`.
            let _ = session.compact(focus.as_deref()).await;
        });
        Ok(())
    }

    /// Loads the extensions afresh in the same session. For command handlers.
    ///
    /// # Errors
    /// [`STALE`], or Pi's text while a run is active.
    pub async fn reload(&self) -> Result<(), Thrown> {
        let session = self.session()?;
        replace::reload(&session).await.map_err(Thrown::error)
    }
}

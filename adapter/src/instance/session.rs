//! The session hook: what is configured, who connects MCP servers, and the registration (C, R1-R4).

use std::path::PathBuf;
use std::sync::Arc;

use super::Instance;
use crate::config::Settings;
use crate::{CommandFact, HookCommand, Registration, SessionFacts, texts};

/// What the session hook found out.
pub(super) struct Session {
    pub(super) settings: Arc<Settings>,
    /// How its hook children are started; `None` without an executable.
    pub(super) hook: Option<Arc<HookCommand>>,
    /// The session's folder, as the host names it.
    pub(super) cwd: PathBuf,
    /// The same where links lead.
    pub(super) folder: PathBuf,
    pub(super) has_ui: bool,
    pub(super) channel: Channel,
}

/// How graph tools may come to this session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// Registered with Pi's own MCP support.
    Registered,
    /// Registered, but the extension at this path has replaced Pi's MCP support and may connect nothing.
    Foreign(String),
    /// Pi refused the registration, for this reason.
    Refused(String),
    /// Nothing was registered; the text for the model.
    Unavailable(String),
}

impl Instance {
    /// `session_start`: resolves the configuration, registers and marks the instance ready, without an await (R1).
    ///
    /// `register` is called at most once. Fired twice, as Pi before 1.6.0 does, it registers the same again, which
    /// keeps the child.
    pub fn session_start(
        &self,
        session: &SessionFacts,
        register: &mut dyn FnMut(&Registration) -> Result<(), String>,
    ) {
        if self.ended.is_cancelled() {
            return;
        }
        let settings = Settings::resolve(&self.environment, &session.cwd);
        let channel = connect(&settings, &session.commands, register);
        self.log(&format!("session_start ({}): {channel:?}", session.reason));
        for problem in &settings.problems {
            self.log(problem);
            self.tell_user(problem, session.has_ui);
        }
        let found = Session {
            hook: self.new_hook_command(&settings, &session.cwd),
            settings: Arc::new(settings),
            cwd: session.cwd.clone(),
            folder: session
                .cwd
                .canonicalize()
                .unwrap_or_else(|_| session.cwd.clone()),
            has_ui: session.has_ui,
            channel,
        };
        // A child that waits was started by what was configured before (H8).
        self.pool.empty();
        self.state().session = Some(found);
        self.session_ran.cancel();
    }
}

fn connect(
    settings: &Settings,
    commands: &[CommandFact],
    register: &mut dyn FnMut(&Registration) -> Result<(), String>,
) -> Channel {
    let connectors: Vec<_> = commands
        .iter()
        .filter(|command| is_connector(&command.name))
        .collect();
    let Some(first) = connectors.first() else {
        return Channel::Unavailable(texts::NO_CONNECTOR.to_owned());
    };
    let registration = match &settings.bin {
        Ok(bin) => Registration::new(bin, settings.tools_preset.as_deref()),
        Err(cause) => return Channel::Unavailable(texts::unavailable(cause)),
    };
    let Some(registration) = registration else {
        return Channel::Unavailable(texts::unavailable(
            "the path of the Gortex executable is not UTF-8",
        ));
    };
    if let Err(reason) = register(&registration) {
        return Channel::Refused(reason);
    }
    if connectors
        .iter()
        .any(|command| command.source_path == "builtin:mcp")
    {
        Channel::Registered
    } else {
        Channel::Foreign(first.source_path.clone())
    }
}

/// Whether a command is `/mcp`, by which its owner says that it connects MCP servers. Where two extensions claim the
/// name, Pi lists them as `mcp:1` and `mcp:2` (pi-host.md 3.4).
fn is_connector(name: &str) -> bool {
    name.strip_prefix("mcp").is_some_and(|rest| {
        rest.is_empty()
            || rest.strip_prefix(':').is_some_and(|count| {
                !count.is_empty() && count.bytes().all(|it| it.is_ascii_digit())
            })
    })
}

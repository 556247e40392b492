//! The fake Gortex as the simulated Pi and the adapter reach it: a server behind an in-process pipe, and a hook that is
//! asked directly.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapter::{HookAsk, HookEnd, HookPort, HookReport};
use fake_gortex::{Daemon, JournalSink, Script, State};
use fake_pi::mcp::launch::{
    Launch, ProcessControl, ServerLauncher, ServerProcess, Signal, StderrTail,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How much a pipe holds: the size of a pipe on Linux.
const PIPE: usize = 64 * 1024;

/// A simulated installation of Gortex: one program, and whatever names lead to it.
#[derive(Clone)]
pub struct Installation {
    /// Where the program itself stands.
    pub program: PathBuf,
    /// The host's variables, which its children inherit.
    pub variables: BTreeMap<String, String>,
    /// What it is told to do.
    pub script: Arc<Script>,
    /// What it counts over its processes.
    pub state: Arc<State>,
    /// What it saw.
    pub journal: Arc<dyn JournalSink>,
}

impl Installation {
    /// What the system would say to whoever starts this command: by path, else through `PATH`. The file may have gone in
    /// the middle of a play.
    fn refused(&self, command: &Path, cwd: &Path) -> Option<ErrorKind> {
        let path = if command.components().count() > 1 {
            cwd.join(command)
        } else {
            let path = self.variables.get("PATH").map_or("", String::as_str);
            let found = std::env::split_paths(path)
                .map(|folder| cwd.join(folder).join(command))
                .find(|path| path.is_file());
            match found {
                Some(path) => path,
                None => return Some(ErrorKind::NotFound),
            }
        };
        match path.metadata() {
            Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                Some(ErrorKind::PermissionDenied)
            }
            // What is no Gortex cannot be played here; a case in which it is started does not hold.
            Ok(_) if path.canonicalize().ok() != self.program.canonicalize().ok() => {
                Some(ErrorKind::NotFound)
            }
            Ok(_) => None,
            Err(error) => Some(error.kind()),
        }
    }
}

impl ServerLauncher for Installation {
    fn launch(&self, launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>> {
        if let Some(kind) = self.refused(launch.command.as_ref(), &launch.cwd) {
            let name = if kind == ErrorKind::PermissionDenied {
                "EACCES"
            } else {
                "ENOENT"
            };
            let refused = format!("spawn {} {name}", launch.command);
            return Box::pin(std::future::ready(Err(refused)));
        }
        let daemon = Daemon::new(self.script.daemon.clone(), launch.cwd, self.journal.clone());
        let daemon = daemon.with_state(self.state.clone());
        let stderr = StderrTail::default();
        stderr.push(daemon.stderr().as_bytes());
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let killed = CancellationToken::new();
        let ends = killed.clone();
        let run = tokio::spawn(async move {
            let launch = fake_gortex::Launch {
                args: launch.args,
                env: launch.env,
            };
            tokio::select! {
                biased;
                () = ends.cancelled() => {}
                _ = daemon.serve(theirs, launch) => {}
            }
        });
        let ended = run.map(|_| ()).boxed().shared();
        let control = Arc::new(Control { killed, ended });
        Box::pin(std::future::ready(Ok(ServerProcess {
            stream: Box::new(ours),
            stderr,
            control,
        })))
    }
}

/// A simulated process: a task that ends when it is told to.
struct Control {
    killed: CancellationToken,
    ended: Shared<BoxFuture<'static, ()>>,
}

impl ProcessControl for Control {
    fn signal(&self, _: Signal) {
        self.killed.cancel();
    }

    fn closed(&self) -> BoxFuture<'static, ()> {
        self.ended.clone().boxed()
    }
}

impl HookPort for Installation {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        let report = |stdout, end| HookReport { stdout, end };
        if let Some(kind) = self.refused(&ask.program, &ask.cwd) {
            let gone = report(Vec::new(), HookEnd::SpawnFailed(kind.to_string()));
            return Box::pin(std::future::ready(gone));
        }
        let Self {
            script,
            state,
            journal,
            ..
        } = self.clone();
        Box::pin(async move {
            let run = fake_gortex::hook(&script, &state, &*journal, &ask.args, &ask.envelope);
            tokio::select! {
                biased;
                () = ask.abort.cancelled() => report(Vec::new(), HookEnd::Aborted),
                outcome = timeout(ask.deadline, run) => match outcome {
                    Err(_) => report(Vec::new(), HookEnd::TimedOut),
                    Ok(outcome) if outcome.stdout.len() > HookReport::MAX_BYTES => report(Vec::new(), HookEnd::TooLarge),
                    Ok(outcome) if outcome.killed => report(outcome.stdout, HookEnd::Signalled(9)),
                    Ok(outcome) => report(outcome.stdout, HookEnd::Exited(outcome.exit)),
                },
            }
        })
    }
}

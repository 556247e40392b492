//! The fake Gortex as the simulated Pi and the adapter reach it: a server behind an in-process pipe, and a hook that is
//! asked directly. Under other names it is the other servers of a case.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adapter::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook};
use fake_gortex::{Daemon, HookOutcome, JournalSink, Script, State};
use fake_pi::mcp::launch::{
    Launch, ProcessControl, ServerLauncher, ServerProcess, Signal, StderrTail,
};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

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
    /// The hook processes that wait for their question.
    pub waiting: Ready,
}

/// The hook processes that wait for their question.
#[derive(Clone, Default)]
pub struct Ready(Arc<Mutex<Waiters>>);

/// How each was started, by a number of its own.
#[derive(Default)]
struct Waiters {
    next: u64,
    commands: BTreeMap<u64, HookCommand>,
}

impl Ready {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.lock().commands.len()
    }

    fn add(&self, command: HookCommand) -> u64 {
        let mut waiters = self.lock();
        waiters.next += 1;
        let number = waiters.next;
        waiters.commands.insert(number, command);
        number
    }

    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Installation {
    /// Looks a command up as the system does: by path, else through `PATH`. The file may have gone in the middle of a
    /// play, and so may the folder that it is to run in.
    fn look_up(&self, command: &Path, cwd: &Path) -> Result<PathBuf, ErrorKind> {
        if !cwd.is_dir() {
            return Err(ErrorKind::NotFound);
        }
        let path = if command.components().count() > 1 {
            cwd.join(command)
        } else {
            let path = self.variables.get("PATH").map_or("", String::as_str);
            let found = std::env::split_paths(path)
                .map(|folder| cwd.join(folder).join(command))
                .find(|path| path.is_file());
            found.ok_or(ErrorKind::NotFound)?
        };
        match path.metadata() {
            Ok(found) if found.permissions().mode() & 0o111 == 0 => {
                Err(ErrorKind::PermissionDenied)
            }
            // What is no Gortex cannot be played here; a case in which it is started does not hold.
            Ok(_) if path.canonicalize().ok() != self.program.canonicalize().ok() => {
                Err(ErrorKind::NotFound)
            }
            Ok(_) => Ok(path),
            Err(error) => Err(error.kind()),
        }
    }

    /// The server that the program is when it is called by this name.
    fn daemon(&self, name: &str, cwd: PathBuf) -> Daemon {
        let journal = self.journal.clone();
        let daemon = match self.script.servers.get(name) {
            None => Daemon::new(self.script.daemon.clone(), cwd, journal),
            Some(server) => Daemon::new(server.clone(), cwd, journal).named(name),
        };
        daemon.with_state(self.state.clone())
    }
}

impl ServerLauncher for Installation {
    fn launch(&self, launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>> {
        let program = match self.look_up(launch.command.as_ref(), &launch.cwd) {
            Ok(program) => program,
            Err(kind) => return Box::pin(std::future::ready(Err(refusal(&launch.command, kind)))),
        };
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let daemon = self.daemon(&name, launch.cwd);
        let ignores_term = daemon.ignores_term();
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
        let control = Arc::new(Control {
            killed,
            ended,
            ignores_term,
        });
        Box::pin(std::future::ready(Ok(ServerProcess {
            stream: Box::new(ours),
            stderr,
            control,
        })))
    }
}

/// What Node says of a command that the system does not start.
fn refusal(command: &str, kind: ErrorKind) -> String {
    let name = if kind == ErrorKind::PermissionDenied {
        "EACCES"
    } else {
        "ENOENT"
    };
    format!("spawn {command} {name}")
}

/// A simulated process: a task that ends when it is told to.
struct Control {
    killed: CancellationToken,
    ended: Shared<BoxFuture<'static, ()>>,
    ignores_term: bool,
}

impl ProcessControl for Control {
    fn signal(&self, signal: Signal) {
        if signal == Signal::Kill || !self.ignores_term {
            self.killed.cancel();
        }
    }

    fn closed(&self) -> BoxFuture<'static, ()> {
        self.ended.clone().boxed()
    }
}

impl HookPort for Installation {
    fn ask(&self, ask: HookAsk) -> BoxFuture<'static, HookReport> {
        if let Err(kind) = self.look_up(&ask.command.program, &ask.command.cwd) {
            let gone = report(Vec::new(), HookEnd::SpawnFailed(kind.to_string()));
            return Box::pin(std::future::ready(gone));
        }
        let run = self.run_hook(&ask.command, ask.envelope);
        Box::pin(until(run, ask.deadline, ask.abort))
    }

    fn prepare(
        &self,
        command: &Arc<HookCommand>,
    ) -> BoxFuture<'static, Option<Box<dyn ReadyHook>>> {
        if self.look_up(&command.program, &command.cwd).is_err() {
            return Box::pin(std::future::ready(None));
        }
        let number = self.waiting.add(HookCommand::clone(command));
        let installation = self.clone();
        // One that reads nothing waits for nothing: it is under way from its start.
        let run = self
            .script
            .hook
            .ignore_stdin
            .then(|| AbortOnDropHandle::new(tokio::spawn(self.run_hook(command, Vec::new()))));
        let ready: Box<dyn ReadyHook> = Box::new(Waiting {
            installation,
            number,
            run,
        });
        Box::pin(std::future::ready(Some(ready)))
    }
}

impl Installation {
    /// The host has died: what still waits for its question reads the end of its input instead, which is an envelope of no
    /// kind. One that was let go before was killed and reads nothing.
    pub async fn host_died(&self) {
        let left = std::mem::take(&mut self.waiting.lock().commands);
        // One that reads nothing has done what it does.
        if self.script.hook.ignore_stdin {
            return;
        }
        for command in left.into_values() {
            self.run_hook(&command, Vec::new()).await;
        }
    }

    /// One hook process, from its start to its end.
    fn run_hook(
        &self,
        command: &HookCommand,
        envelope: Vec<u8>,
    ) -> impl Future<Output = HookOutcome> + Send + 'static {
        let (script, state, journal) = (
            self.script.clone(),
            self.state.clone(),
            self.journal.clone(),
        );
        let args = command.args.clone();
        async move { fake_gortex::hook(&script, &state, &*journal, &args, &envelope).await }
    }
}

/// A simulated hook process that waits for its question.
struct Waiting {
    installation: Installation,
    number: u64,
    /// What one that does not wait for it has done so far.
    run: Option<AbortOnDropHandle<HookOutcome>>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.installation
            .waiting
            .lock()
            .commands
            .remove(&self.number);
    }
}

impl ReadyHook for Waiting {
    fn ask(mut self: Box<Self>, ask: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>> {
        match self.run.take() {
            Some(run) if run.is_finished() => Box::pin(std::future::ready(Err(ask))),
            Some(run) => Box::pin(async move {
                let run = async { run.await.unwrap_or_default() };
                Ok(until(run, ask.deadline, ask.abort).await)
            }),
            None => {
                let run = self.installation.run_hook(&ask.command, ask.envelope);
                Box::pin(async move { Ok(until(run, ask.deadline, ask.abort).await) })
            }
        }
    }
}

/// What is reported of a hook process that is waited for until `deadline` or `abort`.
async fn until(
    run: impl Future<Output = HookOutcome>,
    deadline: Instant,
    abort: CancellationToken,
) -> HookReport {
    tokio::select! {
        biased;
        () = abort.cancelled() => report(Vec::new(), HookEnd::Aborted),
        outcome = timeout_at(deadline, run) => match outcome {
            Err(_) => report(Vec::new(), HookEnd::TimedOut),
            Ok(outcome) if outcome.stdout.len() > HookReport::MAX_BYTES => report(Vec::new(), HookEnd::TooLarge),
            Ok(outcome) if outcome.killed => report(outcome.stdout, HookEnd::Signalled(9)),
            Ok(outcome) => report(outcome.stdout, HookEnd::Exited(outcome.exit)),
        },
    }
}

fn report(stdout: Vec<u8>, end: HookEnd) -> HookReport {
    HookReport { stdout, end }
}

//! The command line of the binary: `mcp`, `hook`, `--version`, on a script and a journal that the environment names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use rustix::process::{Signal, getpid, kill_process};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::{Daemon, FileJournal, JournalSink, Launch, Script, State, hook};

/// The largest script and the largest envelope that are read, in bytes.
const LIMIT: u64 = 16 << 20;
/// The exit code for a wrong call or a wrong script.
const WRONG: u8 = 2;

/// How the binary was called.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The arguments after the program's name.
    pub arguments: Vec<String>,
    /// The environment. `FAKE_GORTEX_SCRIPT` names a JSON script (absent: the default one), `FAKE_GORTEX_JOURNAL` a
    /// file that the journal is appended to (absent: none); counters that hooks and daemons share stand beside it.
    pub environment: BTreeMap<String, String>,
    /// The working folder, which is the repository.
    pub cwd: PathBuf,
    /// The name that the program was called by, without its folder. One that the script knows as a server makes it play
    /// that server, whatever the arguments are.
    pub name: String,
    /// The program itself, which a hook that leaves a process behind starts once more.
    pub program: PathBuf,
}

/// A scripted stand-in for gortex. It plays the JSON script that FAKE_GORTEX_SCRIPT names and appends what it saw to
/// the file that FAKE_GORTEX_JOURNAL names.
#[derive(Parser)]
#[command(
    name = "fake-gortex",
    disable_version_flag = true,
    disable_help_subcommand = true
)]
struct Cli {
    /// Print the scripted version
    #[arg(long)]
    version: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on stdin and stdout
    Mcp {
        /// Further arguments, which only the journal sees
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        rest: Vec<String>,
    },
    /// Read one envelope from stdin and print one decision
    Hook {
        /// Arguments (--agent=pi, --mode=…), which only the journal sees
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Keep stdout and stderr open for some milliseconds: what a hook leaves behind
    #[command(hide = true)]
    Linger {
        /// How long
        milliseconds: u64,
    },
}

/// What keeps the binary from playing its script.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot read {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    #[error("{0}: {1}")]
    Script(PathBuf, crate::ScriptError),
    #[error("cannot open the journal {0}: {1}")]
    Journal(PathBuf, io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no command given; try --help")]
    NoCommand,
}

/// Runs the binary and gives its exit code: that of the script, 2 for a wrong call, script or journal.
#[must_use]
pub fn run(invocation: &Invocation) -> ExitCode {
    match other_server(invocation) {
        Ok(None) => {}
        Ok(Some(code)) => return exit_code(code),
        Err(failure) => return told(&failure),
    }
    let words =
        std::iter::once("fake-gortex").chain(invocation.arguments.iter().map(String::as_str));
    let cli = match Cli::try_parse_from(words.map(OsString::from)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help is one of these "errors". There is nowhere to tell that telling failed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(WRONG));
        }
    };
    match play(cli, invocation) {
        Ok(code) => exit_code(code),
        Err(failure) => told(&failure),
    }
}

/// What the system makes of a larger number: its last byte.
fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(code.to_le_bytes()[0])
}

fn told(failure: &Failure) -> ExitCode {
    // There is nowhere to tell that telling failed.
    let _ = writeln!(io::stderr(), "fake-gortex: {failure}");
    ExitCode::from(WRONG)
}

/// Plays another server than Gortex, if the program was called by the name of one; gives its exit code.
fn other_server(invocation: &Invocation) -> Result<Option<i32>, Failure> {
    let mut script = script(invocation)?;
    let Some(server) = script.servers.remove(&invocation.name) else {
        return Ok(None);
    };
    let (journal, state) = records(invocation)?;
    let runtime = runtime()?;
    let daemon = Daemon::new(server, invocation.cwd.clone(), journal).named(&invocation.name);
    let code = runtime.block_on(serve(daemon, state, invocation));
    runtime.shutdown_background();
    Ok(Some(code?))
}

/// Serves MCP on stdin and stdout.
async fn serve(daemon: Daemon, state: State, invocation: &Invocation) -> Result<i32, Failure> {
    let daemon = daemon.with_state(Arc::new(state));
    // A closed stderr keeps no daemon from serving.
    let _ = io::stderr().write_all(daemon.stderr().as_bytes());
    let launch = Launch {
        args: invocation.arguments.clone(),
        env: invocation.environment.clone(),
    };
    // As long as somebody listens for the signal, it does not end the process.
    let _term = daemon
        .ignores_term()
        .then(|| signal(SignalKind::terminate()))
        .transpose()?;
    let stream = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
    Ok(daemon.serve(stream, launch).await)
}

fn named(invocation: &Invocation, variable: &str) -> Option<PathBuf> {
    let value = invocation.environment.get(variable);
    value.filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn script(invocation: &Invocation) -> Result<Script, Failure> {
    match named(invocation, "FAKE_GORTEX_SCRIPT") {
        Some(path) => read_script(&path),
        None => Ok(Script::default()),
    }
}

/// The journal that the environment names, and the counters beside it.
fn records(invocation: &Invocation) -> Result<(Arc<dyn JournalSink>, State), Failure> {
    let Some(path) = named(invocation, "FAKE_GORTEX_JOURNAL") else {
        return Ok((Arc::new(|_| {}), State::memory()));
    };
    let journal =
        FileJournal::open(&path).map_err(|error| Failure::Journal(path.clone(), error))?;
    let mut counters = path.into_os_string();
    counters.push(".state");
    Ok((Arc::new(journal), State::file(counters.into())))
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn play(cli: Cli, invocation: &Invocation) -> Result<i32, Failure> {
    let script = script(invocation)?;
    if cli.version {
        writeln!(io::stdout(), "gortex v{}", script.daemon.version)?;
        return Ok(0);
    }
    let (journal, state) = records(invocation)?;
    let runtime = runtime()?;
    let arguments = invocation.arguments.clone();
    let code = match cli.command.ok_or(Failure::NoCommand)? {
        Command::Mcp { .. } => {
            let daemon = Daemon::new(script.daemon, invocation.cwd.clone(), journal);
            runtime.block_on(serve(daemon, state, invocation))?
        }
        Command::Hook { .. } => {
            let mut envelope = Vec::new();
            if !script.hook.ignore_stdin {
                io::stdin().take(LIMIT).read_to_end(&mut envelope)?;
            }
            let outcome = runtime.block_on(hook(&script, &state, &*journal, &arguments, &envelope));
            // Whoever asked may be gone; the exit code says what the script says all the same.
            let _ = io::stderr().write_all(&outcome.stderr);
            let _ = io::stdout().write_all(&outcome.stdout);
            let _ = io::stdout().flush();
            if outcome.linger_ms > 0 {
                // Not waited for: that is what it is for.
                process::Command::new(&invocation.program)
                    .args(["linger", &outcome.linger_ms.to_string()])
                    .env_clear()
                    .stdin(process::Stdio::null())
                    .spawn()?;
            }
            if outcome.killed {
                // It never returns from this, unless the system refuses; then the exit code tells.
                let _ = kill_process(getpid(), Signal::KILL);
            }
            outcome.exit
        }
        Command::Linger { milliseconds } => {
            runtime.block_on(tokio::time::sleep(Duration::from_millis(milliseconds)));
            0
        }
    };
    // A read of stdin may still hang in a thread of its own: it must not hold up the end.
    runtime.shutdown_background();
    Ok(code)
}

fn read_script(path: &Path) -> Result<Script, Failure> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT).read_to_string(&mut text))
        .map_err(|error| Failure::Unreadable(path.to_owned(), error))?;
    Script::from_json(&text).map_err(|error| Failure::Script(path.to_owned(), error))
}

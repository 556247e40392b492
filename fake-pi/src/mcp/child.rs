//! A server as a real child process in a session of its own (pi-host.md 4.9).
//!
//! For real time only: a paused clock does not wait for a child.

use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal as PosixSignal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::launch::{Launch, ProcessControl, ServerLauncher, ServerProcess, Signal, StderrTail};

/// Bytes that wait between the child and the connection, in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// Time that the shell command of an `env` value may take.
const SHELL_TIMEOUT: Duration = Duration::from_secs(10);

/// Output of such a command that is read at most, as Node limits it.
const SHELL_BYTES: u64 = 1024 * 1024;

/// Starts real children. They have the launch's environment and nothing of this process's.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChildLauncher;

impl ServerLauncher for ChildLauncher {
    fn launch(&self, launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>> {
        Box::pin(async move { spawn(&launch) })
    }

    fn run_shell(&self, command: &str) -> BoxFuture<'static, Option<String>> {
        let command = command.to_owned();
        Box::pin(async move {
            timeout(SHELL_TIMEOUT, shell_output(&command))
                .await
                .ok()
                .flatten()
        })
    }
}

/// The handle of a real child.
struct ChildControl {
    group: Option<Pid>,
    closed: CancellationToken,
}

impl ProcessControl for ChildControl {
    fn signal(&self, signal: Signal) {
        let signal = match signal {
            Signal::Terminate => PosixSignal::TERM,
            Signal::Kill => PosixSignal::KILL,
        };
        if let Some(group) = self.group {
            // A group that is gone needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }

    fn closed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.closed.clone().cancelled_owned())
    }
}

fn spawn(launch: &Launch) -> Result<ServerProcess, String> {
    let mut command = CommandWrap::with_new(&launch.command, |command| {
        command
            .args(&launch.args)
            .env_clear()
            .envs(&launch.env)
            .current_dir(&launch.cwd);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    });
    let failure = |reason: &str| format!("spawn {} {reason}", launch.command);
    let mut child = command
        .wrap(ProcessSession)
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => failure("ENOENT"),
            ErrorKind::PermissionDenied => failure("EACCES"),
            _ => failure(&error.to_string()),
        })?;
    let pipes = (
        child.stdin().take(),
        child.stdout().take(),
        child.stderr().take(),
    );
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(failure("without its pipes"));
    };
    let group = child
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let closed = CancellationToken::new();
    let tail = StderrTail::default();
    let (stream, far) = tokio::io::duplex(PIPE_BYTES);
    let (from_client, to_client) = tokio::io::split(far);
    tokio::spawn(feed(from_client, stdin));
    tokio::spawn(watch(
        child,
        stdout,
        to_client,
        stderr,
        tail.clone(),
        closed.clone(),
    ));
    let control = Arc::new(ChildControl { group, closed });
    Ok(ServerProcess {
        stream: Box::new(stream),
        stderr: tail,
        control,
    })
}

/// Passes on what the client writes; the child's input closes when the client's side does.
async fn feed(mut from_client: ReadHalf<DuplexStream>, mut stdin: ChildStdin) {
    // A child that reads no more is noticed by the end of its output.
    let _ = tokio::io::copy(&mut from_client, &mut stdin).await;
}

/// Reads all that the child writes, waits for its end, and tells of it once nobody holds its pipes.
async fn watch(
    mut child: Box<dyn ChildWrapper>,
    mut stdout: ChildStdout,
    mut to_client: WriteHalf<DuplexStream>,
    stderr: impl AsyncRead + Unpin,
    tail: StderrTail,
    closed: CancellationToken,
) {
    let output = async {
        // A client that went away leaves output that is still to be drained, or the child would block on it.
        let _ = tokio::io::copy(&mut stdout, &mut to_client).await;
        let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
    };
    // How the child ended does not matter, only that it did.
    let (_, (), ()) = tokio::join!(child.wait(), output, keep_tail(stderr, tail));
    // The client learns of the end only now, as Pi does, which waits for all of it.
    let _ = to_client.shutdown().await;
    closed.cancel();
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, tail: StderrTail) {
    let mut chunk = vec![0; 8 * 1024];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        tail.push(&chunk[..read]);
    }
}

/// The trimmed output of a shell command that succeeded.
async fn shell_output(command: &str) -> Option<String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).kill_on_drop(true);
    shell
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = shell.spawn().ok()?;
    let mut output = Vec::new();
    child
        .stdout
        .take()?
        .take(SHELL_BYTES + 1)
        .read_to_end(&mut output)
        .await
        .ok()?;
    if output.len() as u64 > SHELL_BYTES || !child.wait().await.ok()?.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

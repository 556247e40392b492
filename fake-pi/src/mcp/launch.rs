//! Starting a server and stopping it: the port behind which a real child and a simulated one look alike (pi-host.md 4.9).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::utf16;

/// Time that a server has to end by itself once its input closed.
const GRACE: Duration = Duration::from_millis(500);

/// Time between the request to end and the end by force.
const FORCE_AFTER: Duration = Duration::from_secs(2);

/// Bytes of standard error that are kept.
const STDERR_BYTES: usize = 64 * 1024;

/// UTF-16 units of standard error that an error message shows.
const TAIL_UNITS: usize = 2000;

/// A server's standard input and output as one stream. Closing the writing side closes its input.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program, `~` expanded.
    pub command: String,
    /// Its arguments, `~` expanded.
    pub args: Vec<String>,
    /// Its whole environment: what Pi's own has, and over it the registration's `env`, references resolved.
    pub env: BTreeMap<String, String>,
    /// Its working directory, absolute.
    pub cwd: PathBuf,
}

/// A server that runs.
pub struct ServerProcess {
    /// Its standard input and output.
    pub stream: Box<dyn Duplex>,
    /// What it wrote to standard error.
    pub stderr: StderrTail,
    /// The handle to end it and to learn of its end.
    pub control: Arc<dyn ProcessControl>,
}

/// What the host asks of a server's process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// The handle of a running server.
pub trait ProcessControl: Send + Sync {
    /// Sends a signal to the whole group, or does nothing when it is gone.
    fn signal(&self, signal: Signal);

    /// Resolves once the process ended and nobody holds its streams any more.
    fn closed(&self) -> BoxFuture<'static, ()>;
}

/// Starts servers.
pub trait ServerLauncher: Send + Sync {
    /// Starts one. The error is Pi's text, such as `spawn gortex ENOENT`.
    fn launch(&self, launch: Launch) -> BoxFuture<'static, Result<ServerProcess, String>>;

    /// Runs the shell command of an `env` value that starts with `!`; `None` when it failed or printed nothing.
    ///
    /// A simulated launcher executes nothing, so every such value fails there.
    fn run_shell(&self, _command: &str) -> BoxFuture<'static, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// The end of a server's standard error, shared between the process and whoever reports on it.
#[derive(Debug, Clone, Default)]
pub struct StderrTail {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl StderrTail {
    /// Takes what the server wrote; only the last 64 KiB are kept.
    pub fn push(&self, chunk: &[u8]) {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(chunk);
        let excess = bytes.len().saturating_sub(STDERR_BYTES);
        bytes.drain(..excess);
    }

    /// What an error message shows: the last 2000 characters (UTF-16 units) of the trimmed text, if there is any.
    #[must_use]
    pub fn shown(&self) -> Option<String> {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let kept = utf16::tail(text.trim(), TAIL_UNITS);
        (!kept.is_empty()).then(|| kept.to_owned())
    }
}

/// Ends a server whose input was just closed: half a second of grace, SIGTERM to its group, two more seconds, SIGKILL.
///
/// Grandchildren that outlived the server get a SIGTERM in the end. Like Pi, it waits as long as somebody holds the
/// server's streams.
pub async fn stop(control: &dyn ProcessControl) {
    let mut closed = control.closed();
    if timeout(GRACE, &mut closed).await.is_err() {
        control.signal(Signal::Terminate);
        if timeout(FORCE_AFTER, &mut closed).await.is_err() {
            control.signal(Signal::Kill);
            closed.await;
        }
    }
    control.signal(Signal::Terminate);
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;
    use tokio::time::Instant;

    use super::*;

    /// A server that ends at the signal it is told to obey, and notes what it got when.
    struct Stubborn {
        obeys: Option<Signal>,
        started: Instant,
        seen: Mutex<Vec<(u128, Signal)>>,
        ended: Arc<Notify>,
    }

    impl ProcessControl for Stubborn {
        fn signal(&self, signal: Signal) {
            self.seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((self.started.elapsed().as_millis(), signal));
            if self.obeys == Some(signal) {
                self.ended.notify_one();
            }
        }

        fn closed(&self) -> BoxFuture<'static, ()> {
            let ended = self.ended.clone();
            Box::pin(async move { ended.notified().await })
        }
    }

    async fn signals_until_stopped(obeys: Option<Signal>) -> Vec<(u128, Signal)> {
        let server = Stubborn {
            obeys,
            started: Instant::now(),
            seen: Mutex::default(),
            ended: Arc::new(Notify::new()),
        };
        if obeys.is_none() {
            server.ended.notify_one();
        }
        stop(&server).await;
        server
            .seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    #[tokio::test(start_paused = true)]
    async fn a_polite_server_only_sees_the_sweep_of_its_group() {
        assert_eq!(signals_until_stopped(None).await, [(0, Signal::Terminate)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_is_asked_after_half_a_second() {
        let seen = signals_until_stopped(Some(Signal::Terminate)).await;
        assert_eq!(seen, [(500, Signal::Terminate), (500, Signal::Terminate)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stubborn_server_is_killed_after_two_and_a_half() {
        let seen = signals_until_stopped(Some(Signal::Kill)).await;
        assert_eq!(
            seen,
            [
                (500, Signal::Terminate),
                (2500, Signal::Kill),
                (2500, Signal::Terminate)
            ]
        );
    }

    #[test]
    fn the_tail_is_counted_in_utf16_units() {
        let tail = StderrTail::default();
        assert_eq!(tail.shown(), None);
        tail.push(format!("  x😀{}\n", "y".repeat(1999)).as_bytes());
        assert_eq!(
            tail.shown(),
            Some("y".repeat(1999)),
            "half an emoji is no character"
        );
    }
}

//! Panics end here (F1, portal.md D3).

use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};

use adapter::Log;
use adapter::line::one_line;
use futures::FutureExt;

/// The most of a panic's text that is logged, in characters.
const MAX_TEXT: usize = 300;

thread_local! {
    /// What the panic that unwinds on this thread said; taken where it is caught.
    static LAST: Cell<Option<String>> = const { Cell::new(None) };
}

/// Makes panics of this addon silent.
///
/// Rust's own hook prints to stderr, which would corrupt Pi's screen (F3). The hook belongs to the standard library
/// that is linked into this file, so neither Node nor another addon is touched by it.
pub fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            LAST.set(Some(info.to_string()));
        }));
    });
}

/// Contains panics of one instance and logs them.
#[derive(Clone)]
pub struct Guard {
    log: Arc<dyn Log>,
}

impl Guard {
    /// A guard that tells `log`.
    #[must_use]
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self { log }
    }

    /// Runs `entry`'s work; a panic is the empty answer.
    pub fn run<T: Default>(&self, entry: &'static str, work: impl FnOnce() -> T) -> T {
        catch_unwind(AssertUnwindSafe(|| {
            injected(entry);
            work()
        }))
        .unwrap_or_else(|payload| self.caught(entry, payload))
    }

    /// Awaits `entry`'s work; a panic in any poll of it is the empty answer.
    pub async fn wait<T: Default>(self, entry: &'static str, work: impl Future<Output = T>) -> T {
        let guarded = async {
            injected(entry);
            work.await
        };
        AssertUnwindSafe(guarded)
            .catch_unwind()
            .await
            .unwrap_or_else(|payload| self.caught(entry, payload))
    }

    fn caught<T: Default>(&self, entry: &'static str, payload: Box<dyn Any + Send>) -> T {
        // A payload whose own drop panics would unwind once more, outside of the net.
        std::mem::forget(payload);
        let text = LAST.take().unwrap_or_default();
        let text = one_line(&text, MAX_TEXT);
        self.log.line(&format!("{entry}: {text}"));
        T::default()
    }
}

/// The entry that panics, in the build for tests of F1 alone.
#[cfg(feature = "panic-injection")]
static PANICS: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();

/// Reads which entry is to panic: `GORTEX_PI_PANIC` names it.
#[cfg(feature = "panic-injection")]
pub fn arm(environment: &adapter::Environment) {
    PANICS.get_or_init(|| environment.var("GORTEX_PI_PANIC").map(str::to_owned));
}

/// Panics where a test asked for it.
#[cfg(feature = "panic-injection")]
pub fn injected(entry: &str) {
    let chosen = PANICS.get().and_then(Option::as_deref);
    assert!(chosen != Some(entry), "injected");
}

/// Does nothing: this addon is no test's.
#[cfg(not(feature = "panic-injection"))]
pub fn injected(_entry: &str) {}

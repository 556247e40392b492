//! Ctrl-C while something half-made or started exists: noticed, so that it can be removed, instead of ending the process at once.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use std::time::Duration;

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

/// How often a waiting task looks. A person who presses Ctrl-C does not notice it.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The process-wide handlers and who relies on them.
struct Handlers {
    /// While true, a signal does what it does by default: it ends the process.
    unwatched: Arc<AtomicBool>,
    arrived: Arc<AtomicBool>,
    watchers: usize,
}

/// The disposition of a signal belongs to the process, and a handler once installed is never taken out again (removing
/// its action would leave the signal ignored); hence one set of handlers, kept where the process keeps its own.
static HANDLERS: Mutex<Option<Handlers>> = Mutex::new(None);

/// While one lives, SIGINT, SIGTERM and SIGHUP are noticed and do not end the process.
pub(crate) struct Interrupt {
    arrived: Arc<AtomicBool>,
}

impl Interrupt {
    /// # Errors
    /// When the system refuses a handler.
    pub fn watch() -> io::Result<Self> {
        let mut slot = lock();
        let handlers = match slot.take() {
            Some(handlers) => handlers,
            None => Handlers::install()?,
        };
        let handlers = slot.insert(handlers);
        if handlers.watchers == 0 {
            handlers.arrived.store(false, Ordering::SeqCst);
            handlers.unwatched.store(false, Ordering::SeqCst);
        }
        handlers.watchers += 1;
        Ok(Self {
            arrived: Arc::clone(&handlers.arrived),
        })
    }

    /// Whether a signal arrived since the first of the watchers alive began.
    pub fn arrived(&self) -> bool {
        self.arrived.load(Ordering::SeqCst)
    }

    /// Resolves when a signal arrived.
    pub async fn wait(&self) {
        while !self.arrived() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// One that is told by the test instead of by the process's signals.
    #[cfg(test)]
    pub fn by_hand(arrived: Arc<AtomicBool>) -> Self {
        Self { arrived }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(handlers) = lock()
            .as_mut()
            .filter(|handlers| Arc::ptr_eq(&handlers.arrived, &self.arrived))
        {
            handlers.watchers = handlers.watchers.saturating_sub(1);
            if handlers.watchers == 0 {
                handlers.unwatched.store(true, Ordering::SeqCst);
            }
        }
    }
}

impl Handlers {
    fn install() -> io::Result<Self> {
        let handlers = Self {
            unwatched: Arc::new(AtomicBool::new(false)),
            arrived: Arc::new(AtomicBool::new(false)),
            watchers: 0,
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_default(signal, Arc::clone(&handlers.unwatched))?;
            flag::register(signal, Arc::clone(&handlers.arrived))?;
        }
        Ok(handlers)
    }
}

/// A panic while the lock was held leaves counters that are still right enough to end the process by.
fn lock() -> MutexGuard<'static, Option<Handlers>> {
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

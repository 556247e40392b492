//! The abort signal of a turn, as far as the core needs it.

use napi_derive::napi;
use tokio_util::sync::CancellationToken;

use crate::guard;

/// The abort of a run. JavaScript cancels it from the listener of an `AbortSignal` (H4): the core then settles the promises
/// of the handlers that it was lent to at once.
#[napi]
pub struct AbortHandle {
    token: CancellationToken,
}

#[napi]
impl AbortHandle {
    /// A handle that is not cancelled.
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)] // JavaScript calls it, no Rust code does.
    pub fn new() -> Self {
        guard::injected("abortHandle");
        Self {
            token: CancellationToken::new(),
        }
    }

    /// Cancels. Any number of times, from within any handler.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        guard::injected("cancel");
        self.token.cancel();
    }
}

impl AbortHandle {
    /// The token that the core waits on.
    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }
}

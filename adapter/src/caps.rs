//! How long an instance waits for what, in one place.

use std::time::Duration;

/// The caps of an instance. Handed in by the host, never read from a file: a project must not stretch a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// For the session hook to have run (R5).
    pub session_hook: Duration,
    /// For a graph tool to be listed (R5); longer than Pi's own 10 s, which start after ours.
    pub graph_tools: Duration,
    /// For the hook's decision on one call (H5).
    pub hook_call: Duration,
    /// For the hook's briefing (H5).
    pub hook_briefing: Duration,
    /// For a hook child to wait for its question (H8).
    pub warm_child: Duration,
    /// Between two looks at the host's tools while the first turn waits.
    pub poll: Duration,
    /// For all diff work of one call, before it runs and after it, reading included, while it has a thread (E4).
    pub diff: Duration,
    /// For each of the two parts of that work with its wait for a thread. Longer, so that a machine under load, or a first thread that is still
    /// to be made, costs no diff that takes no work; a file system that hangs costs no more than this.
    pub diff_in_all: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            session_hook: Duration::from_secs(15),
            graph_tools: Duration::from_secs(12),
            hook_call: Duration::from_secs(5),
            hook_briefing: Duration::from_secs(10),
            warm_child: Duration::from_secs(60),
            poll: Duration::from_millis(50),
            diff: Duration::from_millis(50),
            diff_in_all: Duration::from_millis(500),
        }
    }
}

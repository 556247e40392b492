//! Files that calls write: which they are, who else writes them, and what changed (E1-E6).

/// The files that calls in flight write, shared by the instances of a process (E3).
#[derive(Debug, Default)]
pub struct WriteTable {}

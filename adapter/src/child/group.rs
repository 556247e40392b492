//! A child's process group, killed when its guard is dropped.

use rustix::process::{Pid, Signal, kill_process_group};

/// Kills a process group on drop, unless it was released.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Guards the group that a child leads. Its id stays taken while the child is not reaped or has descendants in it.
    pub(super) fn of(leader: Option<u32>) -> Self {
        Self(
            leader
                .and_then(|id| i32::try_from(id).ok())
                .and_then(Pid::from_raw),
        )
    }

    /// Lets the group be. Due once the leader was reaped: from then on its id may come to name a stranger.
    pub(super) fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            // It may have ended by itself in the meantime.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

//! Whose turn it is to start a hook child.
//!
//! One that starts takes a processor for itself. With more of them at once than there are processors a burst of questions
//! would be answered no sooner, and the host's own thread would wait behind them for its processor. So the hooks of a
//! process share the turns.

use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rustix::process::Pid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a child keeps its turn before it is looked at. A quick one has answered by then.
const TURN: Duration = Duration::from_millis(1);

/// How long it keeps it that goes on using a processor. A hook that takes longer than that does not only start.
const LONGEST: Duration = Duration::from_millis(50);

/// The turns that hooks share: as many as there are processors besides that of the host's thread, and one at least.
///
/// Children that are started for a question and those that are to wait have turns of their own. A session that asks now and
/// then would else find none that waits while another has a burst, and the begin of many would hold up a question.
#[derive(Clone, Debug)]
pub struct Turns {
    asked: Arc<Semaphore>,
    to_wait: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, usize::from);
        Self::of(processors.saturating_sub(1).max(1))
    }
}

impl Turns {
    fn of(count: usize) -> Self {
        Self {
            asked: Arc::new(Semaphore::new(count)),
            to_wait: Arc::new(Semaphore::new(count)),
        }
    }

    /// The turns as one session takes them: one after the other, whatever they are for.
    pub(super) fn of_one_session(self) -> OwnTurns {
        OwnTurns {
            all: self,
            own: Arc::new(Semaphore::new(1)),
        }
    }
}

/// The turns of one session.
#[derive(Clone, Debug)]
pub(super) struct OwnTurns {
    all: Turns,
    own: Arc<Semaphore>,
}

impl OwnTurns {
    /// Waits for a turn, for a child with a question.
    pub(super) async fn take(self) -> Turn {
        Turn::of(self.own, self.all.asked).await
    }

    /// Waits for a turn, for a child that is to wait.
    pub(super) async fn take_to_wait(self) -> Turn {
        Turn::of(self.own, self.all.to_wait).await
    }
}

/// A turn. It is given back when this is dropped.
pub(super) struct Turn {
    /// The session's and the process's. None is ever refused.
    permits: [Option<OwnedSemaphorePermit>; 2],
    child: Arc<OnceLock<Pid>>,
}

impl Turn {
    async fn of(own: Arc<Semaphore>, all: Arc<Semaphore>) -> Self {
        let own = own.acquire_owned().await.ok();
        Self {
            permits: [own, all.acquire_owned().await.ok()],
            child: Arc::default(),
        }
    }

    /// Where the child is to be named once it runs.
    pub(super) fn child(&self) -> Arc<OnceLock<Pid>> {
        Arc::clone(&self.child)
    }

    /// From now on it is given back by itself too: when the child has not even begun within a short time, and when it waits
    /// for something without a processor.
    pub(super) fn lend(self) -> DropGuard {
        let over = CancellationToken::new();
        let guard = over.clone().drop_guard();
        let Self { permits, child } = self;
        tokio::spawn(async move {
            let used = || child.get().copied().and_then(processor_time);
            keep(&over, used).await;
            drop(permits);
        });
        guard
    }
}

/// Ends when it is over, or when less than half of the time since the last look was used. `used` tells how much of a
/// processor's time that was in all.
async fn keep(over: &CancellationToken, used: impl Fn() -> Option<Duration>) {
    let (begun, mut known) = (Instant::now(), Duration::ZERO);
    while begun.elapsed() < LONGEST {
        let looked = Instant::now();
        if timeout(TURN, over.cancelled()).await.is_ok() {
            return;
        }
        let used = used().unwrap_or_default();
        if used.saturating_sub(known) < looked.elapsed() / 2 {
            return;
        }
        known = used;
    }
}

/// How much time of a processor a child has used; `None` where it has ended. Of a stranger with its number after that it is
/// as good: it only says whether the processors are busy.
fn processor_time(child: Pid) -> Option<Duration> {
    let child = nix::unistd::Pid::from_raw(child.as_raw_nonzero().get());
    let clock = ClockId::pid_cpu_clock_id(child).ok()?;
    clock_gettime(clock).ok().map(Duration::from)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures::future::{BoxFuture, poll_immediate};
    use tokio::task::yield_now;

    use super::*;

    /// How long a turn is kept by a child that has used so much at each look.
    async fn kept(used: &[Option<u64>]) -> Duration {
        let (begun, next) = (Instant::now(), Cell::new(0));
        keep(&CancellationToken::new(), || {
            let at = next.replace(next.get() + 1).min(used.len() - 1);
            used[at].map(Duration::from_micros)
        })
        .await;
        begun.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn h3_a_child_that_waits_or_does_not_begin_keeps_its_turn_no_longer_than_a_look() {
        for used in [None, Some(0), Some(450)] {
            assert_eq!(kept(&[used]).await, TURN, "{used:?}");
        }
        // It started for three looks, and waits then.
        let starts = [900, 1_900, 2_500, 2_600];
        assert_eq!(kept(&starts.map(Some)).await, TURN * 4);
    }

    #[tokio::test(start_paused = true)]
    async fn h3_a_child_that_uses_a_processor_keeps_its_turn_for_so_long_and_no_longer() {
        let busy: Vec<_> = (1..1_000).map(|look| Some(look * 900)).collect();
        let kept = kept(&busy).await;
        assert!((LONGEST..LONGEST + TURN).contains(&kept), "{kept:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn h3_a_turn_that_is_lent_is_given_back_at_once_when_it_is_over() {
        let turns = Turns::of(1).of_one_session();
        let lent = turns.clone().take().await.lend();
        yield_now().await;
        assert!(
            poll_immediate(Box::pin(turns.clone().take()))
                .await
                .is_none()
        );
        let begun = Instant::now();
        drop(lent);
        drop(turns.take().await);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn h3_h8_a_session_starts_one_child_at_a_time_and_stands_behind_no_other_kind() {
        let turns = Turns::of(1);
        let [one, two] = [(), ()].map(|()| turns.clone().of_one_session());
        let free = async |turn: BoxFuture<'static, Turn>| poll_immediate(turn).await.is_some();
        let asked = one.clone().take().await;
        assert!(!free(Box::pin(one.clone().take_to_wait())).await);
        assert!(!free(Box::pin(two.clone().take())).await);
        assert!(free(Box::pin(two.clone().take_to_wait())).await);
        drop(asked);
        let _to_wait = one.clone().take_to_wait().await;
        assert!(!free(Box::pin(one.take())).await);
        assert!(!free(Box::pin(two.clone().take_to_wait())).await);
        assert!(free(Box::pin(two.take())).await);
    }

    #[test]
    fn h3_the_time_of_a_process_is_told_until_it_has_ended() {
        let own = rustix::process::getpid();
        assert!(processor_time(own).is_some());
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        let id = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .expect("an id");
        child.wait().expect("ended");
        assert_eq!(processor_time(id), None);
    }
}

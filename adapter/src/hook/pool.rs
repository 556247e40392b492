//! The child that waits ready during a run (H8): when one is started, when it is let go, and when it is no use.
//!
//! How a child is started and asked is the port's business. Here it is decided only that one waits, so everything holds
//! for the simulated hook too. Between runs there is no child, no timer and no task.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::files::{Files, Looks};
use crate::ports::first_step;
use crate::{HookAsk, HookCommand, HookEnd, HookPort, HookReport, ReadyHook, Work};

/// Within this a hook is quick: it answers from what it holds. The others have to ask their daemon.
const QUICK: Duration = Duration::from_millis(1);

/// Puts questions to the hook: to the child that waits where there is one, else to a new one.
pub(crate) struct Pool {
    port: Arc<dyn HookPort>,
    looks: Arc<Looks>,
    /// How long a child may wait.
    age: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// No child waits from here on.
    closed: bool,
    /// Set from the start of a run until the agent settles.
    run: Option<Run>,
}

struct Run {
    waiting: Option<Waiting>,
    /// A child did not wait for its question. Such a hook would cost two processes for each question.
    unfit: bool,
    /// Lets a child go that waits for too long.
    _keeper: AbortOnDropHandle<()>,
}

/// A child that waits, or is being started.
struct Waiting {
    command: Arc<HookCommand>,
    since: Instant,
    child: AbortOnDropHandle<Option<(Files, Box<dyn ReadyHook>)>>,
}

impl Pool {
    pub(crate) fn new(port: Arc<dyn HookPort>, work: Arc<dyn Work>, age: Duration) -> Self {
        Self {
            port,
            looks: Arc::new(Looks::new(work)),
            age,
            state: Arc::default(),
        }
    }

    /// A run begins in which this is asked. Needs a runtime; waits for nothing.
    pub(crate) fn begin(&self, command: &Arc<HookCommand>) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        if let Some(run) = &mut state.run {
            run.unfit = false;
        } else {
            state.run = Some(Run {
                waiting: None,
                unfit: false,
                _keeper: AbortOnDropHandle::new(tokio::spawn(keep(
                    Arc::downgrade(&self.state),
                    self.age,
                ))),
            });
        }
        drop(state);
        self.refill(command);
    }

    /// Lets the child go: the agent has settled, or what is configured has changed.
    pub(crate) fn empty(&self) {
        // What is dropped ends a process, for which nobody needs to wait at the lock.
        let run = self.state().run.take();
        drop(run);
    }

    /// Lets the child go for good.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.empty();
    }

    /// Puts a question. Whether a child waited makes no difference but in time.
    ///
    /// The next child is started as soon as this one is used, but not while a quick one answers: the two would share the
    /// processors, and whoever waits is to wait for the answer only.
    pub(crate) async fn ask(&self, ask: HookAsk) -> HookReport {
        let command = Arc::clone(&ask.command);
        let answer = match self.take(&command, ask.deadline).await {
            Some(ready) => {
                let mut answer = ready.ask(ask);
                // Behind the first step the question is out.
                match first_step(&mut answer).await {
                    Some(answer) => answer,
                    None => self.answer(&command, answer).await,
                }
            }
            None => Ok(self.port.ask(ask).await),
        };
        match answer {
            Ok(report) => {
                // One that is not there in time would not be the next time either, and each holds a process.
                if report.end != HookEnd::TimedOut {
                    self.refill(&command);
                }
                report
            }
            Err(ask) => {
                self.distrust();
                self.port.ask(ask).await
            }
        }
    }

    /// The answer of a child that has its question. Beside one that takes its time the next is started.
    async fn answer<T>(&self, command: &Arc<HookCommand>, mut answer: BoxFuture<'_, T>) -> T {
        if let Ok(answer) = timeout(QUICK, &mut answer).await {
            return answer;
        }
        self.refill(command);
        answer.await
    }

    /// The child that waits, where it is what would be started now.
    async fn take(&self, command: &Arc<HookCommand>, by: Instant) -> Option<Box<dyn ReadyHook>> {
        let waiting = self.state().run.as_mut()?.waiting.take()?;
        if waiting.command != *command || Instant::now() >= waiting.since + self.age {
            return None;
        }
        let mut ready = std::pin::pin!(async {
            // One that panicked is none (F1).
            let (files, child) = waiting.child.await.ok()??;
            let now = self.looks.at(command).await;
            (now == Some(files)).then_some(child)
        });
        match first_step(&mut ready).await {
            Some(ready) => ready,
            None => timeout_at(by, ready).await.ok()?,
        }
    }

    /// Starts the next child, unless one waits or no run is on.
    fn refill(&self, command: &Arc<HookCommand>) {
        let mut state = self.state();
        let Some(run) = &mut state.run else { return };
        if run.waiting.is_some() || run.unfit {
            return;
        }
        let (port, looks) = (Arc::clone(&self.port), Arc::clone(&self.looks));
        let started = Arc::clone(command);
        run.waiting = Some(Waiting {
            command: Arc::clone(command),
            since: Instant::now(),
            child: AbortOnDropHandle::new(tokio::spawn(async move {
                // Before the start: a file that changes in between then counts as changed.
                let files = looks.at(&started).await?;
                Some((files, port.prepare(&started).await?))
            })),
        });
    }

    fn distrust(&self) {
        let mut state = self.state();
        let waiting = state.run.as_mut().and_then(|run| {
            run.unfit = true;
            run.waiting.take()
        });
        drop(state);
        drop(waiting);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Nothing in here leaves it half changed, and a child less is no loss (F1).
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets each child go whose time is over, for as long as the run is on.
async fn keep(state: Weak<Mutex<State>>, age: Duration) {
    loop {
        let Some(state) = state.upgrade() else { return };
        let now = Instant::now();
        let (next, late) = {
            let mut state = lock(&state);
            let Some(run) = &mut state.run else { return };
            match &run.waiting {
                Some(waiting) if waiting.since + age > now => (waiting.since + age, None),
                // One that is started from here on lives at least that long.
                _ => (now + age, run.waiting.take()),
            }
        };
        drop(late);
        drop(state);
        sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::task::yield_now;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::InlineWork;

    /// Answers with how the question was put, and counts the children that were prepared.
    #[derive(Default)]
    struct Port(AtomicUsize);

    struct Ready;

    fn report(how: &str) -> HookReport {
        HookReport {
            stdout: how.into(),
            end: HookEnd::Exited(0),
        }
    }

    impl HookPort for Port {
        fn ask(&self, _: HookAsk) -> BoxFuture<'static, HookReport> {
            Box::pin(async { report("cold") })
        }

        fn prepare(&self, _: &Arc<HookCommand>) -> BoxFuture<'static, Option<Box<dyn ReadyHook>>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Some(Box::new(Ready) as Box<dyn ReadyHook>) })
        }
    }

    impl ReadyHook for Ready {
        fn ask(self: Box<Self>, _: HookAsk) -> BoxFuture<'static, Result<HookReport, HookAsk>> {
            Box::pin(async { Ok(report("warm")) })
        }
    }

    fn pool(port: Arc<Port>, work: Arc<dyn Work>) -> Pool {
        Pool::new(port, work, Duration::from_secs(60))
    }

    fn command(mode: &str) -> Arc<HookCommand> {
        let here = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Arc::new(HookCommand {
            program: here.join("Cargo.toml"),
            args: vec![mode.to_owned()],
            cwd: here,
            vars: Arc::default(),
        })
    }

    async fn ask(pool: &Pool, mode: &str) -> Vec<u8> {
        put(pool, &command(mode)).await
    }

    async fn put(pool: &Pool, command: &Arc<HookCommand>) -> Vec<u8> {
        let ask = HookAsk {
            command: Arc::clone(command),
            envelope: Vec::new(),
            deadline: Instant::now() + Duration::from_secs(1),
            abort: CancellationToken::new(),
        };
        pool.ask(ask).await.stdout
    }

    #[tokio::test(start_paused = true)]
    async fn h8_a_child_of_another_command_is_not_used() {
        let pool = pool(Arc::default(), Arc::new(InlineWork));
        pool.begin(&command("deny"));
        assert_eq!(ask(&pool, "enrich").await, b"cold");
        assert_eq!(ask(&pool, "enrich").await, b"warm");
    }

    #[tokio::test(start_paused = true)]
    async fn h8_a_child_of_another_program_folder_or_environment_is_not_used() {
        let changes: [fn(&mut HookCommand); 3] = [
            // The same file and folder by another name, which a hook may look at.
            |command| command.program = command.cwd.join("src/../Cargo.toml"),
            |command| command.cwd.push("src/.."),
            |command| command.vars = Arc::new([("A".to_owned(), "1".to_owned())].into()),
        ];
        for change in changes {
            let pool = pool(Arc::default(), Arc::new(InlineWork));
            pool.begin(&command("deny"));
            let mut other = command("deny");
            change(Arc::make_mut(&mut other));
            assert_eq!(put(&pool, &other).await, b"cold");
            assert_eq!(put(&pool, &other).await, b"warm");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn h8_a_child_whose_time_is_over_is_not_used_though_nobody_let_it_go_yet() {
        // It is over at once, and no other task has had its turn.
        let pool = Pool::new(
            Arc::new(Port::default()),
            Arc::new(InlineWork),
            Duration::ZERO,
        );
        pool.begin(&command("deny"));
        assert_eq!(ask(&pool, "deny").await, b"cold");
    }

    /// A hook that is never held in memory, as what a process's own link leads to.
    fn far() -> Arc<HookCommand> {
        let mut far = command("deny");
        let program = far.program.strip_prefix("/").expect("a path");
        let program = Path::new("/proc/self/root").join(program);
        Arc::make_mut(&mut far).program = program;
        far
    }

    /// Volumes that answer once, and then no more.
    #[derive(Default)]
    struct Once(AtomicUsize);

    impl Work for Once {
        fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => InlineWork.run(job),
                _ => Box::pin(std::future::pending()),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn h8_h5_a_volume_that_does_not_answer_holds_a_question_no_longer_than_its_deadline() {
        let work = Arc::new(Once::default());
        let pool = pool(Arc::default(), work.clone());
        let far = far();
        pool.begin(&far);
        let begun = Instant::now();
        assert_eq!(put(&pool, &far).await, b"cold");
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        assert_eq!(work.0.load(Ordering::Relaxed), 2);
    }

    /// Volumes that do not answer: each look holds a thread.
    #[derive(Default)]
    struct Never(Mutex<Vec<Box<dyn FnOnce() + Send>>>);

    impl Work for Never {
        fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
            self.0.lock().expect("lock").push(job);
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn h8_a_volume_that_never_answers_holds_two_threads_whatever_is_asked() {
        let work = Arc::new(Never::default());
        let pool = pool(Arc::default(), work.clone());
        let far = far();
        for _ in 0..10 {
            pool.begin(&far);
            yield_now().await;
            pool.empty();
        }
        assert_eq!(work.0.lock().expect("lock").len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn h8_r11_nothing_begins_once_it_was_closed() {
        let port = Arc::new(Port::default());
        let pool = pool(port.clone(), Arc::new(InlineWork));
        pool.close();
        pool.begin(&command("deny"));
        assert_eq!(ask(&pool, "deny").await, b"cold");
        yield_now().await;
        assert_eq!(port.0.load(Ordering::Relaxed), 0);
    }
}

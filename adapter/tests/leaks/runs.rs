//! Runs of one instance on the path of real children (H8, H9): between them no child, no task and no further thread is left,
//! whatever the run did, and as little when the agent settles while a child is still being started.

use adapter::Block;
use futures::future::join_all;

use crate::census::{Census, no_child_left};
use crate::sessions::{Life, Process, no_task_left, runtime};

/// Runs in all, and those before the first count.
const RUNS: usize = 40;
const FIRST: usize = 5;

/// What happens between the start of a run and its end.
#[derive(Clone, Copy, Debug)]
enum Course {
    /// Nothing: the child is being started as the agent settles.
    SettlesAtOnce,
    /// Nothing is asked, but a child waits.
    SettlesWaiting,
    /// One call after another.
    Calls,
    /// Some calls at once.
    Burst,
    /// A call is aborted at once, while the child is being started for it.
    Aborts,
}

const COURSES: [Course; FIRST] = [
    Course::SettlesAtOnce,
    Course::SettlesWaiting,
    Course::Calls,
    Course::Burst,
    Course::Aborts,
];

async fn run(life: &Life, course: Course) {
    life.turn().await;
    let read = |id: String| async move {
        let blocked = life.instance.tool_call(life.call(&id, "read")).await;
        let reason = "no read in s".to_owned();
        assert_eq!(blocked, Some(Block { reason }), "{course:?}");
    };
    match course {
        Course::SettlesAtOnce => {}
        Course::SettlesWaiting => starts_are_over().await,
        Course::Calls => {
            for number in 0..3 {
                read(format!("c{number}")).await;
            }
        }
        Course::Burst => {
            join_all((0..3).map(|number| read(format!("c{number}")))).await;
        }
        Course::Aborts => {
            let call = life.call("c1", "read");
            let abort = call.abort.clone().expect("a signal");
            let aborted = async {
                tokio::task::yield_now().await;
                abort.cancel();
            };
            tokio::join!(life.instance.tool_call(call), aborted);
        }
    }
    life.instance.agent_settled();
}

/// Resolves once every job before has run: there is one thread for them.
async fn starts_are_over() {
    // The task that hands the start over has its turn first.
    tokio::task::yield_now().await;
    tokio::task::spawn_blocking(|| ()).await.expect("a job");
}

async fn nothing_left() {
    starts_are_over().await;
    no_task_left().await;
    starts_are_over().await;
    no_child_left().await;
    no_task_left().await;
}

#[test]
fn h8_h9_between_runs_nothing_is_left() {
    let process = Process::new();
    runtime().block_on(async {
        let life = Life::begin(&process, "s".to_owned());
        life.start();
        let mut first = None;
        for (number, course) in COURSES.into_iter().cycle().take(RUNS).enumerate() {
            run(&life, course).await;
            nothing_left().await;
            if number >= FIRST {
                let now = Census::take();
                assert_eq!(first.get_or_insert(now), &now, "{course:?}");
            }
        }
        assert_eq!(first.expect("a count").children, 0);
    });
}

#[test]
fn h8_r11_h9_a_shutdown_while_a_child_is_being_started_leaves_none() {
    let process = Process::new();
    runtime().block_on(async {
        for number in 0..10 {
            let life = Life::begin(&process, format!("s-{number}"));
            life.start();
            life.turn().await;
            if number % 2 == 0 {
                // The start has been handed over, and may be under way.
                tokio::task::yield_now().await;
            }
            if number % 4 < 2 {
                life.instance.session_shutdown();
            } else {
                drop(life);
            }
            nothing_left().await;
        }
    });
}

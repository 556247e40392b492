//! The places and turns of a hook, with children that wait.

use futures::future::poll_immediate;

use super::*;
use children::children;

#[path = "../../tests/child/children.rs"]
mod children;

fn waits() -> Arc<HookCommand> {
    Arc::new(HookCommand {
        program: "/bin/cat".into(),
        args: Vec::new(),
        cwd: "/".into(),
        vars: Arc::default(),
    })
}

/// How many children this process has, once no thread starts one any more: for so long virtual time stands still.
async fn count() -> usize {
    tokio::time::sleep(Duration::from_secs(1)).await;
    children().len()
}

#[tokio::test(start_paused = true)]
async fn h3_h8_the_questions_that_are_in_line_go_before_a_child_that_is_to_wait() {
    let hook = ChildHook::default();
    let place = || Arc::clone(&hook.starts).acquire_owned();
    let (first, _second) = (place().await, place().await);
    let mut third = std::pin::pin!(place());
    assert!(poll_immediate(&mut third).await.is_none());
    let mut start = hook.prepare(&waits());
    assert!(poll_immediate(&mut start).await.is_none());
    drop(first);
    let third = third.await;
    assert!(poll_immediate(&mut start).await.is_none());
    assert_eq!(count().await, 0);
    drop(third);
    let turn = hook.turns.clone().take_to_wait().await;
    assert!(poll_immediate(&mut start).await.is_none());
    assert_eq!(count().await, 0);
    drop(turn);
    let _ready = start.await.expect("a child");
    assert_eq!(count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn h8_while_a_start_of_before_hangs_no_other_child_is_to_wait() {
    let hook = ChildHook::default();
    let hangs = Arc::clone(&hook.to_wait).try_acquire_owned();
    let begun = Instant::now();
    assert!(hook.prepare(&waits()).await.is_none());
    assert_eq!(begun.elapsed(), PATIENCE);
    drop(hangs);
    assert!(hook.prepare(&waits()).await.is_some());
}

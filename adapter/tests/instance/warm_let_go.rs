//! When the hook child that waits is let go or passed over (H8): changed under way, still being started, and two questions
//! at once. Between runs nothing is left of it.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use adapter::{Block, HookEnd, Instance};
use futures::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::world::World;

const MS: Duration = Duration::from_millis(1);

/// Lets what was begun in the background come to its end.
async fn breathe() {
    sleep(MS).await;
}

async fn begin(world: &World, instance: &Instance) {
    instance.before_agent_start(world.turn()).await;
    breathe().await;
}

async fn call(world: &World, instance: &Instance, id: &str) -> Option<Block> {
    let answer = instance
        .tool_call(world.call(id, "read", json!({"path": "a"})))
        .await;
    breathe().await;
    answer
}

/// The tasks of the runtime that have not ended.
fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

/// Lets the starts happen that began so far, and tells how many that were.
async fn let_start(world: &World) -> usize {
    let count = world.hook.starts.let_happen();
    breathe().await;
    count
}

/// Does something to the binary.
type Change<'a> = &'a dyn Fn(&World);

/// An instance in a run whose child is being started.
async fn starting(world: &mut World) -> Arc<Instance> {
    world.hook.starts.hold();
    let instance = world.ready();
    begin(world, &instance).await;
    assert_eq!(world.hook.warm(), (0, 0));
    instance
}

#[tokio::test(start_paused = true)]
async fn h8_a_binary_that_differs_in_one_thing_is_asked_anew() {
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let set = |file: &File, at| file.set_modified(at).expect("a time");
    let changes: [(&str, Change<'_>); 4] = [
        ("inode", &|world| {
            let path = world.folder.path().join("bin/gortex");
            let other = world.executable("bin/other");
            set(&File::open(&other).expect("a file"), at);
            std::fs::rename(other, path).expect("renamed");
        }),
        ("size", &|world| {
            let path = world.write("bin/gortex", "#!/bin/sh\n\n");
            set(&File::open(path).expect("a file"), at);
        }),
        ("second", &|world| {
            let path = world.folder.path().join("bin/gortex");
            set(&File::open(path).expect("a file"), at + MS * 1_000);
        }),
        ("part of a second", &|world| {
            let path = world.folder.path().join("bin/gortex");
            set(&File::open(path).expect("a file"), at + MS * 500);
        }),
    ];
    for (what, change) in changes {
        let mut world = World::new();
        let path = world.folder.path().join("bin/gortex");
        set(&File::open(path).expect("a file"), at);
        let instance = world.ready();
        begin(&world, &instance).await;
        call(&world, &instance, "c1").await;
        assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (2, 1)));
        change(&world);
        call(&world, &instance, "c2").await;
        assert_eq!(world.hook.warm().1, 1, "{what}");
        // What was replaced waits no longer, and what is there now does.
        assert_eq!(world.hook.waiting(), 1, "{what}");
        call(&world, &instance, "c3").await;
        assert_eq!(world.hook.warm().1, 2, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn h8_what_is_configured_is_read_anew_at_a_reload_and_reaches_no_child_from_before() {
    let mut world = World::new();
    let instance = world.ready();
    begin(&world, &instance).await;
    world.write("repo/.pi/gortex.json", r#"{ "hook_mode": "nudge" }"#);
    // In the middle of a run nothing is read: it is the child that was started for it.
    call(&world, &instance, "c1").await;
    assert_eq!(world.hook.warm(), (2, 1));

    world.start(&instance);
    assert_eq!(world.hook.waiting(), 0);
    call(&world, &instance, "c2").await;
    assert_eq!(world.hook.warm(), (2, 1));
    instance.agent_settled();
    begin(&world, &instance).await;
    call(&world, &instance, "c3").await;
    assert_eq!(world.hook.warm().1, 2);
    let asks = world.hook.asks.lock().expect("lock");
    let modes = asks.iter().map(|ask| ask.command.args.get(2).cloned());
    let nudge = || Some("--mode=nudge".to_owned());
    assert_eq!(
        modes.collect::<Vec<_>>(),
        // The first is the briefing's.
        [None, None, nudge(), nudge()]
    );
}

#[tokio::test(start_paused = true)]
async fn h8_questions_at_once_are_answered_each_and_leave_one_child() {
    for count in [2, 8] {
        let mut world = World::new();
        let instance = world.ready();
        begin(&world, &instance).await;
        let ids: Vec<_> = (0..count).map(|at| format!("c{at}")).collect();
        for (at, id) in (1..).zip(&ids) {
            let decision = json!({"block": true, "reason": id}).to_string();
            let end = HookEnd::Exited(0);
            world
                .hook
                .answer_raw(MS * 100 * at, decision.as_bytes(), end);
        }
        let calls = ids.iter().map(|id| call(&world, &instance, id));
        let answers = join_all(calls).await;
        let reasons: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.map_or_else(String::new, |block| block.reason))
            .collect();
        assert_eq!(reasons, ids);
        assert_eq!(world.hook.waiting(), 1);
        // No child was started in vain: each was asked, or is the one that waits.
        let (prepared, asked) = world.hook.warm();
        assert!(asked >= 1 && prepared == asked + 1, "{prepared}, {asked}");
        instance.agent_settled();
        breathe().await;
        assert_eq!(world.hook.waiting(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn h8_h9_a_child_that_is_still_being_started_ends_as_one_that_waits_does() {
    type End = fn(&mut World, Arc<Instance>);
    let ends: [(&str, End); 4] = [
        ("settled", |_, instance| instance.agent_settled()),
        ("shut down", |_, instance| instance.session_shutdown()),
        ("configured anew", |world, instance| world.start(&instance)),
        ("dropped", |_, instance| drop(instance)),
    ];
    for (what, end) in ends {
        let mut world = World::new();
        let instance = starting(&mut world).await;
        // Where it is to be dropped this is the last one.
        let kept = (what != "dropped").then(|| instance.clone());
        end(&mut world, instance);
        breathe().await;
        assert_eq!(let_start(&world).await, 1, "{what}");
        assert_eq!(world.hook.waiting(), 0, "{what}");
        assert_eq!((let_start(&world).await, tasks()), (0, 0), "{what}");
        drop(kept);
    }
}

#[tokio::test(start_paused = true)]
async fn h8_a_question_waits_for_the_child_that_is_being_started_for_it() {
    let mut world = World::new();
    let instance = starting(&mut world).await;
    let (_, ran) = tokio::join!(call(&world, &instance, "c1"), async {
        breathe().await;
        let_start(&world).await
    });
    assert_eq!((ran, world.hook.warm()), (1, (1, 1)));
    assert_eq!(let_start(&world).await, 1);
    assert_eq!(world.hook.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn h8_h5_a_start_that_hangs_holds_a_question_no_longer_than_its_deadline() {
    let mut world = World::new();
    let instance = starting(&mut world).await;
    let begun = Instant::now();
    assert_eq!(call(&world, &instance, "c1").await, None);
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn h8_h5_a_start_that_hangs_is_not_met_again_by_the_next_question() {
    let mut world = World::new();
    let instance = starting(&mut world).await;
    for id in ["c1", "c2", "c3"] {
        // Nor does a child that is started for the question get ready in time.
        world
            .hook
            .answer_raw(MS * 30_000, b"{}", HookEnd::Exited(0));
        assert_eq!(call(&world, &instance, id).await, None);
    }
    assert_eq!(let_start(&world).await, 1);
}

#[tokio::test(start_paused = true)]
async fn h8_a_binary_that_changes_while_the_child_is_being_started_is_asked_anew() {
    let mut world = World::new();
    let instance = starting(&mut world).await;
    world.write("bin/gortex", "#!/bin/sh\nexit 0\n");
    let_start(&world).await;
    assert_eq!(world.hook.waiting(), 1);
    call(&world, &instance, "c1").await;
    let_start(&world).await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (2, 0)));
}

#[tokio::test(start_paused = true)]
async fn h8_h4_an_abort_while_the_child_is_being_started_leaves_none() {
    let mut world = World::new();
    let instance = starting(&mut world).await;
    let asked = world.call("c1", "read", json!({"path": "a"}));
    let abort = asked.abort.clone().expect("a signal");
    let (answer, ()) = tokio::join!(instance.tool_call(asked), async {
        breathe().await;
        abort.cancel();
    });
    assert_eq!(answer, None);
    let_start(&world).await;
    assert_eq!(world.hook.waiting(), 0);
    // The run goes on all the same: asked, and a child waits again.
    let asked = world.hook.envelopes().len();
    call(&world, &instance, "c2").await;
    let_start(&world).await;
    assert_eq!(world.hook.envelopes().len(), asked + 1);
    assert_eq!(world.hook.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn h8_an_answer_that_comes_after_the_agent_settled_starts_no_child() {
    let mut world = World::new();
    let instance = world.ready();
    begin(&world, &instance).await;
    world.hook.answer_raw(
        MS * 300,
        br#"{"block":true,"reason":"R"}"#,
        HookEnd::Exited(0),
    );
    let (answer, ()) = tokio::join!(call(&world, &instance, "c1"), async {
        sleep(MS * 100).await;
        instance.agent_settled();
    });
    let reason = "R".to_owned();
    assert_eq!(answer, Some(Block { reason }));
    // The second was started while the first thought, and let go as the agent settled.
    assert_eq!((world.hook.waiting(), world.hook.warm()), (0, (2, 1)));
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn h8_a_run_that_begins_before_the_agent_settled_tries_again() {
    let mut world = World::new();
    let instance = world.ready();
    begin(&world, &instance).await;
    world.hook.unfit.store(true, Ordering::Relaxed);
    call(&world, &instance, "c1").await;
    assert_eq!(world.hook.waiting(), 0);
    world.hook.unfit.store(false, Ordering::Relaxed);
    begin(&world, &instance).await;
    assert_eq!((world.hook.waiting(), tasks()), (1, 1));
    call(&world, &instance, "c2").await;
    assert_eq!((world.hook.waiting(), world.hook.warm().1), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn h8_between_runs_there_is_no_child_and_no_task() {
    let mut world = World::new();
    let instance = world.ready();
    assert_eq!(tasks(), 0);
    for _ in 0..3 {
        begin(&world, &instance).await;
        call(&world, &instance, "c1").await;
        // What lets the child go that waits for too long: one, however many calls.
        assert_eq!((world.hook.waiting(), tasks()), (1, 1));
        instance.agent_settled();
        breathe().await;
        assert_eq!((world.hook.waiting(), tasks()), (0, 0));
    }
    begin(&world, &instance).await;
    instance.session_shutdown();
    breathe().await;
    assert_eq!((world.hook.waiting(), tasks()), (0, 0));
}

//! The hook child that waits ready during a run (H8).

use std::time::Duration;

use adapter::{Block, HookEnd, Instance};
use serde_json::json;
use tokio::time::sleep;

use crate::world::World;

const MS: Duration = Duration::from_millis(1);

/// Lets what was begun in the background come to its end.
async fn breathe() {
    sleep(MS).await;
}

/// An instance in a run: its first turn was briefed, and nothing was asked about a call yet.
async fn running(world: &mut World) -> std::sync::Arc<Instance> {
    let instance = world.ready();
    instance.before_agent_start(world.turn()).await;
    breathe().await;
    instance
}

async fn call(world: &World, instance: &Instance, id: &str) -> Option<Block> {
    let answer = instance
        .tool_call(world.call(id, "read", json!({"path": "a"})))
        .await;
    breathe().await;
    answer
}

#[tokio::test(start_paused = true)]
async fn h8_a_child_waits_from_the_start_of_a_run_until_the_agent_settles() {
    let mut world = World::new();
    let instance = world.ready();
    breathe().await;
    assert_eq!(world.hook.waiting(), 0);

    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (1, 0)));

    // Used, the next one is there soon, and the decision is the same.
    for (at, id) in ["c1", "c2", "c3"].into_iter().enumerate() {
        world.hook.answer(&json!({"block": true, "reason": id}));
        let reason = id.to_owned();
        assert_eq!(call(&world, &instance, id).await, Some(Block { reason }));
        assert_eq!(world.hook.waiting(), 1);
        assert_eq!(world.hook.warm(), (at + 2, at + 1));
    }

    instance.agent_settled();
    assert_eq!(world.hook.waiting(), 0);
    // A call after that, which no host makes, costs a process and leaves none behind.
    assert_eq!(call(&world, &instance, "c4").await, None);
    assert_eq!((world.hook.waiting(), world.hook.warm()), (0, (4, 3)));

    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!(world.hook.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn h8_a_child_is_started_as_any_other_is() {
    let mut world = World::new();
    world.set("GORTEX_HOOK_MODE", "nudge");
    let instance = running(&mut world).await;
    call(&world, &instance, "c1").await;
    let asks = world.hook.asks.lock().expect("lock");
    let asked: Vec<_> = asks.iter().map(|ask| &*ask.command).collect();
    let prepared = world.hook.prepared.lock().expect("lock");
    assert_eq!(asked, prepared.iter().collect::<Vec<_>>());
    assert_eq!(asks[1].command.args.last().expect("a mode"), "--mode=nudge");
}

#[tokio::test(start_paused = true)]
async fn h8_r11_shutdown_and_a_new_configuration_leave_none() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    world.start(&instance);
    assert_eq!(world.hook.waiting(), 0);
    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!(world.hook.waiting(), 1);
    instance.session_shutdown();
    assert_eq!(world.hook.waiting(), 0);
    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!(world.hook.waiting(), 0);

    // Nobody tells an instance that is dropped.
    let mut world = World::new();
    let instance = running(&mut world).await;
    assert_eq!(world.hook.waiting(), 1);
    drop(instance);
    breathe().await;
    assert_eq!(world.hook.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn h8_a_child_waits_for_60_s_and_no_longer() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    sleep(MS * 59_000).await;
    assert_eq!(world.hook.waiting(), 1);
    // The next one has a time of its own.
    call(&world, &instance, "c1").await;
    sleep(MS * 59_000).await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (2, 1)));
    sleep(MS * 1_000).await;
    assert_eq!(world.hook.waiting(), 0);
    // The call after that is asked all the same, and again one waits.
    call(&world, &instance, "c2").await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (3, 1)));
    assert_eq!(world.hook.envelopes().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn h8_a_changed_binary_and_a_changed_folder_are_asked_anew() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    // The same bytes in a new file.
    std::fs::remove_file(world.folder.path().join("bin/gortex")).expect("gone");
    world.executable("bin/other");
    world.executable("bin/gortex");
    call(&world, &instance, "c1").await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (2, 0)));
    call(&world, &instance, "c2").await;
    assert_eq!(world.hook.warm(), (3, 1));

    let moved = world.folder.path().join("moved");
    std::fs::rename(world.cwd(), moved).expect("moved");
    std::fs::create_dir(world.cwd()).expect("a new one");
    call(&world, &instance, "c3").await;
    assert_eq!(world.hook.warm(), (4, 1));

    // Gone, nothing waits for it, and the question tells why.
    std::fs::remove_file(world.folder.path().join("bin/gortex")).expect("gone");
    let gone = HookEnd::SpawnFailed("entity not found".to_owned());
    world.hook.answer_raw(Duration::ZERO, b"", gone);
    call(&world, &instance, "c4").await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (0, (4, 1)));
    assert_eq!(world.logged("it could not run"), 1);
}

#[tokio::test(start_paused = true)]
async fn h8_a_child_in_another_folder_is_not_used() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    let mut elsewhere = world.call("c1", "read", json!({"path": "a"}));
    elsewhere.cwd = world.folder.path().to_owned();
    instance.tool_call(elsewhere).await;
    breathe().await;
    assert_eq!(world.hook.warm(), (2, 0));
    let asks = world.hook.asks.lock().expect("lock");
    assert_eq!(asks[1].command.cwd, world.folder.path());
}

#[tokio::test(start_paused = true)]
async fn h8_a_child_that_does_not_wait_is_replaced_unseen_and_tried_once_a_run() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    world
        .hook
        .unfit
        .store(true, std::sync::atomic::Ordering::Relaxed);
    for id in ["c1", "c2"] {
        world.hook.answer(&json!({"block": true, "reason": id}));
        let reason = id.to_owned();
        assert_eq!(call(&world, &instance, id).await, Some(Block { reason }));
        assert_eq!((world.hook.waiting(), world.hook.warm()), (0, (1, 0)));
    }
    assert_eq!(world.logged("no decision"), 0);
    instance.agent_settled();
    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!(world.hook.waiting(), 1);
}

#[tokio::test(start_paused = true)]
async fn h8_h4_an_aborted_question_ends_its_child() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    world
        .hook
        .answer_raw(MS * 30_000, br#"{"block":true}"#, HookEnd::Exited(0));
    let asked = world.call("c1", "read", json!({"path": "a"}));
    let abort = asked.abort.clone().expect("a signal");
    let (answer, ()) = tokio::join!(instance.tool_call(asked), async {
        sleep(MS * 300).await;
        abort.cancel();
    });
    assert_eq!(answer, None);
    breathe().await;
    // The next was started while this one thought. A run that goes on all the same uses it.
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (2, 1)));
    call(&world, &instance, "c2").await;
    assert_eq!((world.hook.waiting(), world.hook.warm()), (1, (3, 2)));
}

#[tokio::test(start_paused = true)]
async fn h8_the_deadline_counts_from_the_question() {
    let mut world = World::new();
    let instance = running(&mut world).await;
    sleep(MS * 30_000).await;
    world.hook.answer_raw(
        MS * 4_900,
        br#"{"block":true,"reason":"R"}"#,
        HookEnd::Exited(0),
    );
    let reason = "R".to_owned();
    assert_eq!(call(&world, &instance, "c1").await, Some(Block { reason }));
}

#[tokio::test(start_paused = true)]
async fn h8_h7_no_child_waits_where_nothing_will_be_asked() {
    for (variable, value) in [("GORTEX_WARM_HOOK", "off"), ("GORTEX_ENFORCE", "0")] {
        let mut world = World::new();
        world.set(variable, value);
        let instance = running(&mut world).await;
        call(&world, &instance, "c1").await;
        assert_eq!(world.hook.warm(), (0, 0), "{variable}");
    }

    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    instance.before_agent_start(world.turn()).await;
    call(&world, &instance, "c1").await;
    assert_eq!(world.hook.warm(), (0, 0));
    // The call by which the tools are found is asked, and from the next run on a child waits.
    world.list("mcp__gortex__search");
    call(&world, &instance, "c2").await;
    assert_eq!(
        (world.hook.warm(), world.hook.envelopes().len()),
        ((0, 0), 2)
    );
    instance.agent_settled();
    instance.before_agent_start(world.turn()).await;
    breathe().await;
    assert_eq!(world.hook.waiting(), 1);
}

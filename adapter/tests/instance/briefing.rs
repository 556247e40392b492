//! The one hidden message of a first turn (B1-B4).

use std::time::Duration;

use adapter::HookEnd;
use serde_json::json;
use tokio::time::Instant;

use crate::world::{World, content, text_of};

#[tokio::test(start_paused = true)]
async fn b1_one_question_with_the_binary_that_was_registered() {
    let mut world = World::new();
    world.set("GORTEX_HOOK_MODE", "adaptive-nudge");
    world.set("GORTEX_ENFORCE", "off");
    let instance = world.ready();
    world.hook.answer(&json!({"orientation": "O"}));
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        "O"
    );
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
    let asks = world.hook.asks.lock().expect("lock");
    assert_eq!(asks.len(), 1);
    assert_eq!(
        text_of(&asks[0].command.program),
        world.registered[0].1["command"]
    );
    assert_eq!(asks[0].command.args, ["hook", "--agent=pi", "--mode=nudge"]);
    assert_eq!(asks[0].command.cwd, world.cwd());
    assert_eq!(asks[0].deadline, Instant::now() + Duration::from_secs(10));
    let envelope: serde_json::Value = serde_json::from_slice(&asks[0].envelope).expect("JSON");
    assert_eq!(
        envelope,
        json!({"event": "session_start", "cwd": text_of(&world.cwd()), "session_id": "s-1"})
    );
}

#[tokio::test(start_paused = true)]
async fn b3_a_briefing_that_the_branch_holds_is_not_stored_twice() {
    let mut world = World::new();
    let briefing = |age: &str| format!("✓ Gortex daemon ready (v0.64.5, uptime {age}). Go.");
    world.host.0.lock().expect("lock").stored =
        vec![json!([{"type": "text", "text": briefing("1m")}])];
    let instance = world.ready();
    world.hook.answer(&json!({"orientation": briefing("2h")}));
    assert_eq!(instance.before_agent_start(world.turn()).await, None);

    // A note is told even so, and alone, also where an earlier instance left the same.
    let told = |text: &str| json!([{"type": "text", "text": text}]);
    let note = told(adapter::texts::NOT_YET_CALLABLE);
    world.host.0.lock().expect("lock").stored.push(note);
    let instance = world.instance();
    world.host.0.lock().expect("lock").tools = Some(Vec::new());
    world.start(&instance);
    world.hook.answer(&json!({"orientation": briefing("3h")}));
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        adapter::texts::NOT_YET_CALLABLE
    );
}

#[tokio::test(start_paused = true)]
async fn b3_h5_a_host_that_is_slow_to_tell_adds_nothing_to_the_caps() {
    let mut world = World::new();
    let instance = world.ready();
    world.host.0.lock().expect("lock").slow = Duration::from_secs(60);
    world.hook.answer_raw(
        Duration::from_secs(9),
        br#"{"orientation":"O"}"#,
        HookEnd::Exited(0),
    );
    let started = Instant::now();
    let message = instance.before_agent_start(world.turn()).await;
    assert_eq!(content(message), "O");
    assert_eq!(started.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn b4_an_old_daemon_is_told_to_user_and_model() {
    let mut world = World::new();
    let instance = world.ready();
    let briefing = "✓ Gortex ready (v0.61.1-rc2): 3 repo(s), 120 nodes.";
    world.hook.answer(&json!({"orientation": briefing}));
    let told = content(instance.before_agent_start(world.turn()).await);
    assert!(
        told.ends_with(briefing) && told.contains("0.61.1") && told.contains("0.61.2"),
        "{told}"
    );
    let notified = world.notified();
    assert!(
        notified.len() == 1 && notified[0].contains("0.61.1"),
        "{notified:?}"
    );

    let instance = world.ready();
    world
        .hook
        .answer(&json!({"orientation": briefing.replace("0.61.1-rc2", "0.61.2+1")}));
    assert!(!content(instance.before_agent_start(world.turn()).await).contains("older"));
    assert_eq!(world.notified().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn h5_a_briefing_that_fails_costs_only_the_briefing() {
    let mut world = World::new();
    let instance = world.ready();
    world.hook.answer_raw(
        Duration::from_secs(60),
        br#"{"orientation":"late"}"#,
        HookEnd::Exited(0),
    );
    let started = Instant::now();
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
    assert_eq!(started.elapsed(), Duration::from_secs(10));
    assert_eq!(world.logged("no decision"), 1);
}

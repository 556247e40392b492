//! The first turn's waits, and what it reports (R3-R13, O01, O10).

use std::sync::Arc;
use std::time::Duration;

use adapter::{CommandFact, ToolFact, texts};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::world::{World, content, tool};

const MS: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn r5_o01_a_turn_waits_for_the_session_hook_and_then_for_a_tool() {
    let mut world = World::new();
    let instance = world.instance();
    let started = Instant::now();
    let turn = tokio::spawn({
        let (instance, turn) = (Arc::clone(&instance), world.turn());
        async move { (instance.before_agent_start(turn).await, Instant::now()) }
    });
    sleep(MS * 3000).await;
    world.start(&instance);
    sleep(MS * 1500).await;
    assert!(!turn.is_finished());
    world.list("mcp__gortex__search");
    world
        .hook
        .answer(&json!({"orientation": "use graph tools"}));
    let (message, settled) = turn.await.expect("turn");
    assert_eq!(content(message), "use graph tools");
    let waited = settled - started;
    assert!((MS * 4500..=MS * 4551).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn r6_o01_a_cap_that_expires_is_reported_by_one_turn_and_later_ones_pass() {
    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    world.hook.answer(&json!({"orientation": "O"}));
    let started = Instant::now();
    let message = instance
        .before_agent_start(world.turn())
        .await
        .expect("a message");
    assert_eq!(started.elapsed(), MS * 12_000);
    assert_eq!(message.content, format!("{}\n\nO", texts::NOT_YET_CALLABLE));
    assert_eq!(
        serde_json::to_value(&message).expect("JSON"),
        json!({"customType": "gortex", "content": message.content, "display": false})
    );
    let later = Instant::now();
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
    assert_eq!(later.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn r9_a_host_without_session_hook_costs_one_cap_and_one_note() {
    let world = World::new();
    let instance = world.instance();
    let started = Instant::now();
    let message = instance.before_agent_start(world.turn()).await;
    assert_eq!(content(message), texts::NOT_YET_CALLABLE);
    assert_eq!(started.elapsed(), MS * 15_000);
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
}

#[tokio::test(start_paused = true)]
async fn r3_what_is_unavailable_is_told_at_once_with_its_cause() {
    let mut world = World::new();
    world.commands.clear();
    let instance = world.instance();
    world.start(&instance);
    let started = Instant::now();
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        texts::NO_CONNECTOR
    );
    assert_eq!(started.elapsed(), Duration::ZERO);

    let mut world = World::new();
    world.set("GORTEX_BIN", "/nowhere/gortex");
    let instance = world.instance();
    world.start(&instance);
    let told = content(instance.before_agent_start(world.turn()).await);
    assert!(
        told.contains("unavailable")
            && told.contains("/nowhere/gortex")
            && told.contains("/reload"),
        "{told}"
    );
    assert_eq!(world.hook.envelopes(), [json!(null); 0]);
}

#[tokio::test(start_paused = true)]
async fn r13_tools_of_another_source_are_not_called_unavailable() {
    for exposure in ["codemode", "deferred", "hidden"] {
        let mut world = World::new();
        world.set("GORTEX_BIN", "/nowhere/gortex");
        let tool = ToolFact {
            name: "mcp__gortex__search".to_owned(),
            exposure: Some(exposure.to_owned()),
        };
        world.host.0.lock().expect("lock").tools = Some(vec![tool]);
        let instance = world.instance();
        world.start(&instance);
        let started = Instant::now();
        assert_eq!(
            instance.before_agent_start(world.turn()).await,
            None,
            "{exposure}"
        );
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn r4_a_refusal_is_reported_only_when_no_tool_appears() {
    let refusal = "MCP server \"gortex\" is already registered by extension \"/x\"";
    let mut world = World::new();
    world.refusal = Some(refusal.to_owned());
    let instance = world.instance();
    world.start(&instance);
    let started = Instant::now();
    let told = content(instance.before_agent_start(world.turn()).await);
    assert!(told.contains(refusal), "{told}");
    assert_eq!(started.elapsed(), MS * 12_000);

    let instance = world.ready();
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
}

#[tokio::test(start_paused = true)]
async fn r4_a_foreign_connector_is_named_only_when_no_tool_appears() {
    let foreign = |name: &str, path: &str| CommandFact {
        name: name.to_owned(),
        source_path: path.to_owned(),
    };
    let mut world = World::new();
    world.commands = vec![foreign("mcp", "/ext/adapter.ts")];
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(world.registered.len(), 1);
    let told = content(instance.before_agent_start(world.turn()).await);
    assert!(
        told.contains("/ext/adapter.ts") && told.contains("mcp.json"),
        "{told}"
    );

    // Both stand side by side where the other came late, and Pi's own still connects.
    world.commands = vec![
        foreign("mcp:1", "/ext/adapter.ts"),
        foreign("mcp:2", "builtin:mcp"),
    ];
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        texts::NOT_YET_CALLABLE
    );
}

#[tokio::test(start_paused = true)]
async fn r8_two_turns_that_race_brief_once_between_them() {
    let mut world = World::new();
    let instance = world.ready();
    world.hook.answer_raw(
        MS * 700,
        br#"{"orientation":"O"}"#,
        adapter::HookEnd::Exited(0),
    );
    world.hook.answer(&json!({"orientation": "again"}));
    let (one, two) = tokio::join!(
        instance.before_agent_start(world.turn()),
        instance.before_agent_start(world.turn())
    );
    assert_eq!(
        (content(one), content(two)),
        ("O".to_owned(), String::new())
    );
    assert_eq!(world.hook.envelopes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r7_o10_a_signal_ends_the_wait_and_uses_nothing_up() {
    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    let mut turn = world.turn();
    let abort = CancellationToken::new();
    turn.abort = Some(abort.clone());
    let started = Instant::now();
    let (message, ()) = tokio::join!(instance.before_agent_start(turn), async {
        sleep(MS * 300).await;
        abort.cancel();
    });
    assert_eq!((message, started.elapsed()), (None, MS * 300));
    world.list("mcp__gortex__search");
    world.hook.answer(&json!({"orientation": "O"}));
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        "O"
    );
}

#[tokio::test(start_paused = true)]
async fn r11_o04_shutdown_ends_every_wait_and_the_host_is_left_alone() {
    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    let turn = tokio::spawn({
        let (instance, turn) = (Arc::clone(&instance), world.turn());
        async move { instance.before_agent_start(turn).await }
    });
    let call = tokio::spawn({
        world
            .hook
            .answer_raw(MS * 4000, br#"{"block":true}"#, adapter::HookEnd::Exited(0));
        let (instance, call) = (
            Arc::clone(&instance),
            world.call("c1", "read", json!({"path": "a"})),
        );
        async move { instance.tool_call(call).await }
    });
    sleep(MS * 1000).await;
    let started = Instant::now();
    instance.session_shutdown();
    assert_eq!(
        (turn.await.expect("turn"), call.await.expect("call")),
        (None, None)
    );
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert!(
        world.hook.asks.lock().expect("lock")[0]
            .abort
            .is_cancelled()
    );

    let asked = world.host.0.lock().expect("lock").asked_for_tools;
    world.start(&instance);
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
    assert_eq!(
        instance
            .tool_call(world.call("c2", "read", json!({})))
            .await,
        None
    );
    assert_eq!(world.registered.len(), 1);
    assert_eq!(world.hook.asks.lock().expect("lock").len(), 1);
    assert_eq!(world.host.0.lock().expect("lock").asked_for_tools, asked);
}

#[tokio::test(start_paused = true)]
async fn r10_a_replaced_session_ends_the_wait_without_a_word() {
    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    let host = world.host.clone();
    let (message, ()) = tokio::join!(
        timeout(MS * 2000, instance.before_agent_start(world.turn())),
        async {
            sleep(MS * 500).await;
            host.0.lock().expect("lock").tools = None;
        }
    );
    assert_eq!(message.expect("settled"), None);
}

#[tokio::test(start_paused = true)]
async fn r5_a_tool_of_another_server_is_no_graph_tool() {
    let mut world = World::new();
    world.host.0.lock().expect("lock").tools = Some(vec![
        tool("mcp__gortex2__search"),
        tool("mcp__other__gortex"),
    ]);
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        texts::NOT_YET_CALLABLE
    );
}

//! The read discipline (H1-H7, O03, O10).

use std::time::Duration;

use adapter::hook::Envelope;
use adapter::{Block, HookEnd, ToolFact};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::world::{World, result, text_of};

const MS: Duration = Duration::from_millis(1);

fn block(reason: &str) -> Option<Block> {
    Some(Block {
        reason: reason.to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn h1_a_call_is_sent_and_a_block_applied() {
    let mut world = World::new();
    let instance = world.ready();
    world.hook.answer(
        &json!({"block": true, "reason": "use search\u{2028}now", "additional_context": "unused"}),
    );
    let call = world.call("c1", "read", json!({"path": "a.rs"}));
    assert_eq!(
        instance.tool_call(call).await,
        block("use search\u{2028}now")
    );
    assert_eq!(
        world.hook.envelopes(),
        [
            json!({"event": "tool_call", "cwd": text_of(&world.cwd()), "session_id": "s-1", "tool_name": "Read",
                "tool_input": {"path": "a.rs", "file_path": "a.rs"}, "is_gortex_tool": false})
        ]
    );
    assert_eq!(
        world.hook.asks.lock().expect("lock")[0].command.args,
        ["hook", "--agent=pi"]
    );
    assert_eq!(instance.tool_result(result("c1")).await, None);
}

#[tokio::test(start_paused = true)]
async fn h1_without_enforcement_nothing_is_sent() {
    let mut world = World::new();
    world.set("GORTEX_ENFORCE", "No");
    let instance = world.ready();
    assert_eq!(
        instance
            .tool_call(world.call("c1", "read", json!({"path": "a"})))
            .await,
        None
    );
    assert_eq!(world.hook.envelopes(), [Value::Null; 0]);
}

#[tokio::test(start_paused = true)]
async fn h4_o10_an_abort_settles_at_once_and_ends_the_child() {
    let mut world = World::new();
    let instance = world.ready();
    world
        .hook
        .answer_raw(MS * 30_000, br#"{"block":true}"#, HookEnd::Exited(0));
    let call = world.call("c1", "read", json!({"path": "a"}));
    let abort = call.abort.clone().expect("a signal");
    let started = Instant::now();
    let (answer, ()) = tokio::join!(instance.tool_call(call), async {
        sleep(MS * 300).await;
        abort.cancel();
    });
    assert_eq!((answer, started.elapsed()), (None, MS * 300));
    assert!(
        world.hook.asks.lock().expect("lock")[0]
            .abort
            .is_cancelled()
    );

    // A signal that fired before starts nothing.
    let call = world.call("c2", "read", json!({"path": "a"}));
    call.abort.as_ref().expect("a signal").cancel();
    assert_eq!(instance.tool_call(call).await, None);
    assert_eq!(world.hook.envelopes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn h5_o03_every_failure_lets_the_call_run_and_is_logged_once() {
    let deny = br#"{"block":true,"reason":"SECRET"}"#;
    let failures: [(Duration, &[u8], HookEnd); 7] = [
        (Duration::ZERO, deny, HookEnd::Exited(1)),
        (Duration::ZERO, deny, HookEnd::Signalled(9)),
        (
            Duration::ZERO,
            deny,
            HookEnd::SpawnFailed("gone\u{1b}[31m\n".to_owned()),
        ),
        (Duration::ZERO, deny, HookEnd::TooLarge),
        (MS * 6000, deny, HookEnd::Exited(0)),
        (Duration::ZERO, b"SECRET {}", HookEnd::Exited(0)),
        (
            Duration::ZERO,
            br#"{"block":"true","reason":"SECRET"}"#,
            HookEnd::Exited(0),
        ),
    ];
    for (delay, stdout, end) in failures {
        let mut world = World::new();
        let instance = world.ready();
        world.hook.answer_raw(delay, stdout, end.clone());
        let started = Instant::now();
        assert_eq!(
            instance
                .tool_call(world.call("c1", "read", json!({"path": "a"})))
                .await,
            None,
            "{end:?}"
        );
        assert!(started.elapsed() <= MS * 5000);
        assert_eq!(
            (world.logged("no decision"), world.logged("SECRET")),
            (1, 0),
            "{end:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn h6_guidance_goes_to_the_result_that_the_model_reads() {
    let mut world = World::new();
    let instance = world.ready();
    world
        .hook
        .answer(&json!({"additional_context": "prefer search"}));
    assert_eq!(
        instance
            .tool_call(world.call("c1", "mcp__gortex__read", json!({})))
            .await,
        None
    );
    let done = result("c1");
    let patch = instance.tool_result(done.clone()).await.expect("a patch");
    let expected = [
        done.content.as_ref().expect("content")[0].clone(),
        json!({"type": "text", "text": "prefer search"}),
    ];
    assert_eq!(patch.content.as_deref(), Some(expected.as_slice()));
    assert_eq!(patch.structured_content, done.structured_content);
    assert_eq!((patch.details, patch.is_error), (None, None));
    assert_eq!(instance.tool_result(done).await, None);
}

#[tokio::test(start_paused = true)]
async fn h6_content_that_is_no_list_is_left_alone() {
    let mut world = World::new();
    let instance = world.ready();
    world.hook.answer(&json!({"additional_context": "G"}));
    let call = world.call("c1", "read", json!({"path": "a"}));
    assert_eq!(instance.tool_call(call).await, None);
    let mut hidden = result("c1");
    hidden.content = None;
    assert_eq!(instance.tool_result(hidden).await, None);
    assert_eq!(world.logged("guidance dropped"), 1);
}

#[tokio::test(start_paused = true)]
async fn h6_guidance_on_a_nested_call_goes_to_the_codemode_call() {
    let mut world = World::new();
    let instance = world.ready();
    world.hook.answer(&json!({}));
    world.hook.answer(&json!({"additional_context": "one"}));
    world.hook.answer(&json!({"additional_context": "two"}));
    assert_eq!(
        instance
            .tool_call(world.call("c1", "codemode", json!({"code": "x"})))
            .await,
        None
    );
    for nested in ["c1/1", "c1/2"] {
        let mut call = world.call(nested, "read", json!({"path": "a"}));
        call.parent_id = Some("c1".to_owned());
        assert_eq!(instance.tool_call(call).await, None);
        assert_eq!(instance.tool_result(result(nested)).await, None);
    }
    let patch = instance.tool_result(result("c1")).await.expect("a patch");
    assert_eq!(patch.content.expect("content")[1]["text"], "one\n\ntwo");
}

#[tokio::test(start_paused = true)]
async fn h7_o01_nothing_is_forwarded_until_a_graph_tool_appears() {
    let mut world = World::new();
    let instance = world.instance();
    world.start(&instance);
    instance.before_agent_start(world.turn()).await;
    assert_eq!(world.hook.envelopes().len(), 1);
    assert_eq!(
        instance
            .tool_call(world.call("c1", "read", json!({"path": "a"})))
            .await,
        None
    );
    assert_eq!(world.hook.envelopes().len(), 1);
    world.list("mcp__gortex__search");
    world.hook.answer(&json!({"block": true, "reason": "R"}));
    assert_eq!(
        instance
            .tool_call(world.call("c2", "read", json!({"path": "a"})))
            .await,
        block("R")
    );
}

#[tokio::test(start_paused = true)]
async fn o11_odd_inputs_reach_the_hook_as_json() {
    let mut world = World::new();
    let instance = world.ready();
    for (id, input) in [
        ("c1", Value::Null),
        ("c2", json!("text")),
        ("c3", json!({"n": 1e300, "deep": [[[]]]})),
    ] {
        assert_eq!(
            instance
                .tool_call(world.call(id, "odd tool\u{0}", input))
                .await,
            None
        );
    }
    assert_eq!(world.hook.envelopes().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn h7_graph_tools_that_are_hidden_leave_nothing_to_use_instead() {
    let mut world = World::new();
    let hidden = ToolFact {
        name: "mcp__gortex__search".to_owned(),
        exposure: Some("hidden".to_owned()),
    };
    world.host.0.lock().expect("lock").tools = Some(vec![hidden]);
    let instance = world.instance();
    world.start(&instance);
    instance.before_agent_start(world.turn()).await;
    world.hook.answer(&json!({"block": true, "reason": "R"}));
    assert_eq!(
        instance
            .tool_call(world.call("c1", "read", json!({"path": "a"})))
            .await,
        None
    );
    world.list("mcp__gortex__read");
    assert_eq!(
        instance
            .tool_call(world.call("c2", "read", json!({"path": "a"})))
            .await,
        block("R")
    );
}

#[tokio::test(start_paused = true)]
async fn h1_h5_a_call_of_more_than_16_mib_is_not_asked_about() {
    let mut world = World::new();
    let instance = world.ready();
    let call = |bytes| world.call("c1", "write", json!({"content": "x".repeat(bytes)}));
    assert_eq!(instance.tool_call(call(0)).await, None);
    let around = world.hook.asks.lock().expect("lock")[0].envelope.len();

    let most = call(Envelope::MAX_BYTES - around);
    assert_eq!(instance.tool_call(most).await, None);
    {
        let asks = world.hook.asks.lock().expect("lock");
        assert_eq!(
            (asks.len(), asks[1].envelope.len()),
            (2, Envelope::MAX_BYTES)
        );
    }
    let more = call(Envelope::MAX_BYTES - around + 1);
    assert_eq!(instance.tool_call(more).await, None);
    assert_eq!(world.hook.asks.lock().expect("lock").len(), 2);
    assert_eq!(
        world.logged("not asked, since the question is too large"),
        1
    );
}

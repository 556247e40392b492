//! An instance with a real hook child and real threads, on the real clock (H1, H3, B1, O11).

use std::sync::Arc;

use adapter::child::ChildHook;
use adapter::{Block, Caps, Instance, Ports, ThreadWork};
use serde_json::json;

use crate::world::{World, content, result};

/// A hook that answers by what it reads, and counts on nothing but a shell.
const HOOK: &str = r#"#!/bin/sh
case "$(cat)" in
*'"event":"session_start"'*) echo '{"orientation":"O"}' ;;
*'"tool_name":"Read"'*) echo '{"block":true,"reason":"use search"}' ;;
*) printf '{"additional_context":"%s %s"}' "$1" "$2" ;;
esac
"#;

fn instance(world: &World) -> Arc<Instance> {
    let ports = Ports {
        host: Arc::new(world.host.clone()),
        hook: Arc::new(ChildHook::default()),
        writes: Arc::clone(&world.writes),
        log: Arc::new(world.log.clone()),
        work: Arc::new(ThreadWork),
    };
    // A loaded machine may need longer for a process or a thread than a person would put up with.
    let patient = std::time::Duration::from_secs(60);
    let caps = Caps {
        hook_call: patient,
        hook_briefing: patient,
        diff: patient,
        diff_in_all: patient,
        ..Caps::default()
    };
    Instance::new(world.environment.clone(), ports, caps)
}

#[tokio::test]
async fn h1_b1_a_hook_child_briefs_blocks_and_guides() {
    let mut world = World::new();
    world.executable("bin/gortex");
    world.write("bin/gortex", HOOK);
    let path = format!("{}:/usr/bin:/bin", world.environment.vars["PATH"]);
    world.set("PATH", &path);
    world.list("mcp__gortex__edit_file");
    world.write("repo/a", "1\n");
    let instance = instance(&world);
    world.start(&instance);
    assert_eq!(
        content(instance.before_agent_start(world.turn()).await),
        "O"
    );
    let read = world.call("c1", "read", json!({"path": "a"}));
    assert_eq!(
        instance.tool_call(read).await,
        Some(Block {
            reason: "use search".to_owned()
        })
    );
    let edit = world.call("c2", "mcp__gortex__edit_file", json!({"path": "a"}));
    assert_eq!(instance.tool_call(edit).await, None);
    world.write("repo/a", "2\n");
    let patch = instance.tool_result(result("c2")).await.expect("a patch");
    assert_eq!(
        patch.content.expect("content")[1]["text"],
        "hook --agent=pi"
    );
    assert_eq!(patch.details.expect("details")["diff"], "-1 1\n+1 2");
}

#[tokio::test]
async fn o11_a_binary_that_vanished_costs_the_hook_only() {
    let mut world = World::new();
    world.list("mcp__gortex__edit_file");
    let instance = instance(&world);
    world.start(&instance);
    std::fs::remove_file(world.folder.path().join("bin/gortex")).expect("removed");
    assert_eq!(instance.before_agent_start(world.turn()).await, None);
    assert_eq!(
        instance
            .tool_call(world.call("c1", "read", json!({"path": "a"})))
            .await,
        None
    );
    assert_eq!(world.logged("no decision: it could not run"), 2);
}

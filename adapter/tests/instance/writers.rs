//! Which calls write files, and how many (E1, E3, E4).

use std::sync::Arc;

use adapter::{Instance, Work, texts};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::world::{World, result};

const EDIT: &str = "mcp__gortex__edit_file";

fn ready(world: &mut World) -> Arc<Instance> {
    world.set("GORTEX_ENFORCE", "0");
    world.ready()
}

async fn begin(world: &World, instance: &Instance, id: &str, tool: &str, input: Value) {
    assert_eq!(instance.tool_call(world.call(id, tool, input)).await, None);
}

/// What a result's details show, file by file.
async fn shown(instance: &Instance, id: &str) -> Vec<Value> {
    let patch = instance.tool_result(result(id)).await;
    match patch.and_then(|patch| patch.details) {
        Some(details) => details["diffs"].as_array().cloned().expect("diffs"),
        None => Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn e4_a_tool_that_is_not_known_may_write_anything() {
    let mut world = World::new();
    let instance = ready(&mut world);
    let note = json!({"path": "f", "note": texts::NOTE_ALONGSIDE});
    for tool in ["apply_patch", "mcp__fs__write_file", "task"] {
        world.write("repo/f", "1\n");
        begin(&world, &instance, "A", tool, json!({})).await;
        begin(&world, &instance, "B", EDIT, json!({"path": "f"})).await;
        world.write("repo/f", "2\n");
        assert_eq!(shown(&instance, "A").await, Vec::<Value>::new(), "{tool}");
        assert_eq!(shown(&instance, "B").await, [note.clone()], "{tool}");
    }
    // What is known to read, and a script whose calls are seen one by one, cost no diff.
    for tool in [
        "read",
        "grep",
        "codemode",
        "tool_search",
        "mcp__gortex__search",
    ] {
        world.write("repo/f", "1\n");
        begin(&world, &instance, "A", tool, json!({})).await;
        begin(&world, &instance, "B", EDIT, json!({"path": "f"})).await;
        world.write("repo/f", "2\n");
        assert_eq!(
            shown(&instance, "B").await[0]["diff"],
            "-1 1\n+1 2",
            "{tool}"
        );
        assert_eq!(shown(&instance, "A").await, Vec::<Value>::new(), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn e4_many_replacements_in_one_file_are_one_diff() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/f", "1\n");
    world.write("repo/g", "1\n");
    let edits: Vec<Value> = (0..1000).map(|step| json!({"old_string": step})).collect();
    let input = json!({"path": "f", "edits": edits});
    begin(&world, &instance, "A", EDIT, input).await;
    begin(&world, &instance, "B", EDIT, json!({"path": "g"})).await;
    for file in ["repo/f", "repo/g"] {
        world.write(file, "2\n");
    }
    for call in ["A", "B"] {
        assert_eq!(shown(&instance, call).await[0]["diff"], "-1 1\n+1 2");
    }
}

#[tokio::test(start_paused = true)]
async fn e4_of_far_too_many_files_the_first_are_shown_and_any_may_be_written() {
    let mut world = World::new();
    let instance = ready(&mut world);
    let edits: Vec<Value> = (0..300)
        .map(|file| json!({"path": format!("f{file}")}))
        .collect();
    let tool = "mcp__gortex__batch_edit";
    begin(&world, &instance, "A", tool, json!({"edits": edits})).await;
    for (call, file) in [("B", "f299"), ("C", "f0")] {
        begin(&world, &instance, call, EDIT, json!({"path": file})).await;
    }
    for file in ["f0", "f1", "f255", "f256", "f299"] {
        world.write(&format!("repo/{file}"), "new\n");
    }
    let told = shown(&instance, "A").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["diff"], "+1 new");
    assert_eq!(told[1], json!({"path": "f255", "note": texts::NOTE_MANY}));
    let note = json!({"path": "f299", "note": texts::NOTE_ALONGSIDE});
    assert_eq!(shown(&instance, "B").await, [note]);
    assert_eq!(shown(&instance, "C").await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn e3_every_file_that_a_symbols_id_may_begin_with_is_claimed() {
    let mut world = World::new();
    let instance = ready(&mut world);
    for prefix in [""] {
        let input = json!({"id": format!("{prefix}a::b.rs::A::x")});
        let tool = "mcp__gortex__edit_symbol";
        world.write("repo/a::b.rs", "1\n");
        begin(&world, &instance, "A", tool, input.clone()).await;
        begin(&world, &instance, "B", EDIT, json!({"path": "a::b.rs"})).await;
        world.write("repo/a::b.rs", "2\n");
        for call in ["A", "B"] {
            assert_eq!(shown(&instance, call).await, Vec::<Value>::new());
        }
        begin(&world, &instance, "A", tool, input).await;
        world.write("repo/a::b.rs", "3\n");
        assert_eq!(shown(&instance, "A").await[0]["diff"], "-1 2\n+1 3");
    }
}

/// Work that nobody does.
struct Never;

impl Work for Never {
    fn run(&self, _: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn e6_arguments_are_not_read_on_the_thread_of_the_host() {
    let mut world = World::new();
    world.work = Arc::new(Never);
    let instance = ready(&mut world);
    // Whether a call is a dry run is known once its arguments are read, which nobody does here.
    for (call, tool, claims) in [("A", "read", 0), ("B", EDIT, 1)] {
        begin(
            &world,
            &instance,
            call,
            tool,
            json!({"path": "f", "dry_run": true}),
        )
        .await;
        assert_eq!(world.writes.in_flight(), claims, "{tool}");
    }
}

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
        assert_eq!(
            shown(&instance, "B").await,
            std::slice::from_ref(&note),
            "{tool}"
        );
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
    for prefix in ["", "repo/"] {
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

#[tokio::test(start_paused = true)]
async fn e3_a_name_that_may_mean_a_file_costs_that_file_its_diff() {
    for (cwd, tool, input, file) in [
        ("repo", EDIT, json!({"path": "other/src/f"}), "src/f"),
        (
            "repo",
            "mcp__gortex__edit_symbol",
            json!({"id": "other/src/f::x"}),
            "src/f",
        ),
        ("repo/sub", EDIT, json!({"path": "src/f"}), "../src/f"),
        ("repo/sub", EDIT, json!({"path": "other/src/f"}), "../src/f"),
    ] {
        let mut world = World::new();
        let instance = ready(&mut world);
        std::fs::create_dir_all(world.cwd().join(".git")).expect("git");
        std::fs::create_dir_all(world.cwd().join("sub")).expect("sub");
        let call = |id, tool, input| {
            let mut call = world.call(id, tool, input);
            call.cwd = world.folder.path().join(cwd);
            call
        };
        let note = json!({"path": file, "note": texts::NOTE_ALONGSIDE});
        for order in [["A", "B"], ["B", "A"]] {
            world.write("repo/src/f", "1\n");
            for id in order {
                let (tool, input) = match id {
                    "A" => (tool, input.clone()),
                    _ => (EDIT, json!({"path": file})),
                };
                assert_eq!(instance.tool_call(call(id, tool, input)).await, None);
            }
            world.write("repo/src/f", "2\n");
            assert_eq!(shown(&instance, "A").await, Vec::<Value>::new(), "{input}");
            assert_eq!(
                shown(&instance, "B").await,
                std::slice::from_ref(&note),
                "{input}"
            );
        }
        assert_eq!(instance.tool_call(call("A", tool, input)).await, None);
        world.write("repo/src/f", "3\n");
        assert_eq!(shown(&instance, "A").await[0]["diff"], "-1 2\n+1 3");
    }
}

#[tokio::test(start_paused = true)]
async fn e3_a_new_file_costs_its_namesake_one_folder_up_nothing_once_it_is_there() {
    let (new, changed) = ("+1 new", "-1 1\n+1 2");
    let mut world = World::new();
    let instance = ready(&mut world);
    for (order, early) in [(["A", "B"], true), (["B", "A"], true), (["B", "A"], false)] {
        world.write("repo/Cargo.toml", "1\n");
        for (id, file) in [("A", "new/Cargo.toml"), ("B", "Cargo.toml")] {
            begin(&world, &instance, id, EDIT, json!({"path": file})).await;
        }
        world.write("repo/Cargo.toml", "2\n");
        let write = || world.write("repo/new/Cargo.toml", "new\n");
        let made = early.then(write);
        for id in order {
            let told = shown(&instance, id).await;
            match id {
                "A" => assert_eq!(told[0]["diff"], new),
                _ if early => assert_eq!(told[0]["diff"], changed),
                _ => assert_eq!(told[0]["note"], texts::NOTE_ALONGSIDE),
            }
            if id == "B" && !early {
                write();
            }
        }
        drop(made);
        std::fs::remove_file(world.cwd().join("new/Cargo.toml")).expect("removed");
    }
    world.write("repo/Cargo.toml", "1\n");
    let both = json!({"edits": [{"path": "new/Cargo.toml"}, {"path": "Cargo.toml"}]});
    begin(&world, &instance, "A", "mcp__gortex__batch_edit", both).await;
    world.write("repo/new/Cargo.toml", "new\n");
    world.write("repo/Cargo.toml", "2\n");
    let told = shown(&instance, "A").await;
    assert_eq!(
        (&told[0]["diff"], &told[1]["diff"]),
        (&json!(new), &json!(changed))
    );
}

#[tokio::test(start_paused = true)]
async fn e3_two_names_of_one_call_are_one_file_only_if_they_still_are() {
    let mut world = World::new();
    let instance = ready(&mut world);
    let call = |names: [&str; 2]| json!({"edits": [{"path": names[0]}, {"path": names[1]}]});
    let tool = "mcp__gortex__batch_edit";
    // Two files where the volume tells cases apart.
    let names = ["Makefile", "makefile"];
    for before in ["", "1\n"] {
        for name in names.iter().filter(|_| !before.is_empty()) {
            world.write(&format!("repo/{name}"), before);
        }
        begin(&world, &instance, "A", tool, call(names)).await;
        for name in names {
            world.write(&format!("repo/{name}"), format!("2 {name}\n"));
        }
        let told = shown(&instance, "A").await;
        let kept = std::fs::read_to_string(world.cwd().join("Makefile")).expect("file");
        let files = if kept.ends_with("Makefile\n") { 2 } else { 1 };
        assert_eq!(told.len(), files, "{told:?}");
    }
    let at = |name: &str| world.cwd().join(name);
    world.write("repo/h1", "1\n");
    std::fs::hard_link(at("h1"), at("h2")).expect("a link");
    begin(&world, &instance, "A", tool, call(["h1", "h2"])).await;
    world.write("repo/h1", "2\n");
    let told = shown(&instance, "A").await;
    assert_eq!((told.len(), &told[0]["path"]), (1, &json!("h1")));
    begin(&world, &instance, "A", tool, call(["h1", "h2"])).await;
    for name in ["h1", "h2"] {
        std::fs::rename(world.write("repo/other", format!("3 {name}\n")), at(name))
            .expect("renamed");
    }
    let told = shown(&instance, "A").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1]["diff"], "-1 2\n+1 3 h2");
    for (name, text) in [("l1", "1\n"), ("l2", "2\n")] {
        world.write(&format!("repo/{name}"), text);
    }
    begin(&world, &instance, "A", tool, call(["l1", "l2"])).await;
    world.write("repo/l1", "3\n");
    std::fs::remove_file(at("l2")).expect("removed");
    std::fs::hard_link(at("l1"), at("l2")).expect("a link");
    let told = shown(&instance, "A").await;
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1]["diff"], "-1 2\n+1 3");
    begin(&world, &instance, "A", tool, call(["h1", "./h1"])).await;
    std::fs::remove_file(at("h1")).expect("removed");
    assert_eq!(shown(&instance, "A").await.len(), 1);
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

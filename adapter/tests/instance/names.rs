//! What a name means: every way to name a file, and names that are one file (E1, E3).

use serde_json::json;

use crate::world::{World, result};

#[tokio::test(start_paused = true)]
async fn e1_names_with_spaces_and_of_any_script_are_files() {
    for path in [
        "a b.rs",
        " lead",
        "ü/日本 語.rs",
        "e\u{301}",
        "a\u{a0}b",
        "-n",
        "a\nb",
        "$(x)",
        "*",
    ] {
        let mut world = World::new();
        world.set("GORTEX_ENFORCE", "0");
        let instance = world.ready();
        let file = format!("repo/{path}");
        let inputs = [
            json!({"path": path}),
            json!({"symbol_id": format!("{path}::A::b::<c::D>")}),
            json!({"edits": json!([{"target": {"file": path}}]).to_string()}),
        ];
        for input in inputs {
            world.write(&file, "1\n");
            let call = world.call("c1", "mcp__gortex__edit_file", input.clone());
            assert_eq!(instance.tool_call(call).await, None);
            world.write(&file, "2\n");
            let patch = instance.tool_result(result("c1")).await.expect("a patch");
            let details = patch.details.expect("details");
            assert_eq!(details["diff"], "-1 1\n+1 2", "{input}");
            assert_eq!(details["diffs"][0]["path"], path, "{input}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e3_two_calls_that_name_one_file_show_nothing_however_they_name_it() {
    let mut world = World::new();
    world.set("GORTEX_ENFORCE", "0");
    let instance = world.ready();
    world.write("repo/sub/f", "1\n");
    let at = |name: &str| world.cwd().join(name);
    std::os::unix::fs::symlink("sub/f", at("soft")).expect("a link");
    std::os::unix::fs::symlink("sub", at("folder")).expect("a link");
    std::fs::hard_link(at("sub/f"), at("hard")).expect("a link");
    let absolute = at("sub/f").to_string_lossy().into_owned();
    let names = [
        "sub/f",
        "./sub//f",
        "sub/../sub/./f",
        "../repo/sub/f",
        "repo/sub/f",
        "soft",
        "folder/f",
        "hard",
        "repo/hard",
        &absolute,
    ];
    let edit = "mcp__gortex__edit_file";
    for one in names {
        for two in names {
            world.write("repo/sub/f", "1\n");
            for (id, name) in [("c1", one), ("c2", two)] {
                let call = world.call(id, edit, json!({"path": name}));
                assert_eq!(instance.tool_call(call).await, None);
            }
            world.write("repo/sub/f", "2\n");
            for id in ["c1", "c2"] {
                assert_eq!(instance.tool_result(result(id)).await, None, "{one} {two}");
            }
        }
        // Alone it shows, whatever it is called.
        world.write("repo/sub/f", "1\n");
        let call = world.call("c1", edit, json!({"path": one}));
        assert_eq!(instance.tool_call(call).await, None);
        world.write("repo/sub/f", "2\n");
        let patch = instance.tool_result(result("c1")).await.expect("a patch");
        assert_eq!(
            patch.details.expect("details")["diff"],
            "-1 1\n+1 2",
            "{one}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn e3_what_stands_before_two_dots_need_not_be_there_and_may_be_a_link() {
    let mut world = World::new();
    world.set("GORTEX_ENFORCE", "0");
    let instance = world.ready();
    std::fs::create_dir_all(world.folder.path().join("else/sub")).expect("folders");
    std::os::unix::fs::symlink("../else/sub", world.cwd().join("link")).expect("a link");
    let tools = ["edit", "write", "mcp__gortex__edit_file"];
    for tool in tools {
        for name in ["none/../f", "link/../f", "../none/../repo/f"] {
            world.write("repo/f", "1\n");
            for (id, tool, name) in [("c1", tool, name), ("c2", "mcp__gortex__edit_file", "f")] {
                let call = world.call(id, tool, json!({"path": name}));
                assert_eq!(instance.tool_call(call).await, None);
            }
            world.write("repo/f", "2\n");
            for id in ["c1", "c2"] {
                assert_eq!(
                    instance.tool_result(result(id)).await,
                    None,
                    "{tool} {name}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e3_names_that_differ_in_case_only_are_taken_for_one_file() {
    let mut world = World::new();
    world.set("GORTEX_ENFORCE", "0");
    let instance = world.ready();
    for file in ["Straße.rs", "STRAßE.RS"] {
        world.write(&format!("repo/{file}"), "1\n");
        let call = world.call(file, "mcp__gortex__edit_file", json!({"path": file}));
        assert_eq!(instance.tool_call(call).await, None);
        world.write(&format!("repo/{file}"), "2\n");
    }
    for id in ["Straße.rs", "STRAßE.RS"] {
        assert_eq!(instance.tool_result(result(id)).await, None);
    }
}

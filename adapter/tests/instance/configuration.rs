//! Layers, executable and registration (C1-C8, R1-R4).

use serde_json::json;

use crate::world::{World, text_of};

fn env(tools: &str, mode: &str) -> serde_json::Value {
    json!({"GORTEX_TOOLS": tools, "GORTEX_TOOLS_MODE": mode})
}

#[test]
fn r2_c6_the_registration_is_complete() {
    let mut world = World::new();
    world.set("GORTEX_TOOLS_MODE", "hide");
    let instance = world.instance();
    world.start(&instance);
    let [(name, config)] = world.registered.as_slice() else {
        panic!("{:?}", world.registered)
    };
    assert_eq!(name, "gortex");
    let description = config["description"].as_str().expect("a description");
    assert!(description.ends_with('.') && !description.contains('\n'));
    assert_eq!(
        config,
        &json!({
            "type": "stdio", "command": text_of(&world.folder.path().join("bin/gortex")), "args": ["mcp"],
            "env": env("", ""), "exposure": "direct", "timeout": 600, "description": description,
        })
    );
}

#[test]
fn r1_a_session_hook_fired_twice_registers_the_same() {
    let mut world = World::new();
    world.write("repo/.pi/gortex.json", "{");
    let instance = world.instance();
    world.start(&instance);
    world.start(&instance);
    assert_eq!(world.registered.len(), 2);
    assert_eq!(world.registered[0], world.registered[1]);
    assert_eq!(world.notified().len(), 1);
}

#[test]
fn c1_the_first_layer_with_a_key_wins() {
    let mut world = World::new();
    world.write(
        "home/.pi/agent/extensions/gortex.json",
        r#"{"tools_preset": "nav", "hook_mode": "enrich"}"#,
    );
    let presets = |world: &mut World| {
        let instance = world.instance();
        world.start(&instance);
        world.registered.pop().expect("a registration").1["env"].clone()
    };
    assert_eq!(presets(&mut world), env("nav", "defer"));
    world.write("repo/.pi/gortex.json", r#"{"tools_preset": "core"}"#);
    assert_eq!(presets(&mut world), env("core", "defer"));
    world.set("GORTEX_TOOLS", "edit,+search");
    assert_eq!(presets(&mut world), env("edit,+search", "defer"));
    assert_eq!(world.notified(), [""; 0]);
}

#[test]
fn c1_the_agent_folder_may_be_elsewhere() {
    let mut world = World::new();
    world.write(
        "home/agents/extensions/gortex.json",
        r#"{"tools_preset": "nav"}"#,
    );
    world.set("PI_CODING_AGENT_DIR", "~/agents");
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(world.registered[0].1["env"], env("nav", "defer"));
}

#[test]
fn c1_a_relative_agent_folder_lies_where_the_process_runs() {
    let mut world = World::new();
    world.write("repo/agents/extensions/gortex.json", r#"{"bin": "/evil"}"#);
    world.write(
        "start/agents/extensions/gortex.json",
        r#"{"tools_preset": "nav"}"#,
    );
    world.set("PI_CODING_AGENT_DIR", "agents");
    for (cwd, tools) in [(None, env("", "")), (Some("start"), env("nav", "defer"))] {
        world.environment.cwd = cwd.map(|cwd| world.folder.path().join(cwd));
        let instance = world.instance();
        world.start(&instance);
        let (_, config) = world.registered.pop().expect("a registration");
        assert_eq!(config["env"], tools);
    }
}

#[test]
fn c2_c8_a_project_never_chooses_the_executable() {
    for key in ["bin", "BIN", "b\\u0069n", "Gortex-Bin"] {
        let mut world = World::new();
        let evil = world.executable("repo/evil");
        world.write(
            "repo/.pi/gortex.json",
            format!("{{\n\"{key}\": \"{}\"}}", evil.display()),
        );
        let instance = world.instance();
        world.start(&instance);
        assert_eq!(
            world.registered[0].1["command"],
            text_of(&world.folder.path().join("bin/gortex"))
        );
        let notified = world.notified();
        assert!(
            notified.len() == 1 && notified[0].contains("gortex.json line 2, key"),
            "{notified:?}"
        );
    }
}

#[test]
fn c2_a_project_that_names_the_executable_in_many_ways_is_told_of_once() {
    let mut world = World::new();
    let spelling = |number| format!("{number:b}").replace('0', "-").replace('1', "_");
    let keys: String = (1..=2000)
        .map(|number| format!("\"b{}in\":1,\n", spelling(number)))
        .collect();
    world.write(
        "repo/.pi/gortex.json",
        format!("{{\n{keys}\"enforce\": 7}}"),
    );
    let instance = world.instance();
    world.start(&instance);
    let notified = world.notified();
    assert_eq!(notified.len(), 2, "{notified:?}");
    assert!(notified[0].contains("line 2, key b_in:"), "{notified:?}");
    assert!(
        notified[1].contains("line 2002, key enforce:"),
        "{notified:?}"
    );
}

#[test]
fn c3_a_file_that_is_too_large_is_malformed() {
    let mut world = World::new();
    let text = json!({"tools_preset": "nav", "pad": "x".repeat(64 * 1024)});
    world.write("repo/.pi/gortex.json", text.to_string());
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(world.registered[0].1["env"], env("", ""));
    assert_eq!(world.notified().len(), 1);
}

#[test]
fn c3_what_is_malformed_falls_through_and_is_told_once() {
    let mut world = World::new();
    world.write(
        "home/.pi/agent/extensions/gortex.json",
        r#"{"tools_preset": "nav"}"#,
    );
    world.write(
        "repo/.pi/gortex.json",
        "{\n\"tools_preset\": 7,\n\"hook_mode\": \"loud\",\n\"enforce\": \"no\"}",
    );
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(world.registered[0].1["env"], env("nav", "defer"));
    let mut notified = world.notified();
    notified.sort();
    let lines: Vec<_> = notified
        .iter()
        .filter_map(|line| line.split("gortex.json ").nth(1))
        .collect();
    assert!(
        lines[0].starts_with("line 2, key tools_preset:"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("line 3, key hook_mode:"), "{lines:?}");
    assert!(lines[2].starts_with("line 4, key enforce:"), "{lines:?}");
}

#[test]
fn c3_a_file_that_is_no_object_is_told_with_its_line() {
    for (text, place) in [
        ("{\n\"enforce\": tru}", "line 2"),
        ("[]", "line 1"),
        ("", "line 1"),
        ("\u{0}", "gortex.json"),
    ] {
        let mut world = World::new();
        world.write("repo/.pi/gortex.json", text);
        let instance = world.instance();
        world.start(&instance);
        let notified = world.notified();
        assert!(
            notified.len() == 1 && notified[0].contains(place),
            "{text:?}: {notified:?}"
        );
        assert_eq!(world.registered.len(), 1);
    }
}

#[test]
fn c5_c7_hostile_presets_reach_neither_pi_nor_gortex() {
    for spec in [
        "!touch /tmp/x",
        "core,${HOME}",
        "core,$HOME",
        "corre",
        "search",
    ] {
        let mut world = World::new();
        world.write(
            "repo/.pi/gortex.json",
            json!({"tools_preset": spec}).to_string(),
        );
        let instance = world.instance();
        world.start(&instance);
        assert_eq!(world.registered[0].1["env"], env("", ""), "{spec}");
    }
}

#[test]
fn c8_the_executable_is_absolute_regular_and_executable() {
    let mut world = World::new();
    let own = world.executable("repo/tools/gortex");
    let plain = world.write("plain/gortex", "");
    let resolve = |world: &mut World, bin: Option<&str>, path: &str| {
        world.set("GORTEX_BIN", bin.unwrap_or_default());
        world.set("PATH", path);
        let instance = world.instance();
        world.start(&instance);
        world
            .registered
            .pop()
            .map(|(_, config)| config["command"].as_str().unwrap_or_default().to_owned())
    };
    let on_path = text_of(&world.folder.path().join("bin"));
    let found = Some(text_of(&world.folder.path().join("bin/gortex")));
    let own_path = text_of(own.parent().expect("folder"));
    let plain_path = text_of(plain.parent().expect("folder"));
    // Relative to the session's folder, from the environment.
    assert_eq!(
        resolve(&mut world, Some("tools/gortex"), ""),
        Some(text_of(&own))
    );
    assert_eq!(
        resolve(&mut world, Some(&text_of(&own)), ""),
        Some(text_of(&own))
    );
    // Neither a plain file nor a folder is a program, and no relative entry of PATH is looked into.
    assert_eq!(resolve(&mut world, Some(&text_of(&plain)), &on_path), None);
    assert_eq!(resolve(&mut world, Some(&on_path), &on_path), None);
    assert_eq!(
        resolve(
            &mut world,
            None,
            &format!("tools:.::{plain_path}:{on_path}:{own_path}")
        ),
        found
    );
    // This one does lead to a program, from the folder that the process happens to run in.
    let here = std::env::current_dir().expect("folder");
    let up = "../".repeat(here.components().count() - 1);
    let relative = format!("{up}{}", own_path.trim_start_matches('/'));
    assert!(std::path::Path::new(&relative).join("gortex").exists());
    assert_eq!(
        resolve(&mut world, None, &format!("{relative}:{on_path}")),
        found
    );
    assert_eq!(resolve(&mut world, None, "repo/tools:."), None);
    assert_eq!(resolve(&mut world, Some("gortex-x"), &on_path), None);
}

#[test]
fn c8_the_global_file_may_name_the_executable() {
    let mut world = World::new();
    let own = world.executable("repo/tools/gortex");
    world.write(
        "home/.pi/agent/extensions/gortex.json",
        r#"{"bin": "./tools/gortex"}"#,
    );
    let instance = world.instance();
    world.start(&instance);
    let command = world.registered[0].1["command"]
        .as_str()
        .expect("command")
        .to_owned();
    assert_eq!(
        std::fs::canonicalize(command).expect("a file"),
        std::fs::canonicalize(own).expect("a file")
    );
}

#[test]
fn r3_without_connector_or_executable_nothing_is_registered() {
    let mut world = World::new();
    world.commands[0].name = "mcp-auth".to_owned();
    let instance = world.instance();
    world.start(&instance);
    world.commands[0].name = "mcp".to_owned();
    world.set("PATH", "");
    let instance = world.instance();
    world.start(&instance);
    assert_eq!(world.registered, []);
}

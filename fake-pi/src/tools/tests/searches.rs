//! `grep` and `find` over scripted search programs, and what all tools declare.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::bench::Bench;

/// A bench whose search programs note their arguments in `args` and print what is given.
fn searching(script: &str) -> Bench {
    let mut bench = Bench::new();
    let program = bench.temp_dir.path().join("program");
    let args = bench.temp_dir.path().join("args");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n{script}\n",
        args.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    bench.programs.ripgrep = Some(program.clone());
    bench.programs.fd = Some(program);
    bench
}

fn arguments(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.temp_dir.path().join("args")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A script that prints ripgrep's events.
fn events(events: &[(&str, u64, &str)]) -> String {
    let lines: Vec<String> = events
        .iter()
        .map(|(kind, number, text)| {
            let data = json!({"path": {"text": "./a.ts"}, "line_number": number, "lines": {"text": format!("{text}\n")}});
            json!({"type": kind, "data": data}).to_string()
        })
        .collect();
    format!(
        "cat <<'END'\n{{\"type\":\"begin\"}}\n{}\nEND",
        lines.join("\n")
    )
}

#[tokio::test(start_paused = true)]
async fn without_the_programs_the_tools_fail_as_offline() {
    let bench = Bench::new();
    let grep = bench.error("grep", json!({"pattern": "x"})).await;
    assert_eq!(
        grep,
        "ripgrep (rg) is not available and could not be downloaded"
    );
    let find = bench.error("find", json!({"pattern": "x"})).await;
    assert_eq!(find, "fd is not available and could not be downloaded");
    let powershell = bench.error("powershell", json!({"command": "x"})).await;
    assert_eq!(
        powershell,
        "The powershell tool is only available on Windows."
    );
}

#[tokio::test(start_paused = true)]
async fn grep_shows_matches_and_their_context() {
    let bench = searching(&events(&[
        ("context", 1, "before"),
        ("match", 2, "hit\r"),
        ("context", 3, "after"),
    ]));
    let input = json!({"pattern": "-x", "glob": "!././*.ts", "ignoreCase": true, "literal": true, "context": 1.5});
    assert_eq!(
        bench.text("grep", input).await,
        "a.ts-1- before\na.ts:2: hit\na.ts-3- after"
    );
    let expected = [
        "--no-config",
        "--json",
        "--line-number",
        "--color=never",
        "--hidden",
        "--ignore-case",
        "--fixed-strings",
        "--glob",
        "!*.ts",
        "--context",
        "1",
        "--",
        "-x",
        ".",
    ];
    assert_eq!(arguments(&bench), expected);
}

#[tokio::test(start_paused = true)]
async fn grep_stops_at_its_limit() {
    let bench = searching(&events(&[
        ("match", 1, "a"),
        ("match", 2, "b"),
        ("context", 3, "c"),
        ("match", 9, "d"),
    ]));
    let output = bench
        .run("grep", json!({"pattern": "x", "limit": 1, "context": 2}))
        .await
        .unwrap();
    let text = "a.ts:1: a\na.ts-2- b\na.ts-3- c\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]";
    assert_eq!(output.content[0]["text"], text);
    assert_eq!(output.details, Some(json!({"matchLimitReached": 1})));
    let last = searching(&events(&[("match", 1, "a"), ("context", 2, "b")]));
    let text = last
        .text("grep", json!({"pattern": "x", "limit": 1, "context": 1}))
        .await;
    assert_eq!(
        text, "a.ts:1: a\na.ts-2- b",
        "only another match proves that there is more"
    );
    let exact = searching(&events(&[("match", 1, &"€".repeat(501))]));
    let output = exact
        .run("grep", json!({"pattern": "x", "limit": 1}))
        .await
        .unwrap();
    let text = format!(
        "a.ts:1: {}... [truncated]\n\n[Some lines truncated to 500 chars. Use read tool to see full lines]",
        "€".repeat(500)
    );
    assert_eq!(output.content[0]["text"], text);
}

#[tokio::test(start_paused = true)]
async fn searches_that_fail_say_why() {
    let bad = searching("echo 'regex parse error' >&2; exit 2");
    assert_eq!(
        bad.error("grep", json!({"pattern": "("})).await,
        "regex parse error"
    );
    assert_eq!(
        bad.error("find", json!({"pattern": "("})).await,
        "regex parse error"
    );
    let mute = searching("exit 2");
    assert_eq!(
        mute.error("grep", json!({"pattern": "("})).await,
        "ripgrep exited with code 2"
    );
    let nothing = searching("exit 1");
    assert_eq!(
        nothing.text("grep", json!({"pattern": "x"})).await,
        "No matches found"
    );
    let nothing = searching("exit 0");
    assert_eq!(
        nothing.text("find", json!({"pattern": "x"})).await,
        "No files found matching pattern"
    );
    let missing = nothing
        .error("grep", json!({"pattern": "x", "path": "no"}))
        .await;
    assert_eq!(
        missing,
        format!("Path not found: {}", nothing.path().join("no").display())
    );
}

#[tokio::test(start_paused = true)]
async fn find_anchors_paths_at_its_folder() {
    let bench = searching("for name in a b/ c; do echo \"$PWD/$name\"; done");
    let output = bench
        .run("find", json!({"pattern": "./src/*.ts", "limit": 2}))
        .await
        .unwrap();
    assert_eq!(
        output.content[0]["text"],
        "a\nb/\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
    );
    assert_eq!(output.details, Some(json!({"resultLimitReached": 2})));
    let root = bench.path().display().to_string();
    let expected = [
        "--color=never",
        "--hidden",
        "--no-require-git",
        "--glob",
        "--max-results",
        "3",
        "--full-path",
        "--ignore-case",
        "--",
        &format!("{root}/src/*.ts"),
        &root,
    ];
    assert_eq!(arguments(&bench), expected);
    std::fs::create_dir(bench.path().join(".git")).unwrap();
    bench.text("find", json!({"pattern": "*.TS"})).await;
    assert_eq!(
        arguments(&bench)[2..],
        ["--glob", "--max-results", "1001", "--", "*.TS", &root]
    );
}

#[tokio::test(start_paused = true)]
async fn all_tools_declare_object_schemas_in_pi_s_order() {
    let bench = Bench::new();
    let options = super::super::ToolOptions {
        home: bench.path().to_owned(),
        temp_dir: bench.path().to_owned(),
    };
    let tools = super::super::builtin(&options);
    let names: Vec<String> = tools.iter().map(|tool| tool.definition().name).collect();
    assert_eq!(
        names,
        [
            "read",
            "bash",
            "powershell",
            "edit",
            "write",
            "grep",
            "find",
            "ls"
        ]
    );
    for tool in tools {
        let parameters: Value = tool.definition().parameters;
        assert_eq!(parameters["type"], "object");
        assert!(parameters["properties"].is_object());
    }
}

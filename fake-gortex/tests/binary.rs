//! The program `fake-gortex` itself, on real pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use fake_gortex::JournalEntry;
use serde_json::{Value, json};

struct Bench(tempfile::TempDir);

impl Bench {
    fn new(script: &Value) -> Self {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("script.json"), script.to_string()).expect("script");
        std::fs::create_dir(folder.path().join("repo")).expect("repo");
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-gortex"));
        command
            .args(arguments)
            .current_dir(self.path("repo"))
            .env_remove("GORTEX_TOOLS")
            .env("FAKE_GORTEX_SCRIPT", self.path("script.json"))
            .env("FAKE_GORTEX_JOURNAL", self.path("journal.jsonl"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut child = self.command(arguments).spawn().expect("spawn");
        // A program that ends without reading closes the pipe: that is its right.
        let _ = child
            .stdin
            .take()
            .expect("stdin")
            .write_all(stdin.as_bytes());
        child.wait_with_output().expect("output")
    }

    fn journal(&self) -> Vec<JournalEntry> {
        read_journal(&self.path("journal.jsonl"))
    }
}

fn read_journal(path: &Path) -> Vec<JournalEntry> {
    std::fs::read_to_string(path)
        .expect("journal")
        .lines()
        .map(|line| serde_json::from_str(line).expect("entry"))
        .collect()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

fn ask(child: &mut Child, out: &mut impl BufRead, message: &Value) -> Value {
    let stdin = child.stdin.as_mut().expect("stdin");
    writeln!(stdin, "{message}").expect("write");
    let mut line = String::new();
    out.read_line(&mut line).expect("read");
    serde_json::from_str(&line).expect("JSON")
}

#[test]
fn serves_mcp_until_stdin_ends() {
    let bench = Bench::new(
        &json!({ "daemon": { "stderr": "hello\n", "calls": [{ "tool": "ask", "delay_ms": 20 }] } }),
    );
    let mut child = bench
        .command(&["mcp", "--more"])
        .env("GORTEX_TOOLS", "ask,edit")
        .spawn()
        .expect("spawn");
    let mut out = BufReader::new(child.stdout.take().expect("stdout"));
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "pi", "version": "1" } } });
    let answer = ask(&mut child, &mut out, &greeting);
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    let write = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "edit", "arguments": { "operation": "write", "path": "repo/f", "content": "x" } } });
    ask(&mut child, &mut out, &write);
    assert_eq!(
        std::fs::read_to_string(bench.path("repo/f")).expect("file"),
        "x"
    );
    let call =
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "ask" } });
    assert_eq!(
        ask(&mut child, &mut out, &call)["result"]["content"][0]["text"],
        "ask: done, nothing scripted"
    );
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("output");
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(0), "hello\n")
    );
    let journal = bench.journal();
    assert_eq!(journal[0].payload["args"], json!(["mcp", "--more"]));
    assert_eq!(
        journal[0].payload["env"],
        json!({ "GORTEX_TOOLS": "ask,edit", "GORTEX_TOOLS_MODE": null })
    );
    assert_eq!(
        journal.last().expect("exit").payload,
        json!({ "reason": "stdin_eof", "code": 0 })
    );
}

#[test]
fn ends_while_its_stdin_is_still_open() {
    let bench = Bench::new(&json!({ "daemon": { "exit_on_start": 7 } }));
    let mut child = bench.command(&["mcp"]).spawn().expect("spawn");
    let stdin = child.stdin.take();
    assert_eq!(child.wait().expect("wait").code(), Some(7));
    drop(stdin);

    let bench = Bench::new(&json!({ "daemon": { "later": [{ "after_ms": 20, "exit": 9 }] } }));
    let mut child = bench.command(&["mcp"]).spawn().expect("spawn");
    let mut stdin = child.stdin.take().expect("stdin");
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"pi","version":"1"}}}}}}"#).expect("write");
    assert_eq!(child.wait().expect("wait").code(), Some(9));
    drop(stdin);
}

#[test]
fn hooks_share_their_counters() {
    let bench = Bench::new(&json!({ "hook": { "decisions": [
        { "tool": "Read", "nth": 2, "decision": { "block": true, "reason": "twice" } },
        { "tool": "Bash", "raw": "garbage", "exit": 3, "stderr": "oops", "delay_ms": 10 } ] } }));
    let read = r#"{"event":"tool_call","tool_name":"Read","tool_input":{}}"#;
    let said: Vec<String> = (0..3)
        .map(|_| {
            text(
                &bench
                    .run(&["hook", "--agent=pi", "--mode=nudge"], read)
                    .stdout,
            )
            .to_owned()
        })
        .collect();
    assert_eq!(said, ["{}", r#"{"block":true,"reason":"twice"}"#, "{}"]);
    let bash = bench.run(&["hook", "--agent=pi"], r#"{"tool_name":"Bash"}"#);
    assert_eq!(
        (bash.status.code(), text(&bash.stdout), text(&bash.stderr)),
        (Some(3), "garbage", "oops")
    );
    let journal = bench.journal();
    assert_eq!(journal.len(), 8);
    assert_eq!(
        journal[0].payload["args"],
        json!(["hook", "--agent=pi", "--mode=nudge"])
    );
}

#[test]
fn tells_its_version_and_its_commands() {
    let bench = Bench::new(&json!({ "daemon": { "version": "0.61.2" } }));
    assert_eq!(
        text(&bench.run(&["--version"], "").stdout),
        "gortex v0.61.2\n"
    );
    let help = bench.run(&["--help"], "");
    assert_eq!(help.status.code(), Some(0));
    assert!(
        text(&help.stdout).contains("mcp") && text(&help.stdout).contains("FAKE_GORTEX_SCRIPT")
    );
}

#[test]
fn a_wrong_script_or_call_is_told_with_code_2() {
    let bench = Bench::new(&json!({ "daemon": { "sillent": true } }));
    for arguments in [&["mcp"][..], &["hook", "--agent=pi"], &["--version"]] {
        let output = bench.run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            text(&output.stderr).contains("`sillent`")
                && text(&output.stderr).contains("script.json")
        );
        assert_eq!(output.stdout, b"");
    }
    let bench = Bench::new(&json!({}));
    for arguments in [&[][..], &["daemon"], &["--wrong"]] {
        assert_eq!(
            bench.run(arguments, "").status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
    std::fs::remove_file(bench.path("script.json")).expect("remove");
    assert_eq!(bench.run(&["mcp"], "").status.code(), Some(2));
}

#[test]
fn a_hook_may_leave_a_process_behind_and_its_stdin_unread() {
    // O02: the hook is gone at once, its stdout stays open. Its process group still lives when it was reaped, and only
    // when that is killed does its stdout end.
    let bench = Bench::new(&json!({ "hook": {
        "ignore_stdin": true, "decisions": [{ "decision": { "block": true }, "linger_ms": 600_000 }] } }));
    let mut child = bench
        .command(&["hook", "--agent=pi"])
        .process_group(0)
        .spawn()
        .expect("spawn");
    let stdin = child.stdin.take().expect("stdin");
    assert_eq!(child.wait().expect("wait").code(), Some(0));
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
    assert!(killed.expect("kill").success(), "nothing was left behind");
    let mut said = String::new();
    let mut out = child.stdout.take().expect("stdout");
    out.read_to_string(&mut said).expect("read");
    assert_eq!(said, r#"{"block":true}"#);
    drop(stdin);
}

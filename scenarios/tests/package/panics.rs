//! F1: a panic in the addon costs a capability, never the session, and nothing of it reaches the terminal.
//!
//! The addon under test is another build (feature `panic-injection`), in a target folder and a package of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use futures::stream::{self, StreamExt as _};
use scenarios::case::Step;
use scenarios::hosts::pi::play;
use scenarios::setup::RealPi;
use scenarios::suite;
use scenarios::trace::{Event, Lane, Trace};

use crate::gate::real_pi;
use crate::world::{block_on, edit, told};

/// Whether a session lacks what it should, and nothing more.
type Lacks = fn(&Trace) -> bool;

/// Each entry of the addon, and what the session then lacks.
const ENTRIES: [(&str, Lacks); 11] = [
    ("new", without_tools),
    ("sessionStart", without_tools),
    ("beforeAgentStart", without_briefing),
    ("toolCall", without_diff),
    ("toolResult", without_diff),
    ("abortHandle", without_diff),
    ("userBash", nothing),
    ("turnEnd", nothing),
    ("agentSettled", nothing),
    ("sessionShutdown", nothing),
    // No entry: the same build without a panic lacks nothing, so that what the others lack is the panic's doing.
    ("", nothing),
];

fn seen<'a>(trace: &'a Trace, lane: Lane, event: &'a str) -> impl Iterator<Item = &'a Event> {
    let of = move |found: &&Event| found.lane == lane && found.event == event;
    trace.events.iter().filter(of)
}

fn has_tools(trace: &Trace) -> bool {
    seen(trace, Lane::Model, "request").any(|asked| {
        asked.payload["tools"]
            .to_string()
            .contains("mcp__gortex__edit")
    })
}

fn has_briefing(trace: &Trace) -> bool {
    seen(trace, Lane::Host, "history").any(|history| {
        let history = history.payload.to_string();
        history.contains("\"customType\":\"gortex\"")
    })
}

fn has_diff(trace: &Trace) -> bool {
    seen(trace, Lane::Extension, "tool_result")
        .any(|result| result.payload["details"]["diff"].is_string())
}

fn without_tools(trace: &Trace) -> bool {
    !has_tools(trace)
}

fn without_briefing(trace: &Trace) -> bool {
    has_tools(trace) && !has_briefing(trace)
}

fn without_diff(trace: &Trace) -> bool {
    has_tools(trace) && has_briefing(trace) && !has_diff(trace)
}

fn nothing(trace: &Trace) -> bool {
    has_tools(trace) && has_briefing(trace) && has_diff(trace)
}

/// Builds the addon that panics, and puts it into a copy of the package.
fn package(pi: &RealPi, folder: &Path) -> PathBuf {
    // `<target>/<profile>/pi-bench`
    let target = Path::new(env!("CARGO_BIN_EXE_pi-bench"))
        .ancestors()
        .nth(2)
        .expect("cargo's folder")
        .join("panic");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "-p",
            "adapter-node",
            "--lib",
            "--features",
            "panic-injection",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(built.status.success(), "{}", told(&built));
    let package = folder.join("gortex-pi");
    fs::create_dir(&package).expect("made");
    for file in fs::read_dir(&pi.package).expect("the package").flatten() {
        let path = file.path();
        if path
            .extension()
            .is_some_and(|end| end == "ts" || end == "json")
        {
            fs::copy(&path, package.join(file.file_name())).expect("copied");
        }
    }
    fs::copy(
        target.join("debug/libadapter_node.so"),
        package.join("gortex-pi.linux-x64-gnu.node"),
    )
    .expect("copied");
    package
}

/// What is wrong with a play in which `entry` panicked.
fn wrong(entry: &str, lacks: Lacks, trace: &Trace) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: &str| {
        if !holds {
            wrong.push(format!("{entry}: {what}"));
        }
    };
    hold(
        lacks(trace),
        &format!(
            "the session does not lack what it should, or lacks more: tools {}, briefing {}, diff {}",
            has_tools(trace),
            has_briefing(trace),
            has_diff(trace)
        ),
    );
    hold(
        seen(trace, Lane::Model, "request").count() == 3,
        "the session did not go on",
    );
    hold(
        seen(trace, Lane::Host, "extension_error").count() == 0,
        "a handler failed",
    );
    let closed = seen(trace, Lane::Person, "closed")
        .next()
        .map(|event| &event.payload);
    hold(
        closed.is_some_and(|end| end["exit"] == 0),
        "Pi did not end well",
    );
    hold(
        closed.is_some_and(|end| end["stderr"] == ""),
        "something was written to stderr",
    );
    hold(
        closed.is_some_and(|end| end["leftovers"] == serde_json::json!([])),
        "something lives on",
    );
    // The constructor and the handle have no log: that they panicked shows in what is lacking.
    if !matches!(entry, "" | "new" | "abortHandle") {
        let logged = seen(trace, Lane::Disk, "log").any(|line| {
            let line = line.payload["line"].as_str().unwrap_or_default();
            line.starts_with(&format!("{entry}: ")) && line.contains("injected")
        });
        hold(logged, "the log does not say so");
    }
    if entry == "new" {
        let told = seen(trace, Lane::Model, "request")
            .any(|asked| asked.payload.to_string().contains("Cause: injected"));
        hold(told, "the model was not told");
    }
    wrong
}

/// The hook's cap on a call (H5), in milliseconds.
const HOOK_MS: u64 = 5_000;

#[test]
fn f1_h4_a_panic_in_an_abort_leaves_the_hook_to_its_cap() {
    let Some(pi) = real_pi() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let pi = RealPi {
        package: package(&pi, folder.path()),
        ..pi
    };
    let cases = suite::own_cases();
    let named = suite::read_one(&cases, &cases.join("abort/hook-decides.toml")).expect("the case");
    let mut case = named.case;
    case.config
        .env
        .insert("GORTEX_PI_PANIC".into(), "cancel".into());
    let trace = block_on(play("panic", &case, &pi)).expect("a play to its end");
    let asked = seen(&trace, Lane::Hook, "ask")
        .find(|event| event.payload["envelope"]["event"] == "tool_call")
        .expect("the hook was asked");
    let ended = seen(&trace, Lane::Host, "tool_execution_end")
        .find(|event| event.payload["toolCallId"] == "c1")
        .expect("the call ended");
    // The hook was not ended by the abort, so the panic was reached; its cap ended it, so it cost nothing more.
    let held = ended.t - asked.t;
    assert!(
        (HOOK_MS - 500..HOOK_MS + 5_000).contains(&held),
        "{held} ms"
    );
    let closed = seen(&trace, Lane::Person, "closed").next().expect("an end");
    assert_eq!(
        (&closed.payload["exit"], &closed.payload["stderr"]),
        (&0.into(), &"".into())
    );
    assert_eq!(closed.payload["leftovers"], serde_json::json!([]));
    assert_eq!(
        seen(&trace, Lane::Model, "request").count(),
        case.model.len()
    );
    assert_eq!(seen(&trace, Lane::Host, "extension_error").count(), 0);
}

#[test]
fn f1_a_panic_at_any_entry_costs_a_capability_and_not_the_session() {
    let Some(pi) = real_pi() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let pi = RealPi {
        package: package(&pi, folder.path()),
        ..pi
    };
    let wrong: Vec<String> = block_on(async {
        let plays = ENTRIES.map(|(entry, lacks)| {
            let pi = &pi;
            async move {
                let mut case = edit();
                // Its result is there before the first prompt, so that it costs no diff.
                case.person.insert(
                    0,
                    Step {
                        bash: Some("true".into()),
                        ..Step::default()
                    },
                );
                case.config
                    .env
                    .insert("GORTEX_PI_PANIC".into(), entry.into());
                match play("panic", &case, pi).await {
                    Ok(trace) => wrong(entry, lacks, &trace),
                    Err(problem) => vec![format!("{entry}: {problem}")],
                }
            }
        });
        // Most of the time of a play without tools is waiting.
        stream::iter(plays).buffer_unordered(3).concat().await
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

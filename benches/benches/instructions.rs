//! How many instructions the pure parts take, counted by callgrind: a number that no load of the machine changes.
//!
//! `cargo bench -p benches --bench instructions` compares with `instructions.json` and exits with 1 where a part takes
//! over 5 % more; with `-- --accept` it writes that file instead. The numbers hold for the compiler that
//! the file names, on x86-64. Needs valgrind on `PATH`; without it nothing is compared, which is said.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use adapter::config::Settings;
use adapter::hook::{Decision, Envelope, translate};
use adapter::{Environment, HookEnd, HookReport};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
type Counts = BTreeMap<String, u64>;

const PARTS: [&str; 4] = ["configuration", "translation", "envelope", "decision"];

/// How much more than before is let pass.
const TOLERANCE: f64 = 1.05;

fn input() -> Value {
    json!({ "path": "src/lib.rs", "offset": 1, "limit": 200, "edits": [{ "oldText": "one", "newText": "two" }] })
}

/// Runs one part once. What it needs is made by the caller, outside of what is counted.
fn part(name: &str) -> Outcome<()> {
    let folder = std::env::temp_dir();
    match name {
        "configuration" => {
            let environment = Environment {
                vars: [
                    ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                    ("GORTEX_BIN".to_owned(), "/bin/sh".to_owned()),
                    ("GORTEX_HOOK_MODE".to_owned(), "nudge".to_owned()),
                ]
                .into(),
                home: Some(folder.join("nowhere")),
                cwd: None,
            };
            counted(|| Settings::resolve(&environment, &folder.join("nowhere")));
        }
        "translation" => {
            let input = input();
            counted(|| translate("edit", &input));
        }
        "envelope" => {
            let call = translate("edit", &input());
            counted(|| {
                Envelope::tool_call(Path::new("/home/somebody/project"), "s-1", &call)
                    .and_then(|envelope| envelope.to_bytes())
            });
        }
        "decision" => {
            let report = HookReport {
                stdout: br#"{"block":true,"reason":"This file is indexed: use search_symbols or read instead."}"#.to_vec(),
                end: HookEnd::Exited(0),
            };
            counted(|| Decision::read(&report));
        }
        other => return Err(format!("there is no part {other}").into()),
    }
    Ok(())
}

/// What callgrind collects in: all that `work` does, and nothing else.
#[inline(never)]
fn counted<T>(work: impl FnOnce() -> T) {
    black_box(work());
}

fn count(part: &str) -> Outcome<Option<u64>> {
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=*instructions::counted*",
        ])
        .arg(std::env::current_exe()?)
        .args(["--part", part])
        .output();
    let output = match run {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told
        .lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    match collected {
        Some(count) if output.status.success() && count > 0 => Ok(Some(count)),
        _ => Err(told.into_owned().into()),
    }
}

fn accepted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

#[expect(clippy::print_stdout, reason = "the counts are what the bench is for")]
fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--part") {
        part(arguments.get(at + 1).map_or("", String::as_str))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut counts = Counts::new();
    for part in PARTS {
        let Some(count) = count(part)? else {
            println!("NOT COUNTED: there is no valgrind on PATH");
            return Ok(ExitCode::SUCCESS);
        };
        counts.insert(part.to_owned(), count);
    }
    if arguments.iter().any(|argument| argument == "--accept") {
        std::fs::write(accepted(), serde_json::to_string_pretty(&counts)? + "\n")?;
    }
    let before: Counts = serde_json::from_str(&std::fs::read_to_string(accepted())?)?;
    let mut more = false;
    for (part, count) in &counts {
        let before = before.get(part).copied().unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "some ten thousand")]
        let ratio = *count as f64 / before as f64;
        let over = ratio.is_nan() || ratio > TOLERANCE;
        more |= over;
        println!(
            "{part:<14} {count:>8} instructions, {ratio:.3} of {before}{}",
            if over { "  MORE THAN BEFORE" } else { "" }
        );
    }
    Ok(ExitCode::from(u8::from(more)))
}

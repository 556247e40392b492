//! What the extension costs at start and at exit. Measured and printed, never asserted: it is the machine's as well.
//!
//! `cargo nextest run -p scenarios costs --no-capture` shows the numbers; `PI_BENCH_RUNS` says how many runs each is the
//! median of.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::archives::pack;
use crate::gate::real_pi;
use crate::world::{MODEL, World, block_on, edit, run, told};

fn runs(default: usize) -> usize {
    let asked = std::env::var("PI_BENCH_RUNS").ok();
    asked
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(default)
        .clamp(1, 1000)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
#[expect(clippy::print_stdout, reason = "a measurement is there to be read")]
fn costs_of_loading_the_addon() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let world = World::new(&pi, &edit()).await;
        // The addon that users get, not the one of the checkout, which may be a debug build.
        let packed = pack(&world.folder.scratch().join("pack"));
        let mut unpack = world.command(Path::new("tar"));
        unpack
            .arg("-xzf")
            .arg(packed["whole"].as_str().unwrap_or_default());
        let unpacked = run(unpack.current_dir(world.folder.scratch())).await;
        assert!(unpacked.status.success(), "{}", told(&unpacked));
        let addon = world
            .folder
            .scratch()
            .join("package/gortex-pi.linux-x64-gnu.node");
        let script = "const from = process.hrtime.bigint(); require(process.argv[1]); \
            console.log(String(process.hrtime.bigint() - from))";
        let mut times = Vec::new();
        for _ in 0..runs(15) {
            let mut node = world.command(&pi.node);
            let output = run(node.arg("-e").arg(script).arg(&addon)).await;
            assert!(output.status.success(), "{}", told(&output));
            let nanoseconds = String::from_utf8_lossy(&output.stdout).trim().parse();
            times.push(Duration::from_nanos(nanoseconds.expect("a number")));
        }
        println!(
            "loading the addon in Node: {:.2?}, median of {}",
            median(times.clone()),
            times.len()
        );
    });
}

#[test]
#[expect(clippy::print_stdout, reason = "a measurement is there to be read")]
fn costs_of_a_run_that_prints_and_ends() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let package = pi.package.display().to_string();
        for mode in ["text", "json"] {
            let ours = ["-e", package.as_str()];
            for (with, extension, server) in [
                ("without anything", &[][..], false),
                (
                    "without the extension, with the server in mcp.json",
                    &[],
                    true,
                ),
                ("with the extension", &ours, false),
            ] {
                let (mut whole, mut exit) = (Vec::new(), Vec::new());
                for _ in 0..runs(3) {
                    // No graph tool is called: what is measured is start, first turn and exit.
                    let mut case = edit();
                    case.model.remove(0);
                    let world = World::new(&pi, &case).await;
                    if server {
                        let gortex =
                            json!({ "command": "gortex", "args": ["mcp"], "exposure": "direct" });
                        let servers = json!({ "mcpServers": { "gortex": gortex } }).to_string();
                        fs::write(world.folder.agent().join("mcp.json"), servers).expect("written");
                    }
                    let rest = ["--mode", mode, "-p", "Greet."];
                    let mut command = world.pi(&[extension, &MODEL, &rest].concat());
                    let from = Instant::now();
                    let output = run(&mut command).await;
                    exit.push(world.since_last_answer());
                    whole.push(from.elapsed());
                    assert!(
                        output.status.success() && output.stderr.is_empty(),
                        "{}",
                        told(&output)
                    );
                }
                println!(
                    "{mode} mode {with}: {} ms in all, {} ms of them after the model's answer",
                    median(whole).as_millis(),
                    median(exit).as_millis()
                );
            }
        }
    });
}

//! What the extension costs at start and at exit. Measured and printed, never asserted: it is the machine's as well.
//!
//! `cargo nextest run -p scenarios costs --no-capture` shows the numbers; `PI_BENCH_RUNS` says how many runs each is the
//! median of.

use std::time::{Duration, Instant};

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
        let addon = pi.package.join("gortex-pi.linux-x64-gnu.node");
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
            for (with, extension) in [("without", &[][..]), ("with", &["-e", package.as_str()])] {
                let (mut whole, mut exit) = (Vec::new(), Vec::new());
                for _ in 0..runs(3) {
                    // No graph tool is called: what is measured is start, first turn and exit.
                    let mut case = edit();
                    case.model.remove(0);
                    let world = World::new(&pi, &case).await;
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
                    "{mode} mode {with} the extension: {} ms in all, {} ms of them after the model's answer",
                    median(whole).as_millis(),
                    median(exit).as_millis()
                );
            }
        }
    });
}

//! What the extension costs a host under load: its event loop while 64 decisions are in flight, and memory and time over
//! 10,000 calls of one session. Nothing is asserted: `cargo bench -p benches --bench under_load` prints it.

use std::path::Path;
use std::process::Command;

use scenarios::setup;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn median(times: &Value) -> Outcome<f64> {
    let mut times: Vec<f64> = serde_json::from_value(times.clone())?;
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied();
    middle.ok_or_else(|| "nothing was measured".into())
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

#[expect(clippy::print_stdout, reason = "the figures are what the bench is for")]
fn main() -> Outcome<()> {
    let test = std::env::args().any(|argument| argument == "--test");
    let Some(pi) = setup::locate(setup::PINNED) else {
        println!("Not measured: `cargo run --release -- setup` was not run.");
        return Ok(());
    };
    let program = std::env::current_exe()?;
    let built = program.parent().ok_or("the bench lies nowhere")?;
    let addon = built.join("gortex-pi-load.node");
    std::fs::copy(built.join("libadapter_node.so"), &addon)?;
    let calls = if test { 200 } else { 10_000 };
    let told = json!({
        "addon": addon, "program": env!("CARGO_BIN_EXE_bench-hook"), "calls": calls,
        "inFlight": 64, "rounds": if test { 2 } else { 40 },
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("node/load.mjs");
    let output = Command::new(&pi.node)
        .arg("--expose-gc")
        .arg(script)
        .arg(told.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let number = |place: &str| {
        found
            .pointer(place)
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN)
    };
    for percentile in ["p50", "p99"] {
        let [idle, loaded] =
            ["idle", "loaded"].map(|part| number(&format!("/{part}/{percentile}")));
        println!(
            "event loop, 64 in flight, {percentile}: {loaded:.0} us, idle {idle:.0} us, added {:.0} us{}",
            loaded - idle,
            if percentile == "p99" {
                format!(" ({}: under 1000)", verdict(loaded - idle < 1000.0))
            } else {
                String::new()
            }
        );
    }
    for part in ["rss", "heapUsed", "external"] {
        let [first, last] = ["first", "last"].map(|moment| number(&format!("/{moment}/{part}")));
        let grown = (last - first) / 1024.0;
        println!(
            "{part} after {calls} calls: {:.0} KiB, {grown:+.0} KiB since the first 100{}",
            last / 1024.0,
            if part == "rss" {
                format!(" ({}: at most 1024)", verdict(grown <= 1024.0))
            } else {
                String::new()
            }
        );
    }
    let (first, last) = (median(&found["firstCalls"])?, median(&found["lastCalls"])?);
    println!(
        "a call, one behind another: first thousand {first:.0} us, last thousand {last:.0} us, {:+.1} % ({}: within 10)",
        (last / first - 1.0) * 100.0,
        verdict(last <= first * 1.1)
    );
    Ok(())
}

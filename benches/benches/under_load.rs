//! What the extension costs a host under load: its event loop while 64 decisions are in flight, and memory and time over
//! 10,000 calls of one session.
//!
//! Beside each stands what the same calls cost without it, in a process of its own: a Node that makes ten thousand calls of
//! nothing grows too. Nothing is asserted: `cargo bench -p benches --bench under_load` prints it.

use std::path::{Path, PathBuf};
use std::process::Command;

use benches::Outcome;
use scenarios::setup;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

const IN_FLIGHT: usize = 64;

/// How often each is measured; the medians are judged.
const RUNS: usize = 3;

/// The most that a call may add to the event loop's delay at p99, in microseconds.
const DELAY: f64 = 1000.0;
/// The most that a session may grow from its hundredth call to its last, in bytes.
const GROWTH: f64 = 1024.0 * 1024.0;
/// The most that the last calls may cost, as a ratio of the first.
const SLOWER: f64 = 1.1;

/// The delay of the event loop, in microseconds.
#[derive(Deserialize)]
struct Delay {
    p50: f64,
    p99: f64,
}

#[derive(Deserialize)]
struct Loop {
    idle: Delay,
    /// All asked at once, again and again.
    bursts: Delay,
    /// As many at any time.
    steady: Delay,
}

/// One of the two delays under load.
type Busy = fn(&Loop) -> &Delay;

#[derive(Deserialize)]
struct Calls {
    /// Bytes.
    grown: f64,
    /// The times of the first calls, in microseconds.
    first: Vec<f64>,
    last: Vec<f64>,
}

/// A Node and the addon in it.
struct Host {
    node: PathBuf,
    addon: PathBuf,
    /// Nothing but whether it works.
    test: bool,
}

impl Host {
    fn measure<T: DeserializeOwned>(
        &self,
        flags: &[&str],
        who: &str,
        what: &str,
        calls: usize,
    ) -> Outcome<T> {
        let told = json!({
            "addon": self.addon, "program": env!("CARGO_BIN_EXE_bench-hook"), "who": who, "what": what,
            "calls": if self.test { 200 } else { calls }, "inFlight": IN_FLIGHT,
        });
        let output = Command::new(&self.node)
            // As in the round trip: the variables of cargo would slow the children down.
            .env_clear()
            .arg("--expose-gc")
            .args(flags)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("node/load.mjs"))
            .arg(told.to_string())
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn median(mut times: Vec<f64>) -> Outcome<f64> {
    times.sort_by(f64::total_cmp);
    let middle = times.get(times.len() / 2).copied();
    middle.ok_or_else(|| "nothing was measured".into())
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

#[expect(clippy::print_stdout, reason = "the figures are what the bench is for")]
fn main() -> Outcome<()> {
    let Some(pi) = setup::locate(setup::PINNED) else {
        println!("Not measured: `cargo run --release -- setup` was not run.");
        return Ok(());
    };
    let host = Host {
        node: pi.node,
        addon: setup::packed_addon(&*setup::on_stderr())?,
        test: std::env::args().any(|argument| argument == "--test"),
    };

    for who in ["addon", "execFile"] {
        let runs = (0..RUNS).map(|_| host.measure::<Loop>(&[], who, "loop", 2560));
        let runs = runs.collect::<Outcome<Vec<_>>>()?;
        let over = |of: &dyn Fn(&Loop) -> f64| median(runs.iter().map(of).collect());
        let ways: [(&str, Busy); 2] = [
            ("asked at once", |run| &run.bursts),
            ("at any time", |run| &run.steady),
        ];
        for (way, of) in ways {
            let added = over(&|run| of(run).p99 - run.idle.p99)?;
            let target = format!(" ({}: under {DELAY:.0})", verdict(added < DELAY));
            println!(
                "event loop, {IN_FLIGHT} {way:<13} {who:<9} p50 {:.0} us, idle {:.0}; p99 {:.0} us, idle {:.0}: adds {added:.0}{}",
                over(&|run| of(run).p50)?,
                over(&|run| run.idle.p50)?,
                over(&|run| of(run).p99)?,
                over(&|run| run.idle.p99)?,
                if who == "addon" { &target } else { "" }
            );
        }
    }

    // V8 compiles what is called often, at moments of its own: the code of that is not what is looked for.
    let grown = |who| {
        let runs = (0..RUNS).map(|_| host.measure::<Calls>(&["--jitless"], who, "calls", 10_000));
        median(runs.map(|run| Ok(run?.grown)).collect::<Outcome<_>>()?)
    };
    let (with, without) = (grown("addon")?, grown("nobody")?);
    println!(
        "memory, call 100 to 10000: {:+.0} KiB resident ({}: at most {:.0}); {:+.0} in a Node where nobody decides",
        with / 1024.0,
        verdict(with <= GROWTH),
        GROWTH / 1024.0,
        without / 1024.0
    );

    let calls: Calls = host.measure(&[], "addon", "calls", 10_000)?;
    let (first, last) = (median(calls.first)?, median(calls.last)?);
    println!(
        "a call behind another: first thousand {first:.0} us, last thousand {last:.0} us: {:.2} x ({}: at most {SLOWER:.2})",
        last / first,
        verdict(last <= first * SLOWER)
    );
    Ok(())
}

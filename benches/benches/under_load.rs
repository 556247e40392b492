//! What the extension costs a host under load: its event loop and the calls themselves while 64 decisions are in flight, and
//! memory and time over 10,000 calls of one session.
//!
//! Beside each stands what the same calls cost without it, in a process of its own. Nothing is asserted:
//! `cargo bench -p benches --bench under_load` prints it.

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
/// The most that a session may grow from its hundredth call to its last, in KiB.
const GROWTH: f64 = 1024.0;
/// The most that the last calls may cost, as a ratio of the first.
const SLOWER: f64 = 1.1;

/// A child, how it starts, and how many calls are made with it.
struct Child {
    starts: &'static str,
    program: &'static str,
    calls: usize,
}

const QUICK: Child = Child {
    starts: "at once",
    program: env!("CARGO_BIN_EXE_bench-hook"),
    calls: 2560,
};
const CHILDREN: [Child; 3] = [
    QUICK,
    Child {
        starts: "after 15 ms",
        program: env!("CARGO_BIN_EXE_bench-hook-slow"),
        calls: 640,
    },
    Child {
        starts: "with 15 ms of work",
        program: env!("CARGO_BIN_EXE_bench-hook-busy"),
        calls: 320,
    },
];

/// The delay of the event loop and the times of the calls, in microseconds.
#[derive(Deserialize)]
struct Delay {
    p50: f64,
    p99: f64,
    times: Vec<f64>,
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

/// What is measured.
enum What<'a> {
    /// The event loop and the calls, with so many in flight.
    Loop(&'a Child),
    /// One call behind another. `grown`: in a Node that has made as many calls of nothing before.
    Calls { grown: bool },
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
        what: &What<'_>,
    ) -> Outcome<T> {
        let (name, program, calls, grown) = match what {
            What::Loop(child) => ("loop", child.program, child.calls, false),
            What::Calls { grown } => ("calls", QUICK.program, 10_000, *grown),
        };
        let told = json!({
            "addon": self.addon, "program": program, "who": who, "what": name, "grown": grown,
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

    for child in &CHILDREN {
        println!("{IN_FLIGHT} in flight, the child starts {}:", child.starts);
        for who in ["addon", "execFile"] {
            in_flight(&host, child, who)?;
        }
    }

    // V8 compiles what is called often, at moments of its own: the code of that is not what is looked for.
    let grown = |who, grown| {
        let runs =
            (0..RUNS).map(|_| host.measure::<Calls>(&["--jitless"], who, &What::Calls { grown }));
        median(
            runs.map(|run| Ok(run?.grown / 1024.0))
                .collect::<Outcome<_>>()?,
        )
    };
    let [with, without] = [grown("addon", true)?, grown("nobody", true)?];
    println!(
        "memory, call 100 to 10000: {with:+.0} KiB resident ({}: at most {GROWTH:.0}), {without:+.0} where nobody decides, both without JIT and behind 10000 calls of nothing",
        verdict(with <= GROWTH),
    );
    let [with, without] = [grown("addon", false)?, grown("nobody", false)?];
    println!(
        "without those before, while Node grows too: {with:+.0} KiB, {without:+.0} where nobody decides"
    );

    let calls: Calls = host.measure(&[], "addon", &What::Calls { grown: false })?;
    let (first, last) = (median(calls.first)?, median(calls.last)?);
    println!(
        "a call behind another: first thousand {first:.0} us, last thousand {last:.0} us: {:.2} x ({}: at most {SLOWER:.2})",
        last / first,
        verdict(last <= first * SLOWER)
    );
    Ok(())
}

/// Prints what 64 calls in flight cost the event loop, and how long they take.
#[expect(clippy::print_stdout, reason = "the figures are what the bench is for")]
fn in_flight(host: &Host, child: &Child, who: &str) -> Outcome<()> {
    let runs = (0..RUNS).map(|_| host.measure::<Loop>(&[], who, &What::Loop(child)));
    let runs = runs.collect::<Outcome<Vec<_>>>()?;
    let over = |of: &dyn Fn(&Loop) -> f64| median(runs.iter().map(of).collect());
    let ways: [(&str, Busy); 2] = [
        ("asked at once", |run| &run.bursts),
        ("at any time", |run| &run.steady),
    ];
    for (way, of) in ways {
        let added = over(&|run| of(run).p99 - run.idle.p99)?;
        let target = format!(" ({}: under {DELAY:.0})", verdict(added < DELAY));
        let judged = who == "addon" && child.program == QUICK.program;
        let slowest = |run: &Loop| of(run).times.iter().copied().fold(0.0, f64::max);
        println!(
            "  {way:<13} {who:<9} answered in {:.0} ms, the slowest in {:.0}; event loop p50 {:.0} us, idle {:.0}; p99 {:.0} us, idle {:.0}: adds {added:.0}{}",
            over(&|run| median(of(run).times.clone()).unwrap_or(f64::NAN))? / 1e3,
            over(&slowest)? / 1e3,
            over(&|run| of(run).p50)?,
            over(&|run| run.idle.p50)?,
            over(&|run| of(run).p99)?,
            over(&|run| run.idle.p99)?,
            if judged { &target } else { "" }
        );
    }
    Ok(())
}

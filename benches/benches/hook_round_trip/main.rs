//! The hook round trip: what a person waits before each tool call, as ratios.
//!
//! Only a ratio means something on another machine, so what is compared is measured in one run, in turns: a machine that
//! slows down slows all of it. Nothing is asserted. Criterion draws what was measured. Without the real Pi of
//! `cargo run --release -- setup` the parts that need Node are left out, which is said.

mod bare;
mod in_node;
mod in_pi;
mod in_rust;
mod report;
mod table;

use std::path::Path;
use std::time::Duration;

use scenarios::setup::{self, RealPi};

use in_node::Node;
use in_rust::Rust;
use table::{Samples, Table};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A child and how it starts.
#[derive(Clone, Copy)]
struct Child {
    /// How it is called in the table.
    name: &'static str,
    program: &'static str,
    /// From its start to the read of stdin.
    starts_in: Duration,
    /// How often each way is measured with it.
    rounds: usize,
}

const CHILDREN: [Child; 2] = [
    Child {
        name: "starts at once",
        program: env!("CARGO_BIN_EXE_bench-hook"),
        starts_in: Duration::ZERO,
        rounds: 300,
    },
    Child {
        name: "starts in 15 ms",
        program: env!("CARGO_BIN_EXE_bench-hook-slow"),
        starts_in: Duration::from_millis(15),
        rounds: 100,
    },
];

impl Child {
    /// What passes before each measurement, whatever is measured: a child that waits is then past its start, and the
    /// processor is as idle as between two calls of a session.
    fn pause(self) -> Duration {
        self.starts_in + Duration::from_millis(10)
    }
}

/// An envelope of the usual size: a read of one file.
const ENVELOPE: &str = r#"{"event":"tool_call","cwd":"/home/somebody/project","session_id":"01a22c3f-be7b-7737-bf41-b8751afa4e43","tool_name":"Read","tool_input":{"path":"src/lib.rs","file_path":"src/lib.rs"},"is_gortex_tool":false}"#;

/// What was measured with one child.
#[derive(Default)]
struct Found {
    floor: Samples,
    cold: Samples,
    warm: Samples,
    aborted: Samples,
    exec_file_sync: Samples,
    exec_file: Samples,
    cold_addon: Samples,
    warm_addon: Samples,
}

#[expect(clippy::print_stdout, reason = "the table is what the bench is for")]
fn main() -> Outcome<()> {
    // `cargo test --benches` only wants to know that it works.
    let test = std::env::args().any(|argument| argument == "--test");
    let pi = setup::locate(setup::PINNED);
    // As users have it.
    let build = || setup::packed_addon(&*setup::on_stderr());
    let addon = pi.as_ref().map(|_| build()).transpose()?;
    // Both that can be measured inside of Node, or neither.
    let node = pi.as_ref().zip(addon.as_deref());
    let mut table = Table::default();
    for mut child in CHILDREN {
        if test {
            child.rounds = 2;
        }
        let found = measure(child, node)?;
        add(&mut table, child, found);
    }
    if let Some((pi, addon)) = node {
        let found = in_pi::measure(pi, addon, if test { 2 } else { 20 })?;
        let base = found[0].1.median();
        for (name, samples) in found {
            let added = samples.median() - base;
            table.add(
                "a tool call in Pi",
                name,
                samples,
                vec![Samples::adds(added)],
            );
        }
    }
    if !test {
        report::draw(&table);
    }
    println!("{table}");
    if node.is_none() {
        println!("Node and Pi are left out: `cargo run --release -- setup` was not run.");
    }
    Ok(())
}

fn measure(child: Child, node: Option<(&RealPi, &Path)>) -> Outcome<Found> {
    let rust = Rust::start(child)?;
    let mut node = node
        .map(|(pi, addon)| Node::start(&pi.node, addon, child))
        .transpose()?;
    let mut found = Found::default();
    for _ in 0..child.rounds {
        found.floor.push(bare::time(child)?);
        found.cold.push(rust.cold()?);
        found.warm.push(rust.warm()?);
        if !child.starts_in.is_zero() {
            found.aborted.push(rust.aborted()?);
        }
        if let Some(node) = &mut node {
            found.exec_file_sync.push(node.time("execFileSync")?);
            found.exec_file.push(node.time("execFile")?);
            found.cold_addon.push(node.time("cold")?);
            found.warm_addon.push(node.time("warm")?);
        }
    }
    node.map_or(Ok(()), Node::end)?;
    Ok(found)
}

/// Puts what was measured beside what is wanted.
fn add(table: &mut Table, child: Child, found: Found) {
    let at_once = child.starts_in.is_zero();
    let floor = |samples: &Samples| samples.against("floor", &found.floor);
    let (cold, warm) = (floor(&found.cold).at_most(1.10), floor(&found.warm));
    let (mut cold_addon, mut warm_addon) = (floor(&found.cold_addon), floor(&found.warm_addon));
    let faster = |samples: &Samples| {
        let ways = [
            ("execFile", &found.exec_file),
            ("execFileSync", &found.exec_file_sync),
        ];
        ways.map(|(name, way)| way.faster(name, samples))
    };
    let [cold_async, cold_sync] = faster(&found.cold_addon);
    let [mut warm_async, warm_sync] = faster(&found.warm_addon);
    if at_once {
        cold_addon = cold_addon.at_most(1.25);
        warm_addon = warm_addon.at_most(0.40);
    } else {
        warm_async = warm_async.at_least(50.0);
    }
    let aborted = found.aborted.takes().at_most(50.0);
    let rows = [
        ("aborted, in Rust", found.aborted, vec![aborted]),
        ("floor: bare posix_spawn", found.floor, vec![]),
        ("cold, in Rust", found.cold, vec![cold]),
        ("warm, in Rust", found.warm, vec![warm]),
        ("execFileSync", found.exec_file_sync, vec![]),
        ("execFile", found.exec_file, vec![]),
        (
            "cold, addon in Node",
            found.cold_addon,
            vec![cold_addon, cold_async, cold_sync],
        ),
        (
            "warm, addon in Node",
            found.warm_addon,
            vec![warm_addon, warm_async, warm_sync],
        ),
    ];
    for (way, samples, ratios) in rows {
        table.add(child.name, way, samples, ratios);
    }
}

//! The hook round trip: what a person waits before each tool call, as ratios.
//!
//! Only a ratio means something on another machine, so what is compared is measured in one run, in turns: a machine that
//! slows down slows all of it. Nothing is asserted. Without the real Pi of `cargo run --release -- setup` the parts that need Node are
//! left out, which is said.

mod bare;
mod in_node;
mod in_pi;
mod in_rust;
mod table;

use std::path::Path;

use scenarios::setup;

use table::{Samples, Table};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A child and how it starts.
#[derive(Clone, Copy)]
struct Child {
    /// How it is called in the table.
    name: &'static str,
    program: &'static str,
    /// From its start to the read of stdin, in milliseconds.
    starts_in_ms: u64,
    /// How often each way is measured with it.
    rounds: usize,
}

const CHILDREN: [Child; 2] = [
    Child {
        name: "starts at once",
        program: env!("CARGO_BIN_EXE_bench-hook"),
        starts_in_ms: 0,
        rounds: 300,
    },
    Child {
        name: "starts in 15 ms",
        program: env!("CARGO_BIN_EXE_bench-hook-slow"),
        starts_in_ms: 15,
        rounds: 100,
    },
];

impl Child {
    /// What passes before each measurement, whatever is measured: a child that waits is then past its start, and the
    /// processor is as idle as between two calls of a session.
    fn pause_ms(self) -> u64 {
        self.starts_in_ms + 10
    }
}

/// An envelope of the usual size: a read of one file.
const ENVELOPE: &str = r#"{"event":"tool_call","cwd":"/home/somebody/project","session_id":"01a22c3f-be7b-7737-bf41-b8751afa4e43","tool_name":"Read","tool_input":{"path":"src/lib.rs","file_path":"src/lib.rs"},"is_gortex_tool":false}"#;

#[expect(clippy::print_stdout, reason = "the table is what the bench is for")]
fn main() -> Outcome<()> {
    // `cargo test --benches` only wants to know that it works.
    let test = std::env::args().any(|argument| argument == "--test");
    let pi = setup::locate(setup::PINNED);
    let addon = in_node::addon()?;
    let mut table = Table::default();
    for mut child in CHILDREN {
        if test {
            child.rounds = 2;
        }
        let rust = in_rust::measure(child)?;
        table.add(child.name, "floor: bare posix_spawn", &rust.floor, &[]);
        table.add(
            child.name,
            "cold, in Rust",
            &rust.cold,
            &[rust.cold.against("floor", &rust.floor).at_most(1.10)],
        );
        table.add(
            child.name,
            "warm, in Rust",
            &rust.warm,
            &[rust.warm.against("floor", &rust.floor)],
        );
        let Some(pi) = &pi else { continue };
        let node = in_node::measure(&pi.node, &addon, child)?;
        add_node(&mut table, child, &rust.floor, &node);
    }
    if let Some(pi) = &pi {
        for (name, samples, base) in in_pi::measure(pi, &addon, if test { 2 } else { 60 })? {
            let added = samples.median() - base;
            table.add("a tool call in Pi", name, &samples, &[samples.adds(added)]);
        }
        println!("{table}");
    } else {
        println!("{table}\nNode and Pi are left out: `cargo run --release -- setup` was not run.");
    }
    Ok(())
}

fn add_node(table: &mut Table, child: Child, floor: &Samples, node: &in_node::Node) {
    let at_once = child.starts_in_ms == 0;
    let cold = node.cold.against("floor", floor);
    let warm = node.warm.against("floor", floor);
    let faster = node.exec_file.against("warm", &node.warm);
    table.add(child.name, "execFileSync", &node.exec_file_sync, &[]);
    table.add(child.name, "execFile", &node.exec_file, &[]);
    table.add(
        child.name,
        "cold, addon in Node",
        &node.cold,
        &[if at_once { cold.at_most(1.25) } else { cold }],
    );
    table.add(
        child.name,
        "warm, addon in Node",
        &node.warm,
        &[
            if at_once { warm.at_most(0.40) } else { warm },
            if at_once {
                faster
            } else {
                faster.at_least(50.0)
            },
        ],
    );
}

/// The folder in which cargo put what it built for this bench.
fn built() -> Outcome<std::path::PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().map(Path::to_owned);
    folder.ok_or_else(|| "the bench lies nowhere".into())
}

//! How many instructions the pure parts and the diffs take, counted by callgrind: a number that no load of the machine
//! changes. Each has its limit beside it, so that a fresh clone, which has nothing to compare with, is judged too.
//!
//! `.ci/instructions` brings what this needs, prints the counts, and fails where one is over its limit. Who means a part
//! to take more or less writes the count that it printed into `limit(…)`; fewer instructions never fail.
#![expect(missing_docs, reason = "what the macros of gungraun write")]

use benches::diff_inputs::{Input, inputs};
use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use instructions::{Work, configuration, decision, envelope, translation};

/// Fails above what was counted and a twentieth. All counts below are of rustc 1.95.0 on x86-64, with Debian's valgrind
/// 3.19 and glibc 2.36.
///
/// The twentieth is for what differs though the code does not: what the compiler makes of a part when its neighbours
/// change (up to 3.4 % seen), the seeds of `serde_json`'s maps (up to 1.4 % of a
/// translation), where in memory the texts of a diff lie (0.1 %), and a C library that chooses other functions for a
/// processor without AVX2 (up to 2 %). Folder, home, environment and load change nothing. Another compiler may; then all
/// are to be counted anew.
fn limit(counted: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::default().hard_limits([(EventKind::Ir, counted + counted / 20)]));
    config
}

fn of_input(which: usize) -> Work {
    let Input { before, after, .. } = inputs().into_iter().nth(which).expect("one of them");
    instructions::diff(before, after)
}

#[library_benchmark]
#[bench::configuration(setup = configuration, config = limit(8_218))]
#[bench::translation(setup = translation, config = limit(2_541))]
#[bench::envelope(setup = envelope, config = limit(4_922))]
#[bench::decision(setup = decision, config = limit(3_516))]
fn part(work: Work) {
    work();
}

#[library_benchmark(setup = of_input)]
#[bench::of_63_kb_with_3_edits(args = (0), config = limit(762_872))]
#[bench::of_650_kb_with_20_edits(args = (1), config = limit(7_491_645))]
#[bench::of_650_kb_with_1000_edits(args = (2), config = limit(92_529_069))]
#[bench::of_160_kb_with_every_line_changed(args = (3), config = limit(328_093_412))]
fn diff(work: Work) {
    work();
}

library_benchmark_group!(name = counted; benchmarks = part, diff);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"]));
    library_benchmark_groups = counted
);

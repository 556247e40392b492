//! The diff work of a call, beside Pi's own functions on the Node that runs Pi.
//!
//! Both write the numbered diff and the unified patch of the same texts. Only their ratio means something on another
//! machine. Where the real Pi cannot be had, the bench says so and gives no ratio.

use std::hint::black_box;
use std::time::Duration;

use adapter::edits::{Budget, Entry};
use adapter::{Caps, texts};
use benches::diff_inputs::{Aim, Input, inputs};
use benches::{Outcome, median};
use criterion::{BenchmarkGroup, Criterion, measurement::Measurement};
use scenarios::diffs::{Pair, PiDiffs};
use scenarios::setup;
use tokio_util::sync::CancellationToken;

const GROUP: &str = "diffs";

/// How many times faster than Pi's own those have to be that aim at it.
const TARGET: f64 = 20.0;

/// How often Pi is measured on each; it takes seconds from the third on.
const RUNS: [usize; 6] = [30, 10, 3, 1, 1, 1];

/// What the adapter does once it has both texts.
fn compare(input: &Input) -> Option<Entry> {
    let mut budget = Budget::new(Caps::default().diff, CancellationToken::new());
    Entry::of_texts("src/lib.rs", &input.before, &input.after, &mut budget)
}

fn measure<M: Measurement>(group: &mut BenchmarkGroup<'_, M>, input: &Input) {
    group.bench_function(input.name, |bencher| {
        bencher.iter(|| compare(black_box(input)));
    });
}

/// The median of Pi's runs, in nanoseconds.
fn pis_median(pi: &mut PiDiffs, input: &Input, runs: usize) -> Outcome<f64> {
    let pair = Pair {
        path: "src/lib.rs".to_owned(),
        old: input.before.clone(),
        new: input.after.clone(),
    };
    let mut times = pi.time(&pair, runs)?.nanoseconds;
    times.sort_unstable();
    Ok(*times.get(times.len() / 2).ok_or("no time")? as f64)
}

#[expect(clippy::print_stdout, reason = "the ratios are what the bench is for")]
fn main() -> Outcome<()> {
    let inputs = inputs();
    // Each once first: what is measured has to be what it is taken for.
    for input in &inputs {
        match compare(input) {
            Some(Entry::Diff { .. }) if input.aim != Aim::Note => {}
            Some(Entry::Note { note, .. })
                if input.aim == Aim::Note && note == texts::NOTE_COSTLY => {}
            other => return Err(format!("{}: {other:?}", input.name).into()),
        }
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group(GROUP);
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(4));
    for input in &inputs {
        measure(&mut group, input);
    }
    group.finish();
    criterion.final_summary();

    let ours: Option<Vec<f64>> = inputs
        .iter()
        .map(|input| median(GROUP, input.name).ok())
        .collect();
    // `--test` and `--list` measure nothing.
    let measured = !std::env::args().any(|arg| arg == "--test" || arg == "--list");
    let Some(ours) = ours.filter(|_| measured) else {
        return Ok(());
    };
    let pi = setup::install(setup::PINNED, &*setup::on_stderr());
    let mut pi = match pi
        .map_err(|error| error.to_string())
        .and_then(|pi| PiDiffs::start(&pi).map_err(|error| error.to_string()))
    {
        Ok(pi) => pi,
        Err(why) => {
            println!("no ratios: the real Pi could not be had: {why}");
            return Ok(());
        }
    };
    println!("medians of the adapter and of Pi's own functions:");
    for (index, (input, ours)) in inputs.iter().zip(ours).enumerate() {
        let pis = pis_median(&mut pi, input, RUNS[index])?;
        let (ratio, cap) = (pis / ours, Caps::default().diff.as_nanos() as f64);
        // The clock is looked at now and then, so that a comparison can be late by one look.
        let within = |what| {
            let target = format!("{what} within {:?}", Caps::default().diff);
            (target, ours <= cap * 1.02)
        };
        let (target, met) = match input.aim {
            Aim::Faster => (format!("{TARGET:.0} times faster"), ratio >= TARGET),
            Aim::Shown => within("a diff"),
            Aim::Note => within("a note"),
        };
        println!(
            "{:<31} {:>9.3} ms {:>10.3} ms  {ratio:>6.1} times faster (target: {target}) {}",
            input.name,
            ours / 1e6,
            pis / 1e6,
            if met { "met" } else { "NOT MET" }
        );
    }
    Ok(())
}

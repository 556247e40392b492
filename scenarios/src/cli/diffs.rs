//! The command that compares the adapter's diffs with Pi's: `diffs`.

use std::io;

use super::{Diffs, Stop, exit, play};
use crate::diffs::{Generator, History, Lost, Pair, PiDiffs, compare};
use crate::interrupt::Interrupt;
use crate::report::diffs::{Source, write};
use crate::setup;

pub(super) fn diffs(options: &Diffs) -> Result<u8, Stop> {
    let pi = setup::install(&options.pi_version, &*setup::on_stderr())?;
    let interrupt = Interrupt::watch()?;
    let history = History::read(&options.history)?;
    let mut functions = PiDiffs::start(&pi)?;
    let mut sources = Vec::new();
    let generated = Generator::new(options.seed).take(options.pairs).collect();
    let all: [(String, Vec<Pair>, usize); 2] = [
        (
            format!("generated from seed {}", options.seed),
            generated,
            0,
        ),
        (
            "edits in the git history".to_owned(),
            history.pairs,
            history.left_out,
        ),
    ];
    for (name, pairs, left_out) in all {
        let progress = play::progress(pairs.len());
        progress.set_message(name.clone());
        let tally = compare(pairs, &mut functions, || {
            progress.inc(1);
            !interrupt.arrived()
        });
        progress.finish_and_clear();
        if interrupt.arrived() {
            return Err(Stop::Interrupted);
        }
        sources.push(Source {
            name,
            tally: tally?,
            left_out,
        });
    }
    write(&mut io::stdout().lock(), options.output.format, &sources)?;
    let equal = |source: &Source| source.tally.equal == source.tally.total;
    Ok(if sources.iter().all(equal) {
        exit::HELD
    } else {
        exit::FAILED
    })
}

impl From<Lost> for Stop {
    fn from(lost: Lost) -> Self {
        Self::Report(
            miette::miette!(
                help = "`pi-bench doctor` says whether the real Pi is whole",
                "{lost}"
            ),
            exit::NO_HOST,
        )
    }
}

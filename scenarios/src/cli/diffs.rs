//! The command that compares the adapter's diffs with Pi's: `diffs`.

use std::io;
use std::path::Path;

use super::{Diffs, Stop, exit, play};
use crate::diffs::{Generator, History, Lost, Pair, PiDiffs, compare};
use crate::interrupt::Interrupt;
use crate::report::diffs::{Source, write};
use crate::{setup, suite};

pub(super) fn diffs(options: &Diffs) -> Result<u8, Stop> {
    let (told, history) = history(options.history.as_deref())?;
    let pi = setup::install(&options.pi_version, &*setup::on_stderr())?;
    let interrupt = Interrupt::watch()?;
    let mut functions = PiDiffs::start(&pi)?;
    let mut sources = Vec::new();
    let generated = Generator::new(options.seed).take(options.pairs).collect();
    let all: [(String, Vec<Pair>, usize); 2] = [
        (
            format!("generated from seed {}", options.seed),
            generated,
            0,
        ),
        (told, history.pairs, history.left_out),
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

/// A git history, and how it is called: that of the bench, which may have none, or one that was asked for.
fn history(asked: Option<&Path>) -> Result<(String, History), Stop> {
    let folder = asked.map_or_else(suite::workspace, Path::to_path_buf);
    let told = match (History::read(&folder), asked) {
        (Ok(history), Some(_)) if history.pairs.is_empty() => Err("no edit of a text".to_owned()),
        (Ok(history), _) => {
            let part = if history.shallow {
                " (of a shallow clone)"
            } else {
                ""
            };
            Ok((format!("edits in the git history{part}"), history))
        }
        (Err(error), asked) if error.kind() == io::ErrorKind::NotFound => match asked {
            Some(_) => Err(error.to_string()),
            None => Ok((format!("no git history ({error})"), History::default())),
        },
        (Err(error), _) => return Err(error.into()),
    };
    told.map_err(|why| {
        let folder = folder.display();
        Stop::Report(
            miette::miette!(
                help = "`--history` takes a checkout with its commits; leave it out to compare with that of the bench",
                "no git history in {folder}: {why}"
            ),
            exit::WRONG,
        )
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

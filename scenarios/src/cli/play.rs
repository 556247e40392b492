//! Commands that play: `run`, `conform`, `mutations`, `show`.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _};
use std::path::Path;
use std::thread;

use fake_pi::{Fault, Version};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::runtime::Builder;

use super::{Conform, HostName, Mutations, RunOptions, Show, Stop, exit};
use crate::hosts::sim::Options;
use crate::interrupt::Interrupt;
use crate::matrix::{self, Matrix};
use crate::mutation::{self, Outcome};
use crate::report::{self, Format};
use crate::setup::{self, RealPi};
use crate::suite::{self, Conformed, Excuse, Named, Played};
use crate::trace::Trace;

pub(super) fn run(filter: &[String], options: &RunOptions) -> Result<u8, Stop> {
    let cases = super::choose(&options.playing.folder, filter)?;
    prepare(options.playing.traces.as_deref())?;
    let played = match options.host {
        HostName::Sim => {
            let version = super::modelled(&options.pi_version)?;
            on_sim(&cases, &sim(options.playing.seed, version))?
        }
        HostName::Pi => {
            let pi = ready(&options.pi_version)?;
            side_by_side(
                &cases,
                options.playing.jobs,
                async |named| match suite::excused(named, &pi.version) {
                    Some(_) => None,
                    None => Some(suite::play_on_pi(named, &pi).await),
                },
            )?
        }
    };
    let plays: Vec<(&Named, Option<Played>)> = cases.iter().zip(played).collect();
    if let Some(folder) = &options.playing.traces {
        for (named, played) in &plays {
            save(folder, named, played.as_ref())?;
        }
    }
    let host = if options.host == HostName::Sim {
        "sim"
    } else {
        "pi"
    };
    let summary = report::run::write(
        &mut io::stdout().lock(),
        options.playing.output.format,
        host,
        &plays,
    )?;
    Ok(if summary.failed == 0 {
        exit::HELD
    } else {
        exit::FAILED
    })
}

pub(super) fn conform(options: &Conform) -> Result<u8, Stop> {
    let cases = super::choose(&options.playing.folder, &options.filter)?;
    prepare(options.playing.traces.as_deref())?;
    let versions = match (options.pi_version.as_slice(), options.write_matrix) {
        ([], true) => Version::ALL.to_vec(),
        ([], false) => vec![super::modelled(setup::PINNED)?],
        (named, _) => named
            .iter()
            .map(|version| super::modelled(version))
            .collect::<Result<_, _>>()?,
    };
    let wanted: Vec<String> = versions.iter().map(Version::to_string).collect();
    let pis = setup::ensure_all(&wanted, &*setup::on_stderr())?;
    let mut columns = Vec::new();
    for (pi, version) in pis.into_iter().zip(versions) {
        let played_as = sim(options.playing.seed, version);
        let outcomes = side_by_side(&cases, options.playing.jobs, async |named| {
            match named.case.is_played_on(version) {
                true => Some(suite::conform(named, &pi, &played_as).await),
                false => None,
            }
        })?;
        let outcomes: Vec<(&Named, Option<Conformed>)> = cases.iter().zip(outcomes).collect();
        if let Some(folder) = &options.playing.traces {
            for (named, outcome) in &outcomes {
                save(folder, named, outcome.as_ref().map(|outcome| &outcome.sim))?;
                save(folder, named, outcome.as_ref().map(|outcome| &outcome.pi))?;
            }
        }
        if options.write_matrix {
            keep(version, &outcomes)?;
        }
        columns.push((pi.version, outcomes));
    }
    let summary = report::conformance::write(
        &mut io::stdout().lock(),
        options.playing.output.format,
        &columns,
    )?;
    Ok(if summary.differences == 0 && summary.failed == 0 {
        exit::HELD
    } else {
        exit::FAILED
    })
}

/// Keeps one column of the matrix; what was kept of other cases and versions stays.
fn keep(version: Version, outcomes: &[(&Named, Option<Conformed>)]) -> Result<(), Stop> {
    let path = matrix::own_file();
    let mut kept = Matrix::read(&path)?;
    kept.take_up(version, outcomes);
    kept.keep_only(&suite::read(&suite::own_cases(), &[])?);
    kept.write(&path)?;
    Ok(())
}

pub(super) fn mutations(options: &Mutations) -> Result<u8, Stop> {
    let cases = super::choose(&options.folder, &options.filter)?;
    prepare(None)?;
    let pi = ready(setup::PINNED)?;
    let version = super::modelled(&pi.version)?;
    let faults: Vec<Fault> = Fault::all().collect();
    let outcomes = until_interrupted(&cases, async |done| {
        mutation::prove(&cases, &faults, &pi, version, options.jobs, done).await
    })?;
    report::mutations::write(&mut io::stdout().lock(), options.output.format, &outcomes)?;
    Ok(if outcomes.iter().all(Outcome::right) {
        exit::HELD
    } else {
        exit::FAILED
    })
}

pub(super) fn show(options: &Show) -> Result<u8, Stop> {
    let cases = super::choose(&options.folder, std::slice::from_ref(&options.case))?;
    let exact = cases.iter().find(|named| named.name == options.case);
    let named = match (exact, cases.as_slice()) {
        (Some(named), _) | (None, [named]) => named,
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|named| named.name.as_str()).collect();
            return Err(Stop::wrong(miette::miette!(
                help = "name one of them",
                "`{}` is a part of several names: {}",
                options.case,
                names.join(", ")
            )));
        }
    };
    let played = match options.host {
        HostName::Sim => {
            let version = super::modelled(&options.pi_version)?;
            Some(suite::play_on_sim(named, &sim(options.seed, version)))
        }
        HostName::Pi => {
            let pi = ready(&options.pi_version)?;
            side_by_side(std::slice::from_ref(named), 1, async |named| {
                Some(suite::play_on_pi(named, &pi).await)
            })?
            .remove(0)
        }
    };
    let mut out = io::stdout().lock();
    match (
        played.as_ref().and_then(|played| played.trace.as_ref()),
        options.output.format,
    ) {
        (Some(trace), Format::Json) => trace.write(&mut out)?,
        (Some(trace), Format::Text) => report::timeline::write(&mut out, trace)?,
        (None, _) => {}
    }
    let summary = match options.output.format {
        Format::Json => report::run::write(
            &mut io::stderr().lock(),
            Format::Text,
            "",
            &[(named, played)],
        )?,
        Format::Text => report::run::write(&mut out, Format::Text, "", &[(named, played)])?,
    };
    Ok(if summary.failed == 0 {
        exit::HELD
    } else {
        exit::FAILED
    })
}

/// Makes sure, before anything is played, that plays have a place and traces too.
fn prepare(traces: Option<&Path>) -> Result<(), Stop> {
    let folder = std::env::temp_dir();
    if let Err(error) = tempfile::tempdir_in(&folder) {
        let what = format!(
            "no folder for a play can be made in {}: {error}",
            folder.display()
        );
        return Err(Stop::wrong(miette::miette!(
            help = "set TMPDIR to a folder that can be written",
            "{what}"
        )));
    }
    let Some(folder) = traces else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| {
        let what = format!("traces cannot be written to {}: {error}", folder.display());
        Stop::wrong(miette::miette!(
            help = "name a folder that can be written",
            "{what}"
        ))
    })
}

/// As what the simulated host is played: it makes no mistake on purpose.
fn sim(seed: u64, version: Version) -> Options {
    Options {
        seed,
        version,
        fault: None,
    }
}

/// Plays on the simulated host, on as many threads as there are cores: each play has a runtime of its own.
fn on_sim(cases: &[Named], options: &Options) -> Result<Vec<Option<Played>>, Stop> {
    let interrupt = Interrupt::watch()?;
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(cases.len());
    // A worker that panics loses its plays; without them no case may count as held.
    let mut played: Vec<Option<Played>> = cases.iter().map(|_| Some(Played::lost())).collect();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let mine = cases.iter().enumerate().skip(first).step_by(threads);
                let interrupt = &interrupt;
                let play = move |(index, named): (usize, &Named)| {
                    let played = match suite::excused(named, options.version.as_str()) {
                        Some(Excuse::Before(_)) => None,
                        Some(Excuse::SimOnly(_)) | None => Some(suite::play_on_sim(named, options)),
                    };
                    (index, played)
                };
                scope.spawn(move || {
                    mine.take_while(|_| !interrupt.arrived())
                        .map(play)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for (index, outcome) in workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_default())
        {
            played[index] = outcome;
        }
    });
    if interrupt.arrived() {
        return Err(Stop::Interrupted);
    }
    Ok(played)
}

/// The real Pi, got and built if it was not yet.
fn ready(version: &str) -> Result<RealPi, Stop> {
    Ok(setup::ensure(version, &*setup::on_stderr())?)
}

/// Plays on the real host, several at a time.
fn side_by_side<'a, T>(
    cases: &'a [Named],
    jobs: usize,
    play: impl AsyncFn(&'a Named) -> T,
) -> Result<Vec<T>, Stop> {
    until_interrupted(cases, async |done| {
        suite::side_by_side(cases, jobs, &play, done).await
    })
}

/// Plays until all is done, with a bar that `play` tells of each case; on Ctrl-C all that was started is ended.
fn until_interrupted<T>(
    cases: &[Named],
    play: impl AsyncFnOnce(&mut dyn FnMut(&Named)) -> T,
) -> Result<T, Stop> {
    let interrupt = Interrupt::watch()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let progress = progress(cases.len());
    let mut tell = |named: &Named| {
        progress.set_message(named.name.clone());
        progress.inc(1);
    };
    let done = runtime.block_on(async {
        tokio::select! {
            outcome = play(&mut tell) => Some(outcome),
            () = interrupt.wait() => None,
        }
    });
    progress.finish_and_clear();
    done.ok_or(Stop::Interrupted)
}

/// A bar on a terminal, nothing in a pipe.
pub(super) fn progress(cases: usize) -> ProgressBar {
    let target = if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(cases as u64), target).with_style(style)
}

/// Writes a trace as `<case>.<host>-<version>.jsonl`, with dots for the slashes of the case's name; the simulated host of
/// the pinned version goes without one.
fn save(folder: &Path, named: &Named, played: Option<&Played>) -> io::Result<()> {
    let Some(trace) = played.and_then(|played| played.trace.as_ref()) else {
        return Ok(());
    };
    fs::create_dir_all(folder)?;
    let Trace { header, .. } = trace;
    let version = if header.host == "sim" && header.pi == setup::PINNED {
        String::new()
    } else {
        format!("-{}", header.pi)
    };
    let name = format!(
        "{}.{}{version}.jsonl",
        named.name.replace('/', "."),
        header.host
    );
    trace.write(BufWriter::new(File::create(folder.join(name))?))
}

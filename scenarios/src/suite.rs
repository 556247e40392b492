//! The cases in a folder, and how many of them are played at once.

use std::path::{Path, PathBuf};

use futures::stream::{self, StreamExt as _};

use crate::case::{self, Case, CaseProblem};
use crate::hosts::{self, Unfinished, sim};
use crate::judge::{Failure, judge};
use crate::setup::RealPi;
use crate::trace::compare::{Difference, compare};
use crate::trace::{Lane, Trace};

/// A case and its name: area and file name, without the ending.
#[derive(Debug, Clone)]
pub struct Named {
    /// Such as `readiness/in-time`.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What is played.
    pub case: Case,
}

/// The folder of this project's own cases.
pub fn own_cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// The root of this workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_owned)
}

/// Reads the cases below `folder` whose name contains one of `filters`, all without filters, in order of their names.
///
/// # Errors
/// The first case that is wrong.
pub fn read(folder: &Path, filters: &[String]) -> Result<Vec<Named>, Box<CaseProblem>> {
    let mut paths = Vec::new();
    find(folder, &mut paths).map_err(|error| CaseProblem::Unreadable {
        path: folder.into(),
        cause: error.to_string(),
    })?;
    let mut named: Vec<(String, PathBuf)> = paths
        .into_iter()
        .map(|path| (name(folder, &path), path))
        .collect();
    named.sort();
    named
        .into_iter()
        .filter(|(name, _)| {
            filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
        })
        .map(|(name, path)| case::load(&path).map(|case| Named { name, path, case }))
        .collect()
}

/// Reads one case of a folder, for the test of its name.
///
/// # Errors
/// When it is wrong.
pub fn read_one(folder: &Path, path: &Path) -> Result<Named, Box<CaseProblem>> {
    Ok(Named {
        name: name(folder, path),
        path: path.to_owned(),
        case: case::load(path)?,
    })
}

fn name(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder)
        .unwrap_or(path)
        .with_extension("")
        .to_string_lossy()
        .into_owned()
}

fn find(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, paths)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    Ok(())
}

/// One play and what did not hold in it.
#[derive(Debug)]
pub struct Played {
    /// The trace; of a play that did not come to its end, what there is of it.
    pub trace: Option<Trace>,
    /// What did not hold.
    pub failures: Vec<Failure>,
}

impl Played {
    /// `judged`: whether what must hold is asked.
    fn of(case: &Case, outcome: Result<Trace, Box<Unfinished>>, judged: bool) -> Self {
        match outcome {
            Ok(trace) => Self {
                failures: if judged {
                    judge(case, &trace)
                } else {
                    Vec::new()
                },
                trace: Some(trace),
            },
            Err(unfinished) => {
                let last = unfinished
                    .trace
                    .as_ref()
                    .and_then(|trace| trace.events.len().checked_sub(1));
                let failure = Failure {
                    check: "the play".into(),
                    what: unfinished.to_string(),
                    at: last,
                };
                Self {
                    trace: unfinished.trace,
                    failures: vec![failure],
                }
            }
        }
    }

    /// A play of which nothing is known, because what played it died.
    pub fn lost() -> Self {
        let what = "what played it died; that is a fault of the bench".to_owned();
        Self {
            trace: None,
            failures: vec![Failure {
                check: "the play".into(),
                what,
                at: None,
            }],
        }
    }

    /// Whether all held.
    pub fn held(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Why a case is not asked to hold on a real Pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse<'a> {
    /// No real Pi can be brought there; why.
    SimOnly(&'a str),
    /// That version comes before the one from which on the case holds; what it does instead.
    Before(&'a str),
}

/// Why a case is not asked to hold on the real Pi of this version; `None` when it is.
pub fn excused<'a>(named: &'a Named, version: &str) -> Option<Excuse<'a>> {
    let case = &named.case;
    if let Some(why) = &case.sim_only {
        return Some(Excuse::SimOnly(why));
    }
    let holds = version
        .parse()
        .map_or(true, |version| case.holds_on(version));
    let since = case.since.as_ref().filter(|_| !holds)?;
    Some(Excuse::Before(&since.why))
}

/// Plays a case on the simulated Pi and judges it, if it must hold in that version.
pub fn play_on_sim(named: &Named, options: &sim::Options) -> Played {
    let outcome = sim::play(&named.name, &named.case, options);
    Played::of(&named.case, outcome, named.case.holds_on(options.version))
}

/// Plays a case on the real Pi and judges it, if it must hold in that version; in one that is not modelled it must.
pub async fn play_on_pi(named: &Named, pi: &RealPi) -> Played {
    let outcome = hosts::pi::play(&named.name, &named.case, pi).await;
    let holds = |version| named.case.holds_on(version);
    Played::of(&named.case, outcome, pi.version.parse().map_or(true, holds))
}

/// A case on both hosts.
#[derive(Debug)]
pub struct Conformed {
    /// The play on sim.
    pub sim: Played,
    /// The play on the real Pi.
    pub pi: Played,
    /// Where the traces differ.
    pub differences: Vec<Difference>,
    /// Whether what must hold was asked: not in a version before the one that the case names.
    pub judged: bool,
}

impl Conformed {
    /// Whether the hosts told the same, and all that was asked held on both.
    pub fn equal(&self) -> bool {
        self.differences.is_empty() && self.sim.held() && self.pi.held()
    }
}

/// Plays a case on both hosts, the simulated one as `options` say, and compares the traces. That both are of one
/// version is the caller's to see to.
pub async fn conform(named: &Named, pi: &RealPi, options: &sim::Options) -> Conformed {
    let (case, options) = (named.clone(), *options);
    // The simulated host brings a runtime of its own, which cannot run inside another.
    let sim = tokio::task::spawn_blocking(move || play_on_sim(&case, &options)).await;
    let sim = sim.unwrap_or_else(|_| Played::lost());
    let pi = play_on_pi(named, pi).await;
    let differences = differences(&sim, &pi);
    Conformed {
        sim,
        pi,
        differences,
        judged: named.case.holds_on(options.version),
    }
}

/// Where two plays of a case differ.
pub fn differences(sim: &Played, pi: &Played) -> Vec<Difference> {
    match (&sim.trace, &pi.trace) {
        (Some(sim), Some(pi)) => compare(sim, pi),
        // What did not come to its end is like nothing.
        (sim, _) => {
            let host = if sim.is_none() { "sim" } else { "the real Pi" };
            let text = format!("the play on {host} did not come to its end\n");
            vec![Difference {
                lane: Lane::Person,
                server: None,
                text,
            }]
        }
    }
}

/// Does something with each case, `jobs` at a time, and gives the outcomes in the cases' order.
pub async fn side_by_side<'a, T>(
    cases: &'a [Named],
    jobs: usize,
    play: &impl AsyncFn(&'a Named) -> T,
    mut done: impl FnMut(&Named),
) -> Vec<T> {
    let plays = cases
        .iter()
        .enumerate()
        .map(|(index, named)| async move { (index, play(named).await) });
    let mut running = stream::iter(plays).buffer_unordered(jobs.max(1));
    let mut outcomes: Vec<(usize, T)> = Vec::with_capacity(cases.len());
    while let Some((index, outcome)) = running.next().await {
        done(&cases[index]);
        outcomes.push((index, outcome));
    }
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

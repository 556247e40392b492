//! The proof that the comparison notices a wrong host: cases are played on the real Pi once, and on the simulated one
//! with each of its deliberate mistakes.
//!
//! A mistake in what compares would be the worst fault of all, for it would let every other one pass. So each
//! [`Fault`] must be noticed by the case that [`PROOFS`] names, in its lane, and nothing may differ without one.

mod proofs;

use std::collections::BTreeSet;

use fake_pi::{Fault, Version};

pub use self::proofs::{PROOFS, Proof};
use crate::hosts::sim;
use crate::setup::RealPi;
use crate::suite::{self, Named, Played};
use crate::trace::Lane;

/// What one case notices of one mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noticed {
    /// The case's name.
    pub case: String,
    /// The lanes in which the traces differ.
    pub lanes: BTreeSet<Lane>,
}

/// A mistake and the cases that notice it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The mistake; `None` is a host without one.
    pub fault: Option<Fault>,
    /// The cases that notice it, in their order.
    pub noticed: Vec<Noticed>,
}

impl Outcome {
    /// Whether it is as it has to be: a mistake is noticed, and a host without one has nothing to be noticed.
    pub fn right(&self) -> bool {
        self.fault.is_some() != self.noticed.is_empty()
    }

    /// Whether this case notices it in this lane.
    pub fn noticed_by(&self, case: &str, lane: Lane) -> bool {
        self.noticed
            .iter()
            .any(|noticed| noticed.case == case && noticed.lanes.contains(&lane))
    }
}

/// Plays the cases once on the real Pi, and on the simulated one of its version without a mistake and with each of
/// `faults`. The first outcome is that of the host without one. Cases that no real Pi plays are left out.
pub async fn prove(
    cases: &[Named],
    faults: &[Fault],
    pi: &RealPi,
    version: Version,
    jobs: usize,
    done: impl FnMut(&Named),
) -> Vec<Outcome> {
    let wrong: Vec<Option<Fault>> = std::iter::once(None)
        .chain(faults.iter().copied().map(Some))
        .collect();
    let play = async |named: &Named| match named.case.is_played_on(version) {
        true => differing(named, suite::play_on_pi(named, pi).await, &wrong, version).await,
        false => Vec::new(),
    };
    let lanes: Vec<Vec<BTreeSet<Lane>>> = suite::side_by_side(cases, jobs, &play, done).await;
    let noticed = |index: usize| {
        let of_case = |(named, lanes): (&Named, &Vec<BTreeSet<Lane>>)| Noticed {
            case: named.name.clone(),
            lanes: lanes.get(index).cloned().unwrap_or_default(),
        };
        let all = cases.iter().zip(&lanes).map(of_case);
        all.filter(|noticed| !noticed.lanes.is_empty()).collect()
    };
    wrong
        .iter()
        .enumerate()
        .map(|(index, &fault)| Outcome {
            fault,
            noticed: noticed(index),
        })
        .collect()
}

/// For each mistake the lanes in which one case differs.
async fn differing(
    named: &Named,
    real: Played,
    wrong: &[Option<Fault>],
    version: Version,
) -> Vec<BTreeSet<Lane>> {
    let (named, wrong) = (named.clone(), wrong.to_vec());
    let asked = wrong.len();
    // The simulated host brings a runtime of its own, which cannot run inside another.
    let plays = tokio::task::spawn_blocking(move || {
        wrong
            .into_iter()
            .map(|fault| {
                let options = sim::Options {
                    version,
                    fault,
                    ..sim::Options::default()
                };
                let sim = suite::play_on_sim(&named, &options);
                // A play that broke off is not what a comparison of two whole traces has to notice.
                if sim
                    .failures
                    .iter()
                    .any(|failure| failure.check == "the play")
                {
                    return BTreeSet::new();
                }
                let differences = suite::differences(&sim, &real);
                differences.into_iter().map(|place| place.lane).collect()
            })
            .collect()
    });
    // A play that dies is a fault of the bench: then the host without a mistake counts as wrong too.
    let lost = || vec![BTreeSet::from([Lane::Person]); asked];
    plays.await.unwrap_or_else(|_| lost())
}

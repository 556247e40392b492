//! The comparison notices each mistake that the simulated host can make, in the case that the proof names.

#[path = "package/gate.rs"]
mod gate;

use fake_pi::{Fault, Version};
use scenarios::mutation::{self, Outcome, PROOFS, Proof};
use scenarios::suite::{self, Named};

/// How many cases are played at once on the real Pi, as in the other tests that play it.
const JOBS: usize = 2;

fn cases() -> Vec<Named> {
    let all = suite::read(&suite::own_cases(), &[]).expect("cases");
    all.into_iter()
        .filter(|named| PROOFS.iter().any(|proof| proof.case == named.name))
        .collect()
}

fn proofs_of(named: &Named) -> Vec<&'static Proof> {
    PROOFS
        .iter()
        .filter(|proof| proof.case == named.name)
        .collect()
}

#[test]
fn each_mistake_has_one_proof_in_a_case_that_the_real_pi_plays() {
    for fault in Fault::all() {
        let proofs = PROOFS.iter().filter(|proof| proof.fault == fault).count();
        assert_eq!(proofs, 1, "{}", fault.words());
    }
    let cases = cases();
    for proof in PROOFS {
        let case = cases.iter().find(|named| named.name == proof.case);
        let case = case.unwrap_or_else(|| panic!("there is no case {}", proof.case));
        assert!(case.case.is_played_on(Version::default()), "{}", proof.case);
    }
}

/// Each case is played once on the real Pi; all its mistakes are held against that one trace.
#[test]
fn each_mistake_is_noticed_and_nothing_else_is() {
    let Some(pi) = gate::real_pi() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let cases = cases();
    let prove = async |named: &Named| -> Vec<Outcome> {
        let faults: Vec<Fault> = proofs_of(named).iter().map(|proof| proof.fault).collect();
        let one = std::slice::from_ref(named);
        mutation::prove(one, &faults, &pi, Version::default(), 1, |_| {}).await
    };
    let outcomes = runtime.block_on(suite::side_by_side(&cases, JOBS, &prove, |_| {}));
    let mut wrong = Vec::new();
    for (named, outcomes) in cases.iter().zip(&outcomes) {
        for outcome in outcomes {
            let proof = PROOFS
                .iter()
                .find(|proof| Some(proof.fault) == outcome.fault);
            let right = match proof {
                None => outcome.right(),
                Some(proof) => outcome.noticed_by(&named.name, proof.lane),
            };
            if !right {
                wrong.push(format!("{}: {outcome:?}", named.name));
            }
        }
    }
    let told: usize = outcomes.iter().map(|outcomes| outcomes.len() - 1).sum();
    assert_eq!(told, PROOFS.len(), "every proof was tried");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

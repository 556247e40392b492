//! Every order in which calls in flight can claim, write and end, gone through (E3, E4).
//!
//! What is explored is states, not paths: two orders that lead to the same table and the same truth have the same
//! futures. The paths are counted along the way, so that the test can say how many orders it stands for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::identity::Identity;
use super::writes::{Owner, Reach, Table, Verdict};

/// What a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// These of the two files.
    Files(&'static [usize]),
    /// What it likes.
    Shell,
}

const F: Call = Call::Files(&[0]);
const G: Call = Call::Files(&[1]);
const BOTH: Call = Call::Files(&[0, 1]);

impl Call {
    fn files(self) -> &'static [usize] {
        match self {
            Self::Files(files) => files,
            Self::Shell => &[0, 1],
        }
    }

    fn names(self, file: usize) -> bool {
        self != Self::Shell && self.files().contains(&file)
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Waiting,
    Claimed(u64),
    Wrote(u64),
    Ended,
}

impl Phase {
    fn in_flight(self) -> Option<u64> {
        match self {
            Self::Claimed(claim) | Self::Wrote(claim) => Some(claim),
            Self::Waiting | Self::Ended => None,
        }
    }
}

/// What truly happened to one file of one call since the call claimed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Truth {
    /// Another call wrote it.
    written: bool,
    /// Another call that names it was in flight.
    shared: bool,
    /// A shell command was in flight.
    alongside: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    table: Table,
    phases: Vec<Phase>,
    truths: Vec<[Truth; 2]>,
}

/// Which orders are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orders {
    /// A batch: all claim in turn before any runs, as Pi prepares it.
    Batch,
    /// All, as where several sessions share a process.
    All,
}

struct Explored {
    orders: u64,
    states: u64,
}

fn explore(calls: &[Call], orders: Orders) -> Explored {
    let mut table = Table::default();
    // The first two calls come from one instance, the others each from one of their own.
    let first = table.owner();
    let owners: Vec<Owner> = (0..calls.len())
        .map(|call| if call < 2 { first } else { table.owner() })
        .collect();
    let start = State {
        table,
        phases: vec![Phase::Waiting; calls.len()],
        truths: vec![Default::default(); calls.len()],
    };
    let mut explored = Explored {
        orders: 0,
        states: 0,
    };
    let mut front = BTreeMap::from([(start, 1_u64)]);
    while !front.is_empty() {
        let mut next = BTreeMap::new();
        for (state, paths) in front {
            explored.states += 1;
            let mut last = true;
            for call in 0..calls.len() {
                for after in steps(&state, calls, &owners, call, orders) {
                    *next.entry(after).or_default() += paths;
                    last = false;
                }
            }
            if last {
                assert!(state.phases.iter().all(|phase| *phase == Phase::Ended));
                explored.orders += paths;
            }
        }
        front = next;
    }
    explored
}

/// What one call can do next.
fn steps(
    state: &State,
    calls: &[Call],
    owners: &[Owner],
    call: usize,
    orders: Orders,
) -> Vec<State> {
    let waiting = state
        .phases
        .iter()
        .position(|phase| *phase == Phase::Waiting);
    match state.phases[call] {
        Phase::Waiting if orders == Orders::Batch && waiting != Some(call) => Vec::new(),
        Phase::Waiting => vec![claimed(state, calls, owners, call)],
        _ if orders == Orders::Batch && waiting.is_some() => Vec::new(),
        // It may end without having written: blocked, aborted, failed.
        Phase::Claimed(claim) => {
            vec![
                wrote(state, calls, call, claim),
                ended(state, calls, call, claim),
            ]
        }
        Phase::Wrote(claim) => vec![ended(state, calls, call, claim)],
        Phase::Ended => Vec::new(),
    }
}

fn claimed(state: &State, calls: &[Call], owners: &[Owner], call: usize) -> State {
    let mut state = state.clone();
    let claim = match calls[call] {
        Call::Shell => {
            let folder = Some(PathBuf::from("/w"));
            state
                .table
                .claim(owners[call], Vec::new(), folder.map(Reach::Below))
        }
        Call::Files(files) => {
            let identity = |file: &usize| Identity::named(["/w/f", "/w/g"][*file]).into();
            let identities = files.iter().map(identity).collect();
            state.table.claim(owners[call], identities, None)
        }
    };
    state.phases[call] = Phase::Claimed(claim);
    let others = (0..calls.len()).filter(|other| *other != call);
    for other in others.filter(|other| state.phases[*other].in_flight().is_some()) {
        for file in 0..2 {
            for (one, two) in [(call, other), (other, call)] {
                let truth = &mut state.truths[one][file];
                truth.shared |= calls[two].names(file);
                truth.alongside |= calls[two] == Call::Shell;
            }
        }
    }
    state
}

fn wrote(state: &State, calls: &[Call], call: usize, claim: u64) -> State {
    let mut state = state.clone();
    state.phases[call] = Phase::Wrote(claim);
    for other in (0..calls.len()).filter(|other| *other != call) {
        if state.phases[other].in_flight().is_some() {
            for file in calls[call].files() {
                state.truths[other][*file].written = true;
            }
        }
    }
    state
}

/// The call's result: what the table says of its files is held against the truth.
fn ended(state: &State, calls: &[Call], call: usize, claim: u64) -> State {
    if let Call::Files(files) = calls[call] {
        for (index, file) in files.iter().enumerate() {
            let truth = state.truths[call][*file];
            let (verdict, _) = state.table.verdict(claim, index);
            let right = match truth {
                Truth { shared: true, .. } => Verdict::Shared,
                Truth {
                    alongside: true, ..
                } => Verdict::Alongside,
                Truth { .. } => Verdict::Own,
            };
            assert_eq!(verdict, right, "call {call} of {calls:?}: {state:?}");
            assert!(
                verdict != Verdict::Own || !truth.written,
                "call {call} of {calls:?} would show what another wrote: {state:?}"
            );
        }
    }
    let mut state = state.clone();
    state.table.release(claim);
    state.phases[call] = Phase::Ended;
    // What happened to a call that has ended is of no matter any more.
    state.truths[call] = Default::default();
    state
}

/// All sets of so many calls of these kinds, in every order of theirs or, where that is too many, in one.
fn sets(kinds: &[Call], len: u32, ordered: bool) -> impl Iterator<Item = Vec<Call>> {
    let numbers = (0..kinds.len().pow(len)).map(move |number| {
        let digit = move |place| number / kinds.len().pow(place) % kinds.len();
        (0..len).map(digit).collect::<Vec<usize>>()
    });
    numbers
        .filter(move |digits| ordered || digits.is_sorted())
        .map(|digits| digits.iter().map(|digit| kinds[*digit]).collect())
}

#[expect(clippy::print_stdout, reason = "how much was explored is to be read")]
fn explore_all(what: &str, sets: impl Iterator<Item = Vec<Call>>, orders: Orders) {
    let mut sum = Explored {
        orders: 0,
        states: 0,
    };
    let mut count = 0;
    for calls in sets {
        let explored = explore(&calls, orders);
        sum.orders += explored.orders;
        sum.states += explored.states;
        count += 1;
    }
    println!(
        "{what}: {} interleavings of {count} sets of calls, {} states",
        sum.orders, sum.states
    );
    assert!(count > 0 && sum.orders > count);
}

const ALL: [Call; 4] = [F, G, BOTH, Call::Shell];
const FEW: [Call; 3] = [F, BOTH, Call::Shell];

#[test]
fn e3_e4_no_order_of_a_batch_shows_what_another_call_wrote() {
    for len in 1..=4 {
        let what = format!("batches of {len}");
        explore_all(&what, sets(&ALL, len, true), Orders::Batch);
    }
    explore_all("batches of 5", sets(&FEW, 5, true), Orders::Batch);
    explore_all("batches of 6", sets(&FEW, 6, false), Orders::Batch);
}

#[test]
fn e3_e4_no_order_of_several_sessions_shows_what_another_call_wrote() {
    for len in 1..=3 {
        let what = format!("sessions with {len} calls");
        explore_all(&what, sets(&ALL, len, true), Orders::All);
    }
    // Here each call may come first, so that one order of theirs stands for all.
    explore_all("sessions with 4 calls", sets(&FEW, 4, false), Orders::All);
}

#[test]
fn e3_the_exploration_counts_every_order() {
    // Three calls that write or do not, after a common preflight: a call is two events or one.
    let three = explore(&[F, F, F], Orders::Batch);
    // 90 orders of three pairs, 3 times 30 of two pairs and one, 3 times 12 of one pair and two, 6 of none.
    assert_eq!(three.orders, 90 + 3 * 30 + 3 * 12 + 6);
    assert_eq!(explore(&[F], Orders::All).orders, 2);
}

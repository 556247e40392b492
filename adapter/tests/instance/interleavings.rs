//! Batches of real edits, each in every order in which its calls can write and end (E2, E3, E4, O08).

use std::path::Path;

use adapter::Instance;
use serde_json::{Value, json};

use crate::world::{World, result};

/// What one call of a batch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Appends a line to a file, by Gortex.
    Edit(&'static str),
    /// Likewise, by a batch on two files.
    Both,
    /// Likewise, by Pi's own tool.
    Pi(&'static str),
    /// Likewise, by a shell command.
    Shell,
}

const KINDS: [Call; 5] = [
    Call::Edit("f"),
    Call::Edit("./g"),
    Call::Both,
    Call::Pi("f"),
    Call::Shell,
];

impl Call {
    fn tool(self) -> (&'static str, Value) {
        match self {
            Self::Edit(path) => ("mcp__gortex__edit_file", json!({"path": path})),
            Self::Both => (
                "mcp__gortex__batch_edit",
                json!({"edits": [{"path": "repo/f"}, {"path": "g"}]}),
            ),
            Self::Pi(path) => ("edit", json!({"path": path})),
            Self::Shell => ("bash", json!({"command": "true"})),
        }
    }

    /// The files that it writes.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Edit("f") | Self::Pi(_) | Self::Shell => &["f"],
            Self::Edit(_) => &["g"],
            Self::Both => &["f", "g"],
        }
    }
}

/// Every order of two events a call, the second of which comes after the first: the call's number, twice.
fn orders(calls: usize) -> Vec<Vec<usize>> {
    let mut done = Vec::new();
    let mut open = vec![(Vec::new(), vec![2; calls])];
    while let Some((order, left)) = open.pop() {
        if order.len() == 2 * calls {
            done.push(order);
            continue;
        }
        for call in (0..calls).filter(|call| left[*call] > 0) {
            let (mut order, mut left) = (order.clone(), left.clone());
            order.push(call);
            left[call] -= 1;
            open.push((order, left));
        }
    }
    done
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).expect("text")
}

/// Plays one order of one batch, and holds each diff against the texts before and after its call.
async fn play(world: &World, instance: &Instance, calls: &[Call], order: &[usize]) {
    let folder = world.cwd();
    for file in ["f", "g"] {
        std::fs::write(folder.join(file), "1\n2\n3\n").expect("written");
    }
    let id = |call: usize| format!("c{call}");
    for (call, kind) in calls.iter().enumerate() {
        let (tool, input) = kind.tool();
        let block = instance.tool_call(world.call(&id(call), tool, input)).await;
        assert_eq!(block, None);
    }
    let mut running = vec![true; calls.len()];
    let mut wrote = vec![false; calls.len()];
    for call in order.iter().copied() {
        if !wrote[call] {
            wrote[call] = true;
            for file in calls[call].files() {
                let after = format!("{}by {call}\n", text(&folder, file));
                std::fs::write(folder.join(file), after).expect("written");
            }
            continue;
        }
        let patch = instance.tool_result(result(&id(call))).await;
        running[call] = false;
        let details = patch.and_then(|patch| patch.details).unwrap_or_default();
        for file in ["f", "g"] {
            // All claim before any runs, so all of a batch are in flight together.
            let others = || (0..calls.len()).filter(|other| *other != call);
            let shared = others()
                .any(|other| calls[other] != Call::Shell && calls[other].files().contains(&file));
            let alongside = others().any(|other| calls[other] == Call::Shell);
            let ours = matches!(calls[call], Call::Edit(_) | Call::Both)
                && calls[call].files().contains(&file);
            let entry = details["diffs"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|entry| {
                    entry["path"]
                        .as_str()
                        .is_some_and(|path| path.ends_with(file))
                });
            let told = format!("{file} of call {call} in {calls:?}, order {order:?}: {details}");
            match entry {
                None => assert!(!ours || shared, "nothing of {told}"),
                Some(_) if !ours || shared => panic!("something of {told}"),
                Some(entry) if alongside => assert!(entry["note"].is_string(), "{told}"),
                Some(entry) => {
                    let patch = entry["patch"].as_str().expect("a patch");
                    let patch = diffy::Patch::from_str(patch).expect("a patch");
                    let applied = diffy::apply("1\n2\n3\n", &patch).expect("applies");
                    assert_eq!(applied, text(&folder, file), "{told}");
                    assert_eq!(applied, format!("1\n2\n3\nby {call}\n"), "{told}");
                }
            }
        }
    }
    assert_eq!(world.writes.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::print_stdout, reason = "how much was explored is to be read")]
async fn e2_e3_e4_o08_every_order_of_a_batch_shows_true_diffs_or_none() {
    let mut world = World::new();
    world.set("GORTEX_ENFORCE", "0");
    let instance = world.ready();
    let mut played = 0;
    let mut batches: Vec<Vec<Call>> = Vec::new();
    for one in KINDS {
        batches.push(vec![one]);
        for two in KINDS {
            batches.push(vec![one, two]);
        }
    }
    // The fourth and fifth kind add nothing to three that pairs do not show.
    let few = [Call::Edit("f"), Call::Both, Call::Shell];
    for one in few {
        for two in few {
            batches.extend(few.map(|three| vec![one, two, three]));
        }
    }
    batches.push(vec![
        Call::Both,
        Call::Edit("f"),
        Call::Edit("./g"),
        Call::Pi("f"),
    ]);
    for calls in &batches {
        for order in orders(calls.len()) {
            play(&world, &instance, calls, &order).await;
            played += 1;
        }
    }
    println!("{played} interleavings of {} batches", batches.len());
    assert_eq!(played, 5 + 25 * 6 + 27 * 90 + 2520);
}

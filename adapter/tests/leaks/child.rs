//! What a hook child may do to its parent: each misbehaviour is judged as H5 says and leaves no descriptor, thread or
//! process behind.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapter::child::ChildHook;
use adapter::hook::Decision;
use adapter::{HookAsk, HookPort};
use tokio::time::Instant;

use crate::census::{Census, no_child_left};
use crate::lifeline::Lifeline;
use crate::question::ask;
use crate::sessions::runtime;

/// How often each misbehaviour is met: a leak of one a call cannot hide.
const ROUNDS: usize = 8;

/// Five MiB, more than any pipe takes.
const LARGE: usize = 5 << 20;

fn block() -> Result<Decision, String> {
    Ok(Decision {
        block: true,
        reason: "R".to_owned(),
        ..Decision::default()
    })
}

fn failure(cause: &str) -> Result<Decision, String> {
    Err(cause.to_owned())
}

/// Meets one misbehaviour again and again, and compares what the process holds after the first time and at the end.
async fn meet(what: &str, make: impl Fn() -> HookAsk, expected: &Result<Decision, String>) {
    let mut first = None;
    for _ in 0..ROUNDS {
        let report = ChildHook::default().ask(make()).await;
        assert_eq!(&Decision::read(&report), expected, "{what}");
        no_child_left().await;
        let now = Census::take();
        assert_eq!(first.get_or_insert(now), &now, "{what}");
    }
}

const ANSWER: &str = r#"printf '{"block":true,"reason":"R"}'"#;

#[test]
fn h5_what_is_no_failure_counts_and_leaks_nothing() {
    runtime().block_on(async {
        let large = |script: String| {
            move || HookAsk {
                envelope: vec![b'x'; LARGE],
                ..ask(&script)
            }
        };
        meet(
            "closes stdin at once",
            large(format!("exec 0<&-; {ANSWER}")),
            &block(),
        )
        .await;
        meet("never reads", large(ANSWER.to_owned()), &block()).await;
        let early = format!("{ANSWER}; cat >/dev/null");
        meet("answers before it was asked", large(early), &block()).await;
        let flood = format!("head -c 20000000 /dev/zero >&2; {ANSWER}");
        meet("floods stderr", large(flood), &block()).await;
        // On descriptor 3 too, as a daemon that was started carelessly holds it.
        let left = format!("{ANSWER}; sleep 20 3>&1 & exit 0");
        let holds = || HookAsk {
            deadline: Instant::now() + Duration::from_secs(10),
            ..ask(&left)
        };
        meet("leaves a grandchild with stdout", holds, &block()).await;
    });
}

#[test]
fn h5_what_is_a_failure_is_no_decision_and_leaks_nothing() {
    runtime().block_on(async {
        let met = [
            (
                "prints 20 MiB",
                "exec head -c 20971520 /dev/zero",
                "it wrote more than 16 MiB",
            ),
            (
                "dies by signal",
                &format!("{ANSWER}; kill -9 $$"),
                "signal 9 ended it",
            ),
            (
                "prints invalid UTF-8",
                r#"printf '{"block":true,"reason":"\377"}'"#,
                "its answer is not UTF-8",
            ),
            (
                "fails",
                &format!("{ANSWER}; exit 3"),
                "it exited with code 3",
            ),
        ];
        for (what, script, cause) in met {
            meet(what, || ask(script), &failure(cause)).await;
        }
        let gone = || {
            let mut gone = ask("");
            Arc::make_mut(&mut gone.command).program = PathBuf::from("/nowhere/gortex");
            gone
        };
        let cause = "it could not run: entity not found";
        meet("is not there", gone, &failure(cause)).await;
        let hang = || HookAsk {
            deadline: Instant::now() + Duration::from_millis(20),
            envelope: vec![b'x'; LARGE],
            ..ask("sleep 600 & sleep 600")
        };
        meet("hangs", hang, &failure("it did not answer in time")).await;
        let aborted = || {
            let asked = ask("exit 3");
            asked.abort.cancel();
            asked
        };
        meet("is aborted", aborted, &Ok(Decision::default())).await;
    });
}

#[test]
fn h4_an_abort_ends_the_whole_group() {
    runtime().block_on(async {
        let mut first = None;
        for _ in 0..ROUNDS {
            let mut line = Lifeline::new();
            let asked = ask(&line.holders());
            let abort = asked.abort.clone();
            let answer = tokio::spawn(ChildHook::default().ask(asked));
            line.taken_up().await;
            abort.cancel();
            let report = answer.await.expect("an answer");
            line.let_go().await;
            assert_eq!(Decision::read(&report), Ok(Decision::default()));
            drop(line);
            no_child_left().await;
            let now = Census::take();
            assert_eq!(first.get_or_insert(now), &now);
        }
    });
}

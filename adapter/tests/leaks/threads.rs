//! How many threads questions take (H3): a few, however many are in flight.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adapter::child::ChildHook;
use adapter::{HookAsk, HookCommand, HookEnd, HookPort, HookReport};
use futures::future::join_all;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::census::{Census, no_child_left};
use crate::lifeline::Lifeline;

/// Questions in flight.
const QUESTIONS: usize = 64;

/// Threads that may come on top. Two children are started at a time; a thread that has just started one may not be idle yet
/// when the next one needs a thread. Far from one a question.
const FEW: usize = 16;

/// A hook that holds the line `said`, says on it when it has read its question, and answers once it gets a line from `gate`.
fn ask(said: &Lifeline, gate: &Lifeline) -> HookAsk {
    let [said, gate] = [said, gate].map(|line| line.folder().join("line"));
    let script = format!(
        "exec 3>'{}'; cat >/dev/null; printf u >&3; read word <'{}'; echo '{{}}'",
        said.display(),
        gate.display()
    );
    HookAsk {
        command: Arc::new(HookCommand {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script],
            cwd: PathBuf::from("/"),
            vars: Arc::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into()),
        }),
        envelope: b"{}".to_vec(),
        deadline: Instant::now() + Duration::from_secs(60),
        abort: CancellationToken::new(),
    }
}

/// Asks all at once, and tells the most threads that there were while they were under way.
async fn ask_at_once(hook: &ChildHook, count: usize) -> usize {
    let (mut said, gate) = (Lifeline::new(), Lifeline::new());
    let questions = join_all((0..count).map(|_| hook.ask(ask(&said, &gate))));
    let watched = async {
        let mut most = 0;
        for _ in 0..count {
            said.taken_up().await;
            most = most.max(Census::take().threads);
        }
        // All of them are in flight now.
        assert_eq!(Census::take().children, count);
        let path = gate.folder().join("line");
        let mut gate = File::options().write(true).open(path).expect("gate");
        gate.write_all(&vec![b'\n'; count]).expect("gate");
        // One that has not opened it yet needs somebody who writes.
        (most, gate)
    };
    let (reports, (most, _gate)) = tokio::join!(questions, watched);
    for report in reports {
        let answered = HookReport {
            stdout: b"{}\n".to_vec(),
            end: HookEnd::Exited(0),
        };
        assert_eq!(report, answered);
    }
    no_child_left().await;
    most
}

#[tokio::test]
async fn h3_questions_in_flight_take_no_thread_each() {
    let hook = ChildHook::default();
    ask_at_once(&hook, 1).await;
    let before = Census::take();
    let most = ask_at_once(&hook, QUESTIONS).await;
    let after = Census::take();
    assert!(most <= before.threads + FEW, "{before:?}, {most}");
    assert!(
        after.threads <= before.threads + FEW,
        "{before:?}, {after:?}"
    );
    assert_eq!(after.descriptors, before.descriptors);
}

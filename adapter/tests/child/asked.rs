//! A child that is started for its question.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adapter::child::{ChildHook, Turns};
use adapter::{HookAsk, HookEnd, HookPort, HookReport};
use tokio::time::Instant;

use crate::lifeline::{Lifeline, blocking, closed};
use crate::question::ask;

/// What a hook says whose child is started for the question.
pub async fn report(ask: HookAsk) -> HookReport {
    ChildHook::default().ask(ask).await
}

#[tokio::test]
async fn h5_a_child_gets_the_envelope_and_its_exit_code_counts() {
    let mut echo = ask("cat");
    // Larger than both pipes together, so it passes only when both ends are served at once.
    echo.envelope = vec![b'x'; 4 << 20];
    assert_eq!(
        report(echo.clone()).await,
        HookReport {
            stdout: echo.envelope,
            end: HookEnd::Exited(0)
        }
    );
    assert_eq!(report(ask("exit 3")).await.end, HookEnd::Exited(3));
    assert_eq!(report(ask("kill -9 $$")).await.end, HookEnd::Signalled(9));
}

#[tokio::test]
async fn h3_a_child_gets_the_captured_variables_and_no_others() {
    // Cargo set the second one for the process of the test, so that a child which inherits has it.
    let script = "printf %s \"$MARK,$CARGO_MANIFEST_DIR\"";
    let inherits = std::process::Command::new("/bin/sh")
        .args(["-c", script])
        .output();
    assert!(inherits.is_ok_and(|output| output.stdout.len() > 1));
    let mut question = ask(script);
    let vars = [("MARK", "m"), ("", "x"), ("A=B", "x"), ("C", "x\0")];
    let owned = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Arc::make_mut(&mut question.command).vars = Arc::new(owned.into());
    assert_eq!(report(question).await.stdout, b"m,");
}

#[tokio::test]
async fn h5_o11_a_missing_program_is_a_report() {
    let mut gone = ask("");
    Arc::make_mut(&mut gone.command).program = PathBuf::from("/nowhere/gortex");
    assert!(matches!(report(gone).await.end, HookEnd::SpawnFailed(_)));
}

#[tokio::test]
async fn h5_a_child_need_not_read_and_may_flood_stderr() {
    let mut deaf = ask("exec 0<&-; head -c 5000000 /dev/zero >&2; echo '{}'");
    deaf.envelope = vec![b'x'; 4 << 20];
    assert_eq!(
        report(deaf).await,
        HookReport {
            stdout: b"{}\n".to_vec(),
            end: HookEnd::Exited(0)
        }
    );
}

#[tokio::test]
async fn h5_too_much_output_ends_the_child() {
    let report = report(ask("exec head -c 100000000 /dev/zero")).await;
    assert_eq!(report.end, HookEnd::TooLarge);
}

#[tokio::test]
async fn o02_an_exit_ends_the_wait_though_a_grandchild_holds_stdout() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let mut before = 0;
    for round in 0..20 {
        let (line, wake) = (Lifeline::new(), Lifeline::new());
        let script = format!(
            "printf '{{\"block\":true}}'; cat 4>&1 >'{}' <'{}' & exit 0",
            line.path.display(),
            wake.path.display()
        );
        let (report, mut held) = tokio::join!(report(ask(&script)), line.opened());
        assert_eq!(
            report,
            HookReport {
                stdout: b"{\"block\":true}".to_vec(),
                end: HookEnd::Exited(0)
            }
        );
        // It was let be: it still answers, and ends when it is told to.
        let mut waker = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&wake.path)
            .expect("wake");
        waker.write_all(b"alive").expect("wake");
        let (answer, held) = blocking(move || {
            let mut answer = [0; 5];
            held.read_exact(&mut answer).map(|()| (answer, held))
        })
        .await
        .expect("an answer");
        assert_eq!(&answer, b"alive");
        drop(waker);
        closed(held).await;
        if round == 0 {
            before = descriptors();
        }
    }
    assert_eq!(descriptors(), before);
}

#[tokio::test]
async fn h3_a_child_that_takes_long_lets_the_next_be_started() {
    let turns = Turns::default();
    let (one, two) = (ChildHook::new(turns.clone()), ChildHook::new(turns));
    let line = Lifeline::new();
    let waits = ask(&line.holders());
    let end = waits.abort.clone();
    let first = tokio::spawn(one.ask(waits));
    let held = line.opened().await;
    assert_eq!(two.ask(ask("printf '{}'")).await.stdout, b"{}");
    end.cancel();
    assert_eq!(first.await.expect("a report").end, HookEnd::Aborted);
    closed(held).await;
}

#[tokio::test]
async fn h5_past_the_deadline_no_child_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("started");
    let mut late = ask(&format!(": > '{}'", mark.display()));
    late.deadline = Instant::now();
    assert_eq!(report(late).await.end, HookEnd::TimedOut);
    assert!(!mark.exists());
}

#[tokio::test]
async fn h5_a_time_out_kills_the_whole_group() {
    let line = Lifeline::new();
    let mut slow = ask(&format!("printf '{{\"block\":true}}'; {}", line.holders()));
    slow.deadline = Instant::now() + Duration::from_millis(400);
    let (report, held) = tokio::join!(report(slow), line.opened());
    assert_eq!(report.end, HookEnd::TimedOut);
    closed(held).await;
}

#[tokio::test]
async fn h4_an_abort_kills_the_whole_group_at_once() {
    let line = Lifeline::new();
    let question = ask(&line.holders());
    let abort = question.abort.clone();
    let answer = tokio::spawn(report(question));
    let held = line.opened().await;
    abort.cancel();
    assert_eq!(answer.await.expect("task").end, HookEnd::Aborted);
    closed(held).await;
}

#[tokio::test]
async fn o02_an_abort_after_the_exit_kills_nobody() {
    let (line, wake) = (Lifeline::new(), Lifeline::new());
    // The grandchild is of the same group and holds stdout, so that the wait goes on for the grace.
    let question = ask(&format!(
        "(read word <'{0}'; echo alive >&3) 3>'{1}' & echo $$ >'{1}'; exit 0",
        wake.path.display(),
        line.path.display()
    ));
    let abort = question.abort.clone();
    let answer = tokio::spawn(report(question));
    let held = line.opened().await;
    let (leader, mut held) = blocking(move || {
        let mut held = std::io::BufReader::new(held);
        let mut leader = String::new();
        std::io::BufRead::read_line(&mut held, &mut leader).map(|_| (leader, held))
    })
    .await
    .expect("the leader's id");
    let leader = Path::new("/proc").join(leader.trim());
    assert!(leader.file_name().is_some_and(|id| id != "proc"));
    // It is gone from there once it was waited for, and the grace has then only begun.
    while leader.exists() {
        tokio::task::yield_now().await;
    }
    abort.cancel();
    let end = answer.await.expect("task").end;
    assert!(
        matches!(end, HookEnd::Aborted | HookEnd::Exited(0)),
        "{end:?}"
    );
    let mut waker = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&wake.path)
        .expect("wake");
    waker.write_all(b"word\n").expect("wake");
    let last = blocking(move || {
        let mut last = String::new();
        held.read_to_string(&mut last).map(|_| last)
    })
    .await;
    assert_eq!(last.expect("line"), "alive\n");
}

#[tokio::test]
async fn h4_o10_an_abort_beforehand_starts_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mark: &Path = &folder.path().join("mark");
    let question = ask(&format!("touch '{}'", mark.display()));
    question.abort.cancel();
    assert_eq!(report(question).await.end, HookEnd::Aborted);
    assert!(!mark.exists());
}

#[tokio::test]
async fn h9_dropping_the_question_kills_the_whole_group() {
    let line = Lifeline::new();
    let answer = tokio::spawn(report(ask(&line.holders())));
    let held = line.opened().await;
    answer.abort();
    assert!(answer.await.is_err_and(|error| error.is_cancelled()));
    closed(held).await;
}

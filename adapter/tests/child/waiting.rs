//! A child that waits for its question (H8).

use std::sync::Arc;

use adapter::child::ChildHook;
use adapter::{HookAsk, HookEnd, HookPort, HookReport, ReadyHook};

use crate::asked::report;
use crate::children::children;
use crate::lifeline::{Lifeline, closed};
use crate::question::ask;

/// A child that waits for the question.
pub async fn ready(question: &HookAsk) -> Box<dyn ReadyHook> {
    let child = ChildHook::default().prepare(&question.command).await;
    child.expect("a child")
}

/// Puts the question to a child that waits, once it has done what `before` waits for.
async fn warm(script: &str, before: impl Future<Output = ()>) -> Result<HookReport, HookAsk> {
    let question = ask(script);
    let ready = ready(&question).await;
    before.await;
    ready.ask(question).await
}

#[tokio::test]
async fn h8_a_child_that_waits_reports_what_a_new_one_would() {
    let scripts = [
        "cat",
        "exit 3",
        "kill -9 $$",
        "read line; exec 0<&-; head -c 5000000 /dev/zero >&2; echo '{}'",
        "exec head -c 100000000 /dev/zero",
        "cat >/dev/null; printf '{\"block\":true}'; sleep 600 3>&1 & exit 0",
    ];
    for script in scripts {
        let mut question = ask(script);
        question.envelope = vec![b'x'; 4 << 20];
        let ready = ready(&question).await;
        let cold = report(question.clone()).await;
        match ready.ask(question).await {
            Ok(warm) if cold.end != HookEnd::TooLarge => assert_eq!(warm, cold, "{script}"),
            Ok(warm) => assert_eq!(warm.end, cold.end, "{script}"),
            // It did not wait for its question: that is what it is replaced for.
            Err(question) => assert_eq!(report(question).await.end, cold.end, "{script}"),
        }
    }
}

#[tokio::test]
async fn h8_a_child_that_waits_has_the_variables_and_the_folder_of_a_new_one() {
    let folder = tempfile::tempdir().expect("folder");
    let mut question = ask("cat >/dev/null; pwd -P; env");
    Arc::make_mut(&mut question.command).cwd = folder.path().canonicalize().expect("a folder");
    Arc::make_mut(&mut question.command).vars =
        Arc::new([("MARK".to_owned(), "m".to_owned())].into());
    let ready = ready(&question).await;
    let cold = report(question.clone()).await;
    assert!(String::from_utf8_lossy(&cold.stdout).contains("MARK=m"));
    assert_eq!(ready.ask(question).await.expect("a report"), cold);
}

/// Resolves once each child of this process has ended and waits to be waited for.
async fn all_ended() {
    while children().iter().any(|state| state != "Z") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn h8_a_child_that_has_ended_gives_the_question_back() {
    for script in ["exit 0", "exit 3", "printf '{}'", "kill -9 $$"] {
        let back = warm(script, all_ended()).await.expect_err(script);
        assert_eq!(back.envelope, b"{}");
    }
}

#[tokio::test]
async fn h8_a_child_that_has_ended_gives_the_question_back_though_a_grandchild_holds_its_pipes() {
    let line = Lifeline::new();
    let script = format!(
        "exec 3>'{}' 4<&0; sleep 600 <&4 & exit 0",
        line.path.display()
    );
    let question = ask(&script);
    let ready = ready(&question).await;
    let held = line.opened().await;
    all_ended().await;
    // The pipes still work: whoever holds them would take the question and never answer.
    assert!(ready.ask(question).await.is_err());
    closed(held).await;
}

#[tokio::test]
async fn h8_a_child_that_spoke_or_spoilt_a_pipe_gives_the_question_back() {
    let line = Lifeline::new();
    let path = line.path.display().to_string();
    // Each holds the line until it has done what spoils it.
    let spoilt = [
        format!("exec 3>'{path}'; printf '{{}}'; exec 3>&-; cat"),
        format!("exec 3>'{path}'; exec 0<&-; exec 3>&-; sleep 600"),
        format!("exec 3>'{path}'; exec 1>&-; exec 3>&-; cat"),
        // Its own stdin, filled to the brim, takes no byte of a question.
        format!(
            "exec 3>'{path}' 4<&0; dd if=/dev/zero of=/proc/self/fd/4 oflag=nonblock bs=4096 count=1000 2>&-; exec 3>&-; sleep 600"
        ),
    ];
    for script in spoilt {
        let done = async {
            closed(line.opened().await).await;
        };
        let back = warm(&script, done).await.expect_err(&script);
        assert_eq!(back.envelope, b"{}");
    }
}

#[tokio::test]
async fn h8_a_child_that_ends_without_an_answer_once_it_was_asked_is_a_report() {
    for (script, end) in [
        ("read line; exit 3", HookEnd::Exited(3)),
        ("read line; kill -9 $$", HookEnd::Signalled(9)),
    ] {
        let answer = warm(script, std::future::ready(()))
            .await
            .expect("a report");
        assert_eq!(answer.end, end);
    }
}

#[tokio::test]
async fn h8_h4_an_abort_ends_a_child_that_waited() {
    let line = Lifeline::new();
    let question = ask(&format!("read word; {}", line.holders()));
    let abort = question.abort.clone();
    let ready = ready(&question).await;
    let answer = tokio::spawn(ready.ask(question));
    let held = line.opened().await;
    abort.cancel();
    let report = answer.await.expect("task").expect("a report");
    assert_eq!(report.end, HookEnd::Aborted);
    closed(held).await;
}

#[test]
fn h8_h9_a_child_that_waits_is_let_go_on_a_thread_without_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("runtime");
    let line = Lifeline::new();
    let question = ask(&line.holders());
    let (ready, held) = runtime.block_on(async {
        let ready = ready(&question).await;
        (ready, line.opened().await)
    });
    drop(ready);
    runtime.block_on(closed(held));
}

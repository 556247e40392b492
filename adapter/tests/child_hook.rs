//! The hook as a real child process (H3-H5, H9, O02). On the real clock, since a paused one jumps while a child runs;
//! nothing here sleeps: a FIFO tells when a child is up and when the last of its group is gone.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adapter::child::{ChildHook, Turns};
use adapter::{HookAsk, HookCommand, HookEnd, HookPort, HookReport};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(30);

fn ask(script: &str) -> HookAsk {
    HookAsk {
        command: Arc::new(HookCommand {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            cwd: PathBuf::from("/"),
            vars: Arc::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into()),
        }),
        envelope: b"{}".to_vec(),
        deadline: Instant::now() + LONG,
        abort: CancellationToken::new(),
    }
}

async fn report(ask: HookAsk) -> HookReport {
    ChildHook::default().ask(ask).await
}

/// A FIFO that a whole process group holds open for writing, and the two moments that it tells.
struct Lifeline {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Lifeline {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("line");
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo");
        assert!(made.success());
        Self {
            _folder: folder,
            path,
        }
    }

    /// A child and a grandchild that hold the line and never end by themselves.
    fn holders(&self) -> String {
        format!("exec 3>'{}'; sleep 600 & sleep 600", self.path.display())
    }

    /// Resolves once a child has opened the line.
    async fn opened(&self) -> std::fs::File {
        let path = self.path.clone();
        blocking(move || std::fs::File::open(path).expect("line")).await
    }
}

/// Runs a job on a thread that a failed test does not wait for.
async fn blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || done.send(job()));
    tokio::time::timeout(LONG, answer)
        .await
        .expect("the job hangs")
        .expect("the job failed")
}

/// Resolves once nobody holds the line any more.
async fn closed(mut line: std::fs::File) {
    let rest = blocking(move || {
        let mut rest = Vec::new();
        line.read_to_end(&mut rest).map(|_| rest)
    });
    assert_eq!(rest.await.expect("line"), b"");
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

/// Puts the question to a child that waits, once it has done what `then` waits for.
async fn warm(script: &str, before: impl Future<Output = ()>) -> Result<HookReport, HookAsk> {
    let question = ask(script);
    let ready = ChildHook::default()
        .prepare(&question.command)
        .await
        .expect("a child");
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
        let ready = ChildHook::default()
            .prepare(&question.command)
            .await
            .expect("a child");
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
    let ready = ChildHook::default()
        .prepare(&question.command)
        .await
        .expect("a child");
    let cold = report(question.clone()).await;
    assert!(String::from_utf8_lossy(&cold.stdout).contains("MARK=m"));
    assert_eq!(ready.ask(question).await.expect("a report"), cold);
}

/// Resolves once each child of this process has ended and waits to be waited for. Each test has a process of its own.
async fn all_ended() {
    let own = std::process::id().to_string();
    let lives = || {
        let processes = std::fs::read_dir("/proc").expect("proc").flatten();
        let stats = processes.filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
        let mut states = stats.filter_map(|stat| {
            // The state and the parent stand behind the name, which may hold anything.
            let mut behind = stat.rsplit_once(')')?.1.split_whitespace();
            let state = behind.next()?.to_owned();
            (behind.next()? == own).then_some(state)
        });
        states.any(|state| state != "Z")
    };
    while lives() {
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
    let ready = ChildHook::default()
        .prepare(&question.command)
        .await
        .expect("a child");
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
    let ready = ChildHook::default()
        .prepare(&question.command)
        .await
        .expect("a child");
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
        let ready = ChildHook::default()
            .prepare(&question.command)
            .await
            .expect("a child");
        (ready, line.opened().await)
    });
    drop(ready);
    runtime.block_on(closed(held));
}

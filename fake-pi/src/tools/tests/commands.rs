//! `bash`: output, exit codes, and `sleep` on the simulation's clock (traces 01-batch-mixed-errors, 09-abort-bash).

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::bench::Bench;

#[tokio::test(start_paused = true)]
async fn output_and_exit_code_are_told() {
    let bench = Bench::new();
    let output = bench
        .run("bash", json!({"command": "echo hi; echo err >&2; pwd"}))
        .await
        .unwrap();
    let expected = format!(
        "hi\nerr\n{}\n",
        bench.path().canonicalize().unwrap().display()
    );
    assert_eq!(output.content, [json!({"type": "text", "text": expected})]);
    let structured =
        json!({"output": expected, "truncated": false, "exit_code": 0, "wall_time_seconds": 0});
    assert_eq!(output.structured_content, Some(structured));
    assert_eq!((output.details, output.is_error), (None, false));

    let failed = bench
        .run("bash", json!({"command": "echo x; exit 3"}))
        .await
        .unwrap();
    assert_eq!(
        failed.content[0]["text"],
        "x\n\n\nCommand exited with code 3"
    );
    assert!(failed.is_error);
    assert_eq!(failed.structured_content.unwrap()["exit_code"], 3);
    assert_eq!(
        bench.text("bash", json!({"command": "true"})).await,
        "(no output)"
    );
    let killed = bench
        .run("bash", json!({"command": "kill -9 $$"}))
        .await
        .unwrap();
    assert_eq!(
        killed.content[0]["text"],
        "(no output)\n\nCommand exited with code 137"
    );
    let unknown = bench
        .run("bash", json!({"command": "no-such-command"}))
        .await
        .unwrap();
    let text =
        "/bin/bash: line 1: no-such-command: command not found\n\n\nCommand exited with code 127";
    assert_eq!(unknown.content[0]["text"], text);
    assert_eq!(
        bench.text("bash", json!({"command": "cat"})).await,
        "(no output)",
        "standard input is empty"
    );
}

#[tokio::test(start_paused = true)]
async fn a_sleep_takes_virtual_time() {
    let bench = Bench::new();
    let started = Instant::now();
    let output = bench
        .run(
            "bash",
            json!({"command": "for i in 1 2; do sleep 0.2; done; echo one"}),
        )
        .await
        .unwrap();
    assert_eq!(output.content[0]["text"], "one\n");
    assert_eq!(started.elapsed(), Duration::from_millis(400));
    assert_eq!(output.structured_content.unwrap()["wall_time_seconds"], 0.4);
    // The function is there for scripts too, and the real program for what it does not know.
    let script =
        "printf 'sleep 60 && echo slept' > s; bash s; sleep --nonsense 2>/dev/null || echo refused";
    assert_eq!(
        bench.text("bash", json!({"command": script})).await,
        "slept\nrefused\n"
    );
    assert_eq!(started.elapsed(), Duration::from_millis(60_400));
}

#[tokio::test(start_paused = true)]
async fn a_sleeping_command_can_be_aborted() {
    let bench = Bench::new();
    let abort = CancellationToken::new();
    let (run, mut updates) = bench.start(
        "bash",
        json!({"command": "echo part; sleep 20; echo no"}),
        abort.clone(),
    );
    let run = tokio::spawn(run);
    sleep(Duration::from_secs(1)).await;
    abort.cancel();
    assert_eq!(
        run.await.unwrap().unwrap_err().0,
        "part\n\n\nCommand aborted"
    );
    assert_eq!(updates.recv().await, Some(json!({"content": []})));
    let part = json!({"content": [{"type": "text", "text": "part\n"}], "details": {}});
    assert_eq!(updates.recv().await, Some(part));
    assert_eq!(updates.recv().await, None);
    let late = bench
        .start("bash", json!({"command": "echo x"}), abort)
        .0
        .await;
    assert_eq!(late.unwrap_err().0, "Command aborted");
}

#[tokio::test(start_paused = true)]
async fn a_command_times_out_on_the_virtual_clock() {
    let bench = Bench::new();
    let started = Instant::now();
    let error = bench
        .error(
            "bash",
            json!({"command": "echo a; sleep 20", "timeout": 1.5}),
        )
        .await;
    assert_eq!(error, "a\n\n\nCommand timed out after 1.5 seconds");
    assert_eq!(started.elapsed(), Duration::from_millis(1500));
    let silent = bench
        .error("bash", json!({"command": "sleep 20", "timeout": 1}))
        .await;
    assert_eq!(silent, "Command timed out after 1 seconds");
}

#[tokio::test(start_paused = true)]
async fn updates_come_at_most_every_tenth_of_a_second() {
    let bench = Bench::new();
    let command = "for i in 1 2 3 4; do echo $i; sleep 0.06; done";
    let (run, mut updates) = bench.start(
        "bash",
        json!({"command": command}),
        CancellationToken::new(),
    );
    let started = Instant::now();
    let reader = tokio::spawn(async move {
        let mut seen: Vec<(u128, Value)> = Vec::new();
        while let Some(update) = updates.recv().await {
            seen.push((
                started.elapsed().as_millis(),
                update["content"][0]["text"].clone(),
            ));
        }
        seen
    });
    run.await.unwrap();
    let expected = [
        (0, Value::Null),
        (0, json!("1\n")),
        (100, json!("1\n2\n")),
        (200, json!("1\n2\n3\n4\n")),
    ];
    assert_eq!(reader.await.unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn long_output_is_cut_and_kept() {
    let bench = Bench::new();
    let output = bench
        .run("bash", json!({"command": "seq 3000"}))
        .await
        .unwrap();
    let details = output.details.unwrap();
    let file = details["fullOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 3000);
    let text = output.content[0]["text"].as_str().unwrap();
    assert!(text.starts_with("1001\n"));
    assert!(
        text.ends_with(&format!(
            "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output: {file}]"
        )),
        "{text}"
    );
    assert_eq!(details["truncation"]["truncatedBy"], "lines");
    let structured = output.structured_content.unwrap();
    assert_eq!(
        (
            &structured["truncated"],
            structured["output"].as_str().unwrap().len()
        ),
        (&json!(false), 13_893)
    );

    let one = bench
        .text(
            "bash",
            json!({"command": "head -c 60000 /dev/zero | tr '\\0' x"}),
        )
        .await;
    assert!(
        one.contains("\n\n[Showing last 50.0KB of line 1 (line is 58.6KB). Full output: "),
        "{}",
        &one[51_000..]
    );
    let bytes = bench
        .text("bash", json!({"command": "seq -f %060g 1500"}))
        .await;
    assert!(bytes.contains(" (50.0KB limit). Full output: "));

    let huge = bench
        .run(
            "bash",
            json!({"command": "head -c 2000000 /dev/zero | tr '\\0' x"}),
        )
        .await
        .unwrap();
    let structured = huge.structured_content.unwrap();
    assert_eq!(structured["truncated"], true);
    assert!(
        structured["output"]
            .as_str()
            .unwrap()
            .contains("x\n\n[... 951424 bytes omitted ...]\n\nx")
    );
    assert_eq!(
        structured["full_output_path"],
        huge.details.unwrap()["fullOutputPath"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_stays_behind_does_not_hold_the_command() {
    let bench = Bench::new();
    let started = Instant::now();
    let text = bench
        .text(
            "bash",
            json!({"command": "tail -f /dev/null & echo started; echo $! > pid"}),
        )
        .await;
    assert_eq!(text, "started\n");
    assert_eq!(started.elapsed(), Duration::ZERO);
    let pid: i32 = bench.read("pid").unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_leaves_nothing() {
    let bench = Bench::new();
    let (run, _updates) = bench.start(
        "bash",
        json!({"command": "echo $$ > pid; sleep 20"}),
        CancellationToken::new(),
    );
    tokio::select! {
        _ = run => panic!("it ended"),
        () = sleep(Duration::from_secs(1)) => {}
    }
    let pid: i32 = bench.read("pid").unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(
        rustix::process::test_kill_process(pid).is_err(),
        "it was killed and waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_folder_is_named() {
    let bench = Bench::new();
    let (path, abort) = (bench.path().to_owned(), CancellationToken::new());
    let (run, _updates) = bench.start("bash", json!({"command": "true"}), abort);
    drop(bench);
    let expected = format!(
        "Working directory does not exist: {}\nCannot execute bash commands.",
        path.display()
    );
    assert_eq!(run.await.unwrap_err().0, expected);
}

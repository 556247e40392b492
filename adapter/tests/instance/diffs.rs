//! Diffs of edits (E1-E6, O08, O11).

use std::sync::Arc;

use adapter::{HookEnd, Instance, UserBashFacts, Work, texts};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use crate::world::{World, result};

const EDIT: &str = "mcp__gortex__edit_file";

async fn begin(world: &World, instance: &Instance, id: &str, tool: &str, input: Value) {
    assert_eq!(instance.tool_call(world.call(id, tool, input)).await, None);
}

/// The details that a result is patched with, if any. Its text must be left alone.
async fn details(instance: &Instance, id: &str, failed: bool) -> Option<Value> {
    let mut done = result(id);
    done.is_error = failed;
    let patch = instance.tool_result(done).await?;
    assert_eq!(
        (&patch.content, &patch.structured_content, patch.is_error),
        (&None, &None, None)
    );
    patch.details
}

fn ready(world: &mut World) -> Arc<Instance> {
    world.set("GORTEX_ENFORCE", "0");
    world.ready()
}

#[tokio::test(start_paused = true)]
async fn e1_an_edit_gets_its_diff_in_details() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/src/a.rs", "one\ntwo\n");
    begin(
        &world,
        &instance,
        "c1",
        EDIT,
        json!({"path": "repo/src/a.rs"}),
    )
    .await;
    world.write("repo/src/a.rs", "one\n2\n");
    let patch = "--- repo/src/a.rs\n+++ repo/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    let diff = " 1 one\n-2 two\n+2 2";
    assert_eq!(
        details(&instance, "c1", false).await,
        Some(json!({
            "server": "gortex", "tool": "edit", "patch": patch, "diff": diff, "firstChangedLine": 2,
            "diffs": [{"path": "repo/src/a.rs", "diff": diff, "patch": patch, "firstChangedLine": 2}],
        }))
    );
    assert_eq!(world.writes.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn e1_new_and_deleted_files_are_diffed_against_nothing() {
    let mut world = World::new();
    let instance = ready(&mut world);
    let gone = world.write("repo/gone", "old\n");
    begin(
        &world,
        &instance,
        "c1",
        "mcp__gortex__batch_edit",
        json!({"edits": [{"path": "new"}, {"path": "gone"}]}),
    )
    .await;
    world.write("repo/new", "fresh\n");
    std::fs::remove_file(gone).expect("removed");
    let details = details(&instance, "c1", false).await.expect("details");
    assert_eq!(details["diffs"][0]["diff"], "+1 fresh");
    assert_eq!(details["diffs"][1]["diff"], "-1 old");
    assert_eq!(
        details["patch"],
        "--- new\n+++ new\n@@ -0,0 +1,1 @@\n+fresh\n--- gone\n+++ gone\n@@ -1,1 +0,0 @@\n-old\n"
    );
    assert_eq!(details.get("diff"), None);
}

#[tokio::test(start_paused = true)]
async fn e2_no_diff_of_unchanged_files_readers_and_failed_calls() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/a", "x\n");
    begin(&world, &instance, "c1", EDIT, json!({"path": "a"})).await;
    assert_eq!(details(&instance, "c1", false).await, None);
    begin(
        &world,
        &instance,
        "c2",
        "mcp__gortex__read",
        json!({"path": "a"}),
    )
    .await;
    begin(
        &world,
        &instance,
        "c3",
        EDIT,
        json!({"path": "a", "dry_run": true}),
    )
    .await;
    world.write("repo/a", "y\n");
    assert_eq!(details(&instance, "c2", false).await, None);
    assert_eq!(details(&instance, "c3", false).await, None);
    // O05: the server may have been lost after it wrote.
    begin(&world, &instance, "c4", EDIT, json!({"path": "a"})).await;
    world.write("repo/a", "z\n");
    let failed = details(&instance, "c4", true).await.expect("details");
    assert_eq!(
        failed["diffs"],
        json!([{"path": "a", "note": texts::NOTE_UNKNOWN}])
    );
    assert_eq!((failed.get("diff"), failed.get("patch")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn e3_o08_a_file_of_two_calls_gets_no_diff_in_either() {
    let mut world = World::new();
    let (one, two) = (ready(&mut world), world.instance());
    world.start(&two);
    world.write("repo/f", "50\n75\n");
    world.write("repo/g", "g\n");
    std::os::unix::fs::symlink("f", world.cwd().join("link")).expect("link");
    begin(&world, &one, "A", EDIT, json!({"path": "f"})).await;
    begin(&world, &two, "B", EDIT, json!({"path": "repo/link"})).await;
    begin(&world, &one, "C", EDIT, json!({"path": "g"})).await;
    world.write("repo/f", "FIFTY\nSEVENTY-FIVE\n");
    world.write("repo/g", "G\n");
    assert_eq!(details(&one, "A", false).await, None);
    assert_eq!(details(&two, "B", false).await, None);
    assert_eq!(
        details(&one, "C", false).await.expect("details")["diff"],
        "-1 g\n+1 G"
    );
    begin(&world, &one, "D", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "50\nSEVENTY-FIVE\n");
    assert_eq!(
        details(&one, "D", false).await.expect("details")["diff"],
        "-1 FIFTY\n+1 50\n 2 SEVENTY-FIVE"
    );
}

#[tokio::test(start_paused = true)]
async fn e3_a_file_is_not_taken_for_its_namesake_one_folder_up() {
    let mut world = World::new();
    let instance = ready(&mut world);
    for file in ["src/a.rs", "a.rs"] {
        world.write(&format!("repo/{file}"), "1\n");
        begin(&world, &instance, file, EDIT, json!({"path": file})).await;
    }
    world.write("repo/src/a.rs", "2\n");
    world.write("repo/a.rs", "3\n");
    for (file, diff) in [("src/a.rs", "-1 1\n+1 2"), ("a.rs", "-1 1\n+1 3")] {
        let shown = details(&instance, file, false).await.expect("details");
        assert_eq!(shown["diff"], diff, "{file}");
    }
    // An edit that changes nothing shows nothing, whatever becomes of the namesake.
    begin(&world, &instance, "c1", EDIT, json!({"path": "src/a.rs"})).await;
    world.write("repo/a.rs", "4\n");
    assert_eq!(details(&instance, "c1", false).await, None);
}

#[tokio::test(start_paused = true)]
async fn e4_a_call_whose_files_cannot_be_read_leaves_a_note_on_the_others() {
    let mut world = World::new();
    let instance = ready(&mut world);
    let unclear = [
        json!({"edits": "[{\"path\": \"f\""}),
        json!({"options": {"arguments": {"path": "f"}}}),
        json!({"path": "./".repeat(3000) + "f"}),
    ];
    for input in unclear {
        world.write("repo/f", "1\n");
        begin(&world, &instance, "A", "mcp__gortex__batch_edit", input).await;
        begin(&world, &instance, "B", EDIT, json!({"path": "f"})).await;
        world.write("repo/f", "2\n");
        assert_eq!(details(&instance, "A", false).await, None);
        assert_eq!(
            details(&instance, "B", false).await.expect("details")["diffs"],
            json!([{"path": "f", "note": texts::NOTE_ALONGSIDE}])
        );
    }
    // Only the boolean makes a dry run.
    world.write("repo/f", "1\n");
    let input = json!({"path": "f", "dry_run": "true"});
    begin(&world, &instance, "A", EDIT, input).await;
    world.write("repo/f", "2\n");
    let shown = details(&instance, "A", false).await.expect("details");
    assert_eq!(shown["diff"], "-1 1\n+1 2");
}

#[tokio::test(start_paused = true)]
async fn e3_pis_own_writers_count_and_get_no_diff_of_ours() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/f", "1\n");
    begin(
        &world,
        &instance,
        "A",
        "write",
        json!({"path": "@f", "content": ""}),
    )
    .await;
    begin(&world, &instance, "B", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "2\n");
    assert_eq!(details(&instance, "A", false).await, None);
    assert_eq!(details(&instance, "B", false).await, None);
}

#[tokio::test(start_paused = true)]
async fn e4_a_shell_command_alongside_leaves_a_note() {
    let mut world = World::new();
    let instance = ready(&mut world);
    for (first, second) in [("bash", EDIT), (EDIT, "bash")] {
        world.write("repo/f", "1\n");
        for (id, tool) in [("A", first), ("B", second)] {
            begin(
                &world,
                &instance,
                id,
                tool,
                json!({"path": "f", "command": "true"}),
            )
            .await;
        }
        world.write("repo/f", "2\n");
        let (shell, edit) = if first == "bash" {
            ("A", "B")
        } else {
            ("B", "A")
        };
        assert_eq!(details(&instance, shell, false).await, None);
        let details = details(&instance, edit, false).await.expect("details");
        assert_eq!(
            details["diffs"],
            json!([{"path": "f", "note": texts::NOTE_ALONGSIDE}])
        );
    }
}

/// Plays one edit of `a` in a run of its own, which begins when the session holds so many results of commands.
async fn run(world: &World, instance: &Instance, results: Option<usize>) -> Value {
    let mut turn = world.turn();
    turn.results = results;
    instance.before_agent_start(turn).await;
    let text = std::fs::read_to_string(world.cwd().join("a")).expect("a file");
    begin(world, instance, "c1", EDIT, json!({"path": "a"})).await;
    world.write("repo/a", format!("{text}more\n"));
    let details = details(instance, "c1", false).await.expect("details");
    instance.turn_end();
    instance.agent_settled();
    details["diffs"][0].clone()
}

fn persons_command(world: &World, results: Option<usize>) -> UserBashFacts {
    UserBashFacts {
        cwd: world.cwd(),
        results,
    }
}

#[tokio::test(start_paused = true)]
async fn e4_a_command_of_the_persons_own_leaves_a_note_until_its_result_is_there() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/a", "one\n");
    // While a call is in flight.
    begin(&world, &instance, "c1", EDIT, json!({"path": "a"})).await;
    instance.user_bash(&persons_command(&world, Some(7)));
    world.write("repo/a", "two\n");
    let note = json!({"path": "a", "note": texts::NOTE_ALONGSIDE});
    let shown = details(&instance, "c1", false).await.expect("details");
    assert_eq!(shown["diffs"], json!([note]));
    instance.turn_end();
    instance.agent_settled();
    // It still runs in the next run, and beside it a second one begins, of which no result is there by the third.
    assert_eq!(run(&world, &instance, Some(7)).await, note);
    instance.user_bash(&persons_command(&world, Some(7)));
    assert_eq!(run(&world, &instance, Some(8)).await, note);
    assert_eq!(run(&world, &instance, None).await, note);
    let shown = run(&world, &instance, Some(9)).await;
    assert!(shown["diff"].is_string(), "{shown}");
    // One that ended before a run began has no part in it.
    instance.user_bash(&persons_command(&world, Some(9)));
    let shown = run(&world, &instance, Some(10)).await;
    assert!(shown["diff"].is_string(), "{shown}");
    assert_eq!(world.writes.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn e4_e6_a_command_whose_end_nobody_tells_of_ends_with_the_session() {
    let mut world = World::new();
    let instance = ready(&mut world);
    world.write("repo/a", "one\n");
    instance.user_bash(&persons_command(&world, None));
    let note = json!({"path": "a", "note": texts::NOTE_ALONGSIDE});
    assert_eq!(run(&world, &instance, Some(9)).await, note);
    assert_eq!(world.writes.in_flight(), 1);
    instance.session_shutdown();
    assert_eq!(world.writes.in_flight(), 0);
    instance.user_bash(&persons_command(&world, Some(0)));
    assert_eq!(world.writes.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn e4_o11_what_cannot_be_read_costs_its_own_diff_only() {
    let mut world = World::new();
    let instance = ready(&mut world);
    for name in ["ok", "turned"] {
        world.write(&format!("repo/{name}"), "1\n");
    }
    world.write("repo/large", vec![b'x'; 1024 * 1024 + 1]);
    let paths =
        json!([{"path": "ok"}, {"path": "turned"}, {"path": "large"}, {"path": "nul\u{0}"}]);
    begin(
        &world,
        &instance,
        "c1",
        "mcp__gortex__batch_edit",
        json!({"edits": paths}),
    )
    .await;
    std::fs::remove_file(world.cwd().join("turned")).expect("removed");
    std::fs::create_dir(world.cwd().join("turned")).expect("folder");
    world.write("repo/large", "small\n");
    world.write("repo/ok", "2\n");
    let details = details(&instance, "c1", false).await.expect("details");
    let diffs = details["diffs"].as_array().expect("diffs");
    assert_eq!(diffs[0]["diff"], "-1 1\n+1 2");
    assert_eq!(
        diffs[1..],
        [json!({"path": "large", "note": texts::NOTE_LARGE})]
    );
    assert_eq!(world.logged("turned: text before"), 1);
}

#[tokio::test(start_paused = true)]
async fn e6_calls_that_never_ran_leave_nothing_behind() {
    let mut world = World::new();
    let instance = world.ready();
    world.write("repo/f", "1\n");
    world.hook.answer(&json!({"block": true, "reason": "R"}));
    assert!(
        instance
            .tool_call(world.call("blocked", EDIT, json!({"path": "f"})))
            .await
            .is_some()
    );
    assert_eq!(world.writes.in_flight(), 0);
    world.hook.answer_raw(
        Duration::ZERO,
        br#"{"additional_context":"G"}"#,
        HookEnd::Exited(0),
    );
    begin(&world, &instance, "aborted", EDIT, json!({"path": "f"})).await;
    begin(
        &world,
        &instance,
        "shell",
        "bash",
        json!({"command": "true"}),
    )
    .await;
    assert_eq!(world.writes.in_flight(), 2);
    instance.turn_end();
    assert_eq!(world.writes.in_flight(), 0);
    world.write("repo/f", "2\n");
    assert_eq!(instance.tool_result(result("aborted")).await, None);
    begin(&world, &instance, "late", EDIT, json!({"path": "f"})).await;
    instance.session_shutdown();
    assert_eq!(world.writes.in_flight(), 0);
}

/// Work that waits before it runs.
struct Late(Duration);

impl Work for Late {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        let delay = self.0;
        Box::pin(async move {
            sleep(delay).await;
            job();
        })
    }
}

#[tokio::test(start_paused = true)]
async fn e4_o09_work_that_comes_late_holds_nothing_up() {
    let mut world = World::new();
    let late = Duration::from_millis(499);
    world.work = Arc::new(Late(late));
    let instance = ready(&mut world);
    world.write("repo/f", "1\n");
    begin(&world, &instance, "c1", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "2\n");
    assert_eq!(
        details(&instance, "c1", false).await.expect("details")["diff"],
        "-1 1\n+1 2"
    );

    world.work = Arc::new(Late(Duration::from_secs(60)));
    let slow = ready(&mut world);
    let started = Instant::now();
    begin(&world, &slow, "c2", EDIT, json!({"path": "f"})).await;
    assert_eq!(started.elapsed(), Duration::from_millis(500));
    // What it writes is unknown, so another call's diff could mislead.
    begin(&world, &instance, "c3", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "3\n");
    assert_eq!(details(&slow, "c2", false).await, None);
    let note = json!([{"path": "f", "note": texts::NOTE_ALONGSIDE}]);
    assert_eq!(
        details(&instance, "c3", false).await.expect("details")["diffs"],
        note
    );
}

/// Work that is prompt at first and late from the second job on.
struct Tiring(std::sync::atomic::AtomicBool);

impl Work for Tiring {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        let tired = self.0.swap(true, std::sync::atomic::Ordering::SeqCst);
        Late(if tired {
            Duration::from_secs(60)
        } else {
            Duration::ZERO
        })
        .run(job)
    }
}

#[tokio::test(start_paused = true)]
async fn e4_o09_a_comparison_over_its_budget_leaves_a_note() {
    let mut world = World::new();
    world.work = Arc::new(Tiring(false.into()));
    let instance = ready(&mut world);
    world.write("repo/f", "1\n");
    begin(&world, &instance, "c1", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "2\n");
    let started = Instant::now();
    let details = details(&instance, "c1", false).await.expect("details");
    assert_eq!(started.elapsed(), Duration::from_millis(500));
    assert_eq!(
        details["diffs"],
        json!([{"path": "f", "note": texts::NOTE_COSTLY}])
    );
}

/// Work in whose middle the instance ends, as where the host's thread and the preflight's differ.
#[derive(Default)]
struct Ending(std::sync::Mutex<Option<Arc<Instance>>>);

impl Work for Ending {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        job();
        if let Some(instance) = self.0.lock().expect("lock").take() {
            instance.session_shutdown();
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn e6_a_preflight_that_shutdown_overtakes_leaves_nothing_behind() {
    let mut world = World::new();
    let ending = Arc::new(Ending::default());
    world.work = ending.clone();
    let instance = ready(&mut world);
    *ending.0.lock().expect("lock") = Some(Arc::clone(&instance));
    begin(&world, &instance, "c1", EDIT, json!({"path": "f"})).await;
    assert_eq!(world.writes.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn e4_a_late_call_claims_its_folder_where_links_lead() {
    let mut world = World::new();
    let instance = ready(&mut world);
    std::os::unix::fs::symlink("repo", world.folder.path().join("link")).expect("link");
    world.work = Arc::new(Late(Duration::from_secs(60)));
    let slow = world.instance();
    let mut session = world.session();
    session.cwd = world.folder.path().join("link");
    slow.session_start(&session, &mut |_| Ok(()));
    let mut call = world.call("c1", EDIT, json!({"path": "g"}));
    call.cwd = session.cwd;
    assert_eq!(slow.tool_call(call).await, None);
    world.write("repo/f", "1\n");
    begin(&world, &instance, "c2", EDIT, json!({"path": "f"})).await;
    world.write("repo/f", "2\n");
    assert_eq!(
        details(&instance, "c2", false).await.expect("details")["diffs"],
        json!([{"path": "f", "note": texts::NOTE_ALONGSIDE}])
    );
}

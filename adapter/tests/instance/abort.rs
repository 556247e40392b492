//! Aborts that come while a result is decorated (O10 c).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adapter::{ToolResultFacts, Work};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::hostile::Opened;
use crate::world::{World, result};

const MS: Duration = Duration::from_millis(1);

/// Runs the first job at once, and never ends the second: a comparison on a disk that hangs.
#[derive(Default)]
struct HangsAfterOne(AtomicBool);

impl Work for HangsAfterOne {
    fn run(&self, job: Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()> {
        if self.0.swap(true, Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        job();
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn o10_an_abort_during_a_comparison_settles_at_once_and_keeps_the_guidance() {
    let mut world = World::new();
    world.work = Arc::new(HangsAfterOne::default());
    let instance = world.ready();
    world.write("repo/f", "1\n");
    world.hook.answer(&json!({"additional_context": "GUIDE"}));
    let call = world.call("c1", "mcp__gortex__edit_file", json!({"path": "f"}));
    assert_eq!(instance.tool_call(call).await, None);
    world.write("repo/f", "2\n");

    let abort = CancellationToken::new();
    let facts = ToolResultFacts {
        abort: Some(abort.clone()),
        ..result("c1")
    };
    let started = Instant::now();
    let (patch, ()) = tokio::join!(instance.tool_result(facts), async {
        sleep(MS * 100).await;
        abort.cancel();
    });
    assert_eq!(started.elapsed(), MS * 100);
    let patch = patch.expect("the guidance");
    assert_eq!(patch.details, None, "no diff of a comparison that was cut");
    assert_eq!(
        patch.content.expect("content")[1],
        json!({"type": "text", "text": "GUIDE"})
    );
    // Nothing of it spoils the diff of a later call.
    assert_eq!(world.writes.in_flight(), 0);
}

type Job = Box<dyn FnOnce() + Send>;

/// Runs so many jobs at once, and keeps the others until it is told to run them.
#[derive(Default)]
struct Keeps {
    left: Mutex<usize>,
    kept: Mutex<Vec<Job>>,
}

impl Work for Keeps {
    fn run(&self, job: Job) -> BoxFuture<'static, ()> {
        let mut left = self.left.lock().expect("lock");
        if *left > 0 {
            *left -= 1;
            job();
            return Box::pin(std::future::ready(()));
        }
        self.kept.lock().expect("lock").push(job);
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn o10_e4_work_that_gets_its_thread_after_an_abort_opens_no_file() {
    // A call that is aborted before it runs, and one that is aborted at its result.
    for at_once in [0, 1] {
        let mut world = World::new();
        let work = Arc::new(Keeps {
            left: at_once.into(),
            ..Keeps::default()
        });
        world.work = work.clone();
        world.set("GORTEX_ENFORCE", "0");
        let instance = world.ready();
        world.write("repo/f", "1\n");
        let abort = CancellationToken::new();
        let mut call = world.call("c1", "mcp__gortex__edit_file", json!({"path": "f"}));
        call.abort = Some(abort.clone());
        let aborts = async {
            sleep(MS * 100).await;
            abort.cancel();
        };
        if at_once == 0 {
            tokio::join!(instance.tool_call(call), aborts);
        } else {
            assert_eq!(instance.tool_call(call).await, None);
            world.write("repo/f", "2\n");
            let facts = ToolResultFacts {
                abort: Some(abort.clone()),
                ..result("c1")
            };
            let (patch, ()) = tokio::join!(instance.tool_result(facts), aborts);
            assert_eq!(patch, None);
        }
        let kept = std::mem::take(&mut *work.kept.lock().expect("lock"));
        assert_eq!(kept.len(), 1);
        let cwd = world.cwd();
        let opened = Opened::watch(&[&cwd]);
        std::fs::File::open(cwd.join("f")).expect("the test's own look");
        assert_eq!(opened.names().len(), 1, "opening is seen");
        for job in kept {
            job();
        }
        assert_eq!(opened.names(), [].into(), "{at_once} jobs before it");
        assert_eq!(world.writes.in_flight(), 0);
    }
}

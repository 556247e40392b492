//! Aborts that come while a result is decorated (O10 c).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adapter::{ToolResultFacts, Work};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

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

//! Blocking work on the real host's threads (F1, E6).

use std::sync::mpsc;

use adapter::{ThreadWork, Work};

#[tokio::test]
async fn e6_a_job_that_blocks_does_not_block_the_runtime() {
    let (release, gate) = mpsc::channel::<()>();
    let blocked = ThreadWork.run(Box::new(move || gate.recv().expect("a release")));
    let freed = async { release.send(()).expect("a job that waits") };
    // One thread runs both, so the second gets its turn only if the first waits elsewhere.
    tokio::join!(blocked, freed);
}

#[tokio::test]
async fn f1_a_job_that_panics_is_lost_alone() {
    ThreadWork
        .run(Box::new(|| panic!("a job gone wrong")))
        .await;
}

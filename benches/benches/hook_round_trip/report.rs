//! What was measured, drawn by Criterion.

use std::time::Duration;

use criterion::{Criterion, SamplingMode};

use crate::table::Table;

/// Hands Criterion the times of each way, for its HTML report and its comparison with the run before. It cannot measure
/// itself: it finishes with one way before it begins with the next.
pub fn draw(table: &Table) {
    let mut criterion = Criterion::default().configure_from_args();
    for row in table.rows() {
        let times = row.samples.times();
        let all: f64 = times.iter().sum();
        let mut group = criterion.benchmark_group(row.child);
        group
            .sampling_mode(SamplingMode::Flat)
            .sample_size(times.len().max(10))
            .warm_up_time(Duration::from_nanos(1))
            .measurement_time(Duration::from_secs_f64(all / 1e6));
        let mut next = times.iter().cycle();
        group.bench_function(row.way, |bencher| {
            bencher.iter_custom(|iterations| {
                let time = next.next().copied().unwrap_or_default();
                #[expect(clippy::cast_precision_loss, reason = "one or two")]
                Duration::from_secs_f64(time / 1e6 * iterations as f64)
            });
        });
        group.finish();
    }
    criterion.final_summary();
}

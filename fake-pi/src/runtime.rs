//! The runtime of the simulation: one thread, a paused clock, seeded choices.

use tokio::runtime::{Builder, RngSeed, Runtime};

#[cfg(not(tokio_unstable))]
compile_error!(
    "fake-pi needs tokio's seeded runtime: build with RUSTFLAGS=\"--cfg tokio_unstable\" (the workspace's \
     .cargo/config.toml sets it; an own RUSTFLAGS variable replaces that file's flags and must repeat it)"
);

/// Builds the runtime in which a [`crate::Host`] plays: current thread, clock paused at its start, and every random
/// choice of tokio's own (the polling order of `select!`) drawn from `seed`.
///
/// # Errors
/// Whatever the operating system says when it refuses the runtime's driver.
pub fn runtime(seed: u64) -> std::io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .rng_seed(RngSeed::from_bytes(&seed.to_le_bytes()))
        .build()
}

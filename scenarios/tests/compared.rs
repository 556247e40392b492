//! What nextest shows at the end of a run, below all tests (`.config/nextest.toml`): that nothing was compared with the real
//! Pi, where it is so, and else nothing. The block at set-up is far above by then.
//!
//! It has a harness of its own, since the usual one writes lines of its own too.

use std::env;
use std::process::ExitCode;

use scenarios::setup;

const NAME: &str = "whether_anything_was_compared";

#[expect(
    clippy::print_stdout,
    reason = "a list of tests, and a comparison that was not made, must be said"
)]
fn main() -> ExitCode {
    let asked = |option: &str| env::args().any(|argument| argument == option);
    if asked("--list") {
        if !asked("--ignored") {
            println!("{NAME}: test");
        }
        return ExitCode::SUCCESS;
    }
    // A set-up that failed may have left an older addon.
    let missing = env::var(setup::REAL_PI_MISSING).ok();
    if missing.is_none() && setup::locate(setup::PINNED).is_some() {
        return ExitCode::SUCCESS;
    }
    let why = missing.unwrap_or_else(|| "`pi-bench setup` was not run".to_owned());
    println!(
        "NOTHING WAS COMPARED WITH THE REAL PI IN THIS RUN: {why}. `pi-bench doctor` says what is missing."
    );
    // Where it has to be there, not having it is a failure (bench.md, Tests).
    if env::var("CI").is_ok_and(|ci| ci == "true") {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

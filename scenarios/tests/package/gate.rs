//! Whether the real Pi is there for a test.

use std::env;

use scenarios::setup::{self, RealPi};

/// The real Pi, or `None` after saying loudly that a test could not be made.
///
/// # Panics
/// With `CI=true`, where it has to be there.
#[expect(clippy::print_stdout, reason = "a test that was not made must be said")]
pub fn real_pi() -> Option<RealPi> {
    // A set-up that failed may have left an older addon.
    let missing = env::var(setup::REAL_PI_MISSING).ok();
    let found = setup::locate(setup::PINNED).filter(|_| missing.is_none());
    if found.is_none() {
        let why = missing.unwrap_or_else(|| "`pi-bench setup` was not run".to_owned());
        assert!(
            !env::var("CI").is_ok_and(|ci| ci == "true"),
            "the real Pi is not there: {why}"
        );
        println!("NOT TRIED on the real Pi: {why}");
    }
    found
}

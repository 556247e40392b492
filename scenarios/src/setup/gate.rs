//! What the test command runs before the tests on the real Pi: it gets Pi, or says loudly why those tests cannot run.

use std::{
    env,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Progress, RealPi, SetupError};

/// Names the version in the environment of the tests: the real Pi is there.
pub const REAL_PI: &str = "PI_BENCH_REAL_PI";
/// Names the reason in the environment of the tests: the real Pi could not be had.
pub const REAL_PI_MISSING: &str = "PI_BENCH_REAL_PI_MISSING";

/// Makes the real Pi ready for the tests of a nextest run and tells them by the file that nextest names in
/// `NEXTEST_ENV`: `PI_BENCH_REAL_PI=<version>`, or `PI_BENCH_REAL_PI_MISSING=<reason>` when it could not be had. With
/// `CI=true` not having it is a failure (bench.md, Tests).
///
/// Returns the exit code: 0, 2 when this is no nextest setup script, 3 when the host could not be had and had to be.
#[must_use]
pub fn for_tests(version: &str, progress: &dyn Progress) -> u8 {
    let gate = Gate {
        nextest_env: env::var_os("NEXTEST_ENV")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from),
        must: env::var_os("CI").is_some_and(|ci| ci == "true"),
    };
    gate.run(
        || super::ensure(version, progress),
        &mut io::stderr().lock(),
    )
}

struct Gate {
    nextest_env: Option<PathBuf>,
    must: bool,
}

impl Gate {
    fn run(&self, ensure: impl FnOnce() -> Result<RealPi, SetupError>, say: &mut dyn Write) -> u8 {
        let Some(path) = &self.nextest_env else {
            let _ = writeln!(
                say,
                "--for-tests is for nextest's setup scripts: NEXTEST_ENV is not set"
            );
            return 2;
        };
        let line = match ensure() {
            Ok(pi) => format!("{REAL_PI}={}", pi.version),
            Err(error) => {
                announce(&error, self.must, say);
                // An interrupted run does not go on without its tests.
                if self.must || matches!(error, SetupError::Interrupted) {
                    return 3;
                }
                format!("{REAL_PI_MISSING}={}", one_line(&error.to_string()))
            }
        };
        match append(path, &line) {
            Ok(()) => 0,
            Err(error) => {
                let _ = writeln!(say, "cannot write {}: {error}", path.display());
                2
            }
        }
    }
}

/// Loud on purpose: a run that compared nothing with the real Pi must not look like one that did.
fn announce(error: &SetupError, must: bool, say: &mut dyn Write) {
    let bar = "!".repeat(80);
    let verdict = if must {
        "CI=true, so this is a failure."
    } else {
        "NOTHING IS COMPARED WITH THE REAL PI IN THIS RUN."
    };
    let tail = error
        .tail()
        .map(|tail| format!("{tail}\n"))
        .unwrap_or_default();
    let _ = write!(
        say,
        "{bar}\nThe real Pi could not be had: {error}\n{tail}Remedy: {}\n{verdict}\n{bar}\n",
        error.remedy()
    );
}

/// nextest reads one `KEY=value` a line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    writeln!(
        File::options().append(true).create(true).open(path)?,
        "{line}"
    )
}

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
/// `NEXTEST_ENV`: `PI_BENCH_REAL_PI=<version>`, or `PI_BENCH_REAL_PI_MISSING=<reason>` when this machine cannot have it. With
/// `CI=true` not having it is a failure (bench.md, Tests), and an addon that does not build is one anywhere.
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
                let fails = self.must || !excused(&error);
                announce(&error, fails, say);
                if fails {
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

/// Whether a run may go on without the real Pi: where the machine cannot get it. That the project's own addon does not
/// build is a fault of the project, which no other test would show; and an interrupted run is to end.
fn excused(error: &SetupError) -> bool {
    !matches!(
        error,
        SetupError::BuildFailed { .. }
            | SetupError::ArtifactMissing { .. }
            | SetupError::PackageMissing { .. }
            | SetupError::Interrupted
    )
}

/// Loud on purpose: a run that compared nothing with the real Pi must not look like one that did.
fn announce(error: &SetupError, fails: bool, say: &mut dyn Write) {
    let bar = "!".repeat(80);
    let verdict = if fails {
        "This is a failure."
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn unreachable() -> Result<RealPi, SetupError> {
        let tail = "npm error code ENOTFOUND".to_owned();
        Err(SetupError::NpmUnreachable {
            code: "ENOTFOUND".to_owned(),
            tail,
        })
    }

    fn present() -> Result<RealPi, SetupError> {
        let none = PathBuf::new();
        Ok(RealPi {
            version: "1.6.0".to_owned(),
            node: none.clone(),
            cli: none.clone(),
            folder: none.clone(),
            package: none.clone(),
            gortex: none,
        })
    }

    /// The exit code, what nextest would read, and what a person would.
    fn played(
        must: bool,
        ensure: impl FnOnce() -> Result<RealPi, SetupError>,
    ) -> (u8, String, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("env");
        let mut said = Vec::new();
        let code = Gate {
            nextest_env: Some(path.clone()),
            must,
        }
        .run(ensure, &mut said);
        let said = String::from_utf8(said).expect("text");
        (code, fs::read_to_string(path).unwrap_or_default(), said)
    }

    #[test]
    fn the_tests_learn_which_pi_is_there() {
        for must in [false, true] {
            let expected = (0, "PI_BENCH_REAL_PI=1.6.0\n".to_owned(), String::new());
            assert_eq!(played(must, present), expected);
        }
    }

    #[test]
    fn without_pi_the_tests_learn_why_and_a_person_cannot_miss_it() {
        let (code, env, said) = played(false, unreachable);
        assert_eq!(code, 0);
        assert_eq!(
            env,
            "PI_BENCH_REAL_PI_MISSING=npm could not reach its registry (ENOTFOUND)\n"
        );
        for part in [
            "NOTHING IS COMPARED",
            "npm error code ENOTFOUND",
            "Remedy: check the network",
        ] {
            assert!(said.contains(part), "{part:?} in {said}");
        }
    }

    #[test]
    fn where_pi_must_be_there_not_having_it_fails() {
        let (code, env, said) = played(true, unreachable);
        assert_eq!((code, env.as_str()), (3, ""));
        assert!(said.contains("This is a failure"), "{said}");
    }

    #[test]
    fn what_is_not_the_machines_fault_fails_everywhere() {
        let (status, tail) = ("exit status: 101".to_owned(), "error[E0308]".to_owned());
        let (code, env, said) = played(false, || Err(SetupError::BuildFailed { status, tail }));
        assert_eq!((code, env.as_str()), (3, ""));
        assert!(
            said.contains("error[E0308]") && !said.contains("NOTHING IS COMPARED"),
            "{said}"
        );
        let (code, env, _) = played(false, || Err(SetupError::Interrupted));
        assert_eq!((code, env.as_str()), (3, ""));
    }

    #[test]
    fn a_reason_cannot_add_a_line_of_its_own() {
        let why = "x\nPATH=/tmp\u{1b}".to_owned();
        let (_, env, _) = played(false, || Err(SetupError::InstallBroken { why }));
        assert_eq!(env.lines().count(), 1, "{env:?}");
    }

    #[test]
    fn outside_of_nextest_nothing_is_set_up() {
        let gate = Gate {
            nextest_env: None,
            must: false,
        };
        assert_eq!(gate.run(|| panic!("not asked for"), &mut Vec::new()), 2);
    }
}

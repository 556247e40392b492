//! npm, and what its failures mean.

use std::{ffi::OsString, path::Path, process::Command, time::Duration};

use crate::interrupt::Interrupt;

use super::{
    SetupError,
    child::{self, Ended, Failed, tail_of},
    layout::PI_PACKAGE,
    version::PiVersion,
};

/// npm's own retries end well within this; a slow line needs minutes for the 250 MB.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// Codes with which npm says that it had no usable connection: the system's, Node's, and those for a cache-only run and
/// for certificates that the machine does not know.
const UNREACHABLE: &[&str] = &[
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "ETIMEDOUT",
    "ESOCKETTIMEDOUT",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "EPROTO",
    "ERR_SOCKET_TIMEOUT",
    "ENOTCACHED",
    "E502",
    "E503",
    "E504",
    "CERT_HAS_EXPIRED",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/// The npm that installs.
#[derive(Debug, Clone)]
pub(super) struct Npm {
    /// The program; a bare name is looked for on `PATH`.
    pub program: OsString,
}

impl Default for Npm {
    fn default() -> Self {
        Self {
            program: "npm".into(),
        }
    }
}

impl Npm {
    /// Installs what the `package.json` in `folder` names: by the lock file beside it, to the byte, for a version that
    /// has one; as the registry resolves it today for any other. What npm's cache holds, from another version's
    /// installation perhaps, is not asked for again.
    ///
    /// No package's script runs: npm would run a stranger's code as this user, and nothing here needs it.
    ///
    /// # Errors
    /// Every way in which npm can fail, see [`SetupError`].
    pub fn install(
        &self,
        folder: &Path,
        version: &PiVersion,
        interrupt: &Interrupt,
    ) -> Result<(), SetupError> {
        let mut command = Command::new(&self.program);
        if version.locked().is_some() {
            command.arg("ci");
        } else {
            command.args(["install", "--no-package-lock"]);
        }
        command.args([
            "--prefer-offline",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
        ]);
        // Pi asks for a newer Node than may run npm here; it gets its own.
        command.args([
            "--no-engine-strict",
            "--no-progress",
            "--no-color",
            "--loglevel=error",
        ]);
        // By default a machine without network learns of it after more than a minute.
        command.args([
            "--fetch-retry-mintimeout=1000",
            "--fetch-retry-maxtimeout=5000",
        ]);
        command.current_dir(folder);
        let ended = self.run(&mut command, interrupt)?;
        if ended.status.success() {
            return Ok(());
        }
        Err(classify(
            &format!("{}\n{}", ended.stdout, ended.stderr),
            &ended.status.to_string(),
            version,
        ))
    }

    /// Packs the package in `folder` into an archive in `to`, named by npm. Returns the archive's name.
    ///
    /// # Errors
    /// Where npm is missing, fails or says no name.
    pub fn pack(
        &self,
        folder: &Path,
        to: &Path,
        interrupt: &Interrupt,
    ) -> Result<String, SetupError> {
        let mut command = Command::new(&self.program);
        command
            .args(["pack", "--ignore-scripts", "--json", "--loglevel=error"])
            .args(["--no-update-notifier", "--pack-destination"])
            .arg(to)
            .current_dir(folder);
        let ended = self.run(&mut command, interrupt)?;
        let said: Option<serde_json::Value> = serde_json::from_str(&ended.stdout).ok();
        let name = said.as_ref().and_then(|said| {
            // One entry for each package: a list, an object by name since npm 12.
            let entry = said.get(0).or_else(|| said.as_object()?.values().next())?;
            entry.get("filename")?.as_str()
        });
        match name.filter(|_| ended.status.success()) {
            Some(name) => Ok(name.to_owned()),
            None => Err(SetupError::NpmFailed {
                status: ended.status.to_string(),
                tail: ended.tail(),
            }),
        }
    }

    fn run(&self, command: &mut Command, interrupt: &Interrupt) -> Result<Ended, SetupError> {
        child::run(command, LIMIT, interrupt).map_err(|failed| match failed {
            Failed::Missing => SetupError::NpmMissing,
            Failed::Io(source) => SetupError::Io {
                action: "run",
                path: (&self.program).into(),
                source,
            },
            Failed::TimedOut => SetupError::TimedOut {
                what: "npm",
                seconds: LIMIT.as_secs(),
            },
            Failed::Interrupted => SetupError::Interrupted,
        })
    }
}

/// What npm's output says about why it failed.
fn classify(output: &str, status: &str, version: &PiVersion) -> SetupError {
    let tail = tail_of(output);
    let Some(code) = code_of(output) else {
        return SetupError::NpmFailed {
            status: status.to_owned(),
            tail,
        };
    };
    if UNREACHABLE.contains(&code) {
        return SetupError::NpmUnreachable {
            code: code.to_owned(),
            tail,
        };
    }
    if matches!(code, "ETARGET" | "E404") && names_pi(output, version) {
        return SetupError::NoSuchVersion {
            version: version.to_string(),
        };
    }
    SetupError::NpmFailed {
        status: format!("{code}, {status}"),
        tail,
    }
}

/// The code of the line `npm error code …` (`npm ERR! code …` before npm 10).
fn code_of(output: &str) -> Option<&str> {
    output.lines().find_map(|line| {
        let rest = line
            .strip_prefix("npm error code ")
            .or_else(|| line.strip_prefix("npm ERR! code "))?;
        let code = rest.trim();
        let plain = !code.is_empty()
            && code.len() <= 40
            && code.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        plain.then_some(code)
    })
}

/// Whether the failure is about Pi itself: the same codes are used when one of its dependencies is gone.
fn names_pi(output: &str, version: &PiVersion) -> bool {
    let asked = format!("{PI_PACKAGE}@{version}");
    let encoded = PI_PACKAGE.replace('/', "%2f");
    output
        .lines()
        .filter(|line| line.starts_with("npm "))
        .any(|line| {
            line.split_whitespace().any(|word| {
                let word = word.trim_matches(|c: char| matches!(c, '\'' | '"' | '.' | ','));
                word == asked || word.to_ascii_lowercase().ends_with(&encoded)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What npm 11.19 wrote about a version that no one published.
    const NO_TARGET: &str = "npm error code ETARGET
npm error notarget No matching version found for @earendil-works/pi-coding-agent@9.9.9.
npm error notarget In most cases you or one of your dependencies are requesting a package version that doesn't exist.
npm error A complete log of this run can be found in: /home/p/.npm/_logs/x-debug-0.log
";

    /// The same about a package that no one published, its registry's name replaced.
    const NOT_FOUND: &str = "npm error code E404
npm error 404 Not Found - GET https://registry.example/@earendil-works%2fPACKAGE
npm error 404
npm error 404  The requested resource '@earendil-works/PACKAGE@1.0.0' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
";

    /// The same with its registry at a closed port, in part.
    const REFUSED: &str = "npm warn EBADENGINE   package: 'undici@8.12.4',
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/yaml failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm error If you are behind a proxy, please make sure that the 'proxy' config is set properly.  See: 'npm help config'
";

    fn classified(output: &str, asked: &str) -> SetupError {
        let version = PiVersion::parse(asked).expect("a version");
        classify(output, "exit status: 1", &version)
    }

    #[test]
    fn a_version_that_is_not_there_is_told_from_a_registry_that_is_not() {
        let gone = classified(NO_TARGET, "9.9.9");
        assert_eq!(gone.to_string(), "the npm registry has no Pi 9.9.9");
        let nowhere = classified(REFUSED, "9.9.9");
        assert_eq!(
            nowhere.to_string(),
            "npm could not reach its registry (ECONNREFUSED)"
        );
        assert_ne!(gone.remedy(), nowhere.remedy());
        let tail = nowhere.tail().expect("a tail");
        assert!(tail.contains("connect ECONNREFUSED 127.0.0.1:9"), "{tail}");
    }

    #[test]
    fn a_package_that_is_not_there_is_a_missing_version_only_if_it_is_pi() {
        let pi = classified(&NOT_FOUND.replace("PACKAGE", "pi-coding-agent"), "1.0.0");
        assert!(matches!(pi, SetupError::NoSuchVersion { .. }), "{pi:?}");
        let other = classified(
            &NOT_FOUND.replace("PACKAGE", "pi-coding-agent-nope"),
            "1.0.0",
        );
        assert_eq!(other.to_string(), "npm failed (E404, exit status: 1)");
        let dependency = NO_TARGET.replace("pi-coding-agent@9.9.9", "pi-ai@9.9.9");
        assert!(matches!(
            classified(&dependency, "9.9.9"),
            SetupError::NpmFailed { .. }
        ));
        // 9.9.90 begins with what was asked for, and is something else.
        let longer = NO_TARGET.replace("@9.9.9.", "@9.9.90.");
        assert!(matches!(
            classified(&longer, "9.9.9"),
            SetupError::NpmFailed { .. }
        ));
    }

    #[test]
    fn every_way_to_have_no_network_is_seen_also_in_the_older_words() {
        for code in [
            "ENOTFOUND",
            "EAI_AGAIN",
            "ETIMEDOUT",
            "ENOTCACHED",
            "E503",
            "CERT_HAS_EXPIRED",
        ] {
            for prefix in ["npm error", "npm ERR!"] {
                let output = format!("{prefix} code {code}\n{prefix} network something\n");
                let error = classified(&output, "1.6.0");
                assert!(
                    matches!(error, SetupError::NpmUnreachable { .. }),
                    "{output}{error:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_shown_bounded_and_tame() {
        let error = classified("", "1.6.0");
        assert_eq!(error.to_string(), "npm failed (exit status: 1)");
        let line = format!(
            "npm error code \u{1b}[2J\nnpm error {}\n",
            "x".repeat(100_000)
        );
        let error = classified(&line.repeat(50), "1.6.0");
        let tail = error.tail().expect("a tail");
        assert!(
            tail.len() < 20_000 && !tail.contains('\u{1b}'),
            "{} bytes",
            tail.len()
        );
        assert_eq!(error.to_string(), "npm failed (exit status: 1)");
    }
}

//! npm, and what its failures mean.

use std::{ffi::OsString, path::Path, process::Command, time::Duration};

use super::{
    SetupError,
    child::{self, Failed, tail_of},
    interrupt::Interrupt,
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
    /// Installs what the `package.json` in `folder` names: by the lock file beside it, to the byte, for the pinned
    /// version; as the registry resolves it today for any other.
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
        if version.is_pinned() {
            command.args(["ci", "--prefer-offline"]);
        } else {
            command.args(["install", "--no-package-lock"]);
        }
        command.args([
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
            "--loglevel=warn",
        ]);
        command.current_dir(folder);
        let ended = child::run(&mut command, LIMIT, interrupt).map_err(|failed| match failed {
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
        })?;
        if ended.status.success() {
            return Ok(());
        }
        Err(classify(
            &format!("{}\n{}", ended.stdout, ended.stderr),
            &ended.status.to_string(),
            version,
        ))
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

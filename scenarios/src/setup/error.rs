//! Why the real Pi could not be had, in one line, and what to do about it.

use std::{io, path::PathBuf};

/// A reason why `setup` gave up. Each reads as one line; [`SetupError::tail`] has what the child said, and
/// [`SetupError::remedy`] what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The version asked for is no plain semantic version; nothing was run.
    #[error("`{given}` is not a version of Pi")]
    VersionInvalid {
        /// What was asked for, cut to a length that fits a line.
        given: String,
    },
    /// The pinned Node and the addon exist for Linux on x86-64 with glibc only.
    #[error("the real Pi is set up for linux-x64 (glibc) only, this is {platform}")]
    NodeUnsupportedPlatform {
        /// The platform that runs, as `os-arch`.
        platform: String,
    },
    /// There is no `npm` on `PATH`.
    #[error("npm was not found on PATH")]
    NpmMissing,
    /// npm could not talk to its registry.
    #[error("npm could not reach its registry ({code})")]
    NpmUnreachable {
        /// npm's own code, such as `ECONNREFUSED`.
        code: String,
        /// The last lines of npm's output.
        tail: String,
    },
    /// The registry answered, and has no such version of Pi.
    #[error("the npm registry has no Pi {version}")]
    NoSuchVersion {
        /// The version asked for.
        version: String,
    },
    /// npm failed for another reason.
    #[error("npm failed ({status})")]
    NpmFailed {
        /// How npm ended, with its code where it gave one.
        status: String,
        /// The last lines of npm's output.
        tail: String,
    },
    /// npm was content, but what it installed is not what was asked for or does not run.
    #[error("what npm installed cannot be used: {why}")]
    InstallBroken {
        /// The check that failed.
        why: String,
    },
    /// There is no `cargo` to build the addon with.
    #[error("cargo was not found")]
    CargoMissing,
    /// cargo could not build the addon or the scripted daemon.
    #[error("the addon and fake-gortex could not be built ({status})")]
    BuildFailed {
        /// How cargo ended.
        status: String,
        /// The last lines of cargo's output.
        tail: String,
    },
    /// cargo was content, but a file that it should have made is absent.
    #[error("the build left no `{}`", path.display())]
    ArtifactMissing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// The extension's own package is not in the checkout.
    #[error("the checkout has no `{}`", path.display())]
    PackageMissing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// Another process is installing, and did not end in time.
    #[error("another setup holds `{}`", lock.display())]
    Busy {
        /// The lock file.
        lock: PathBuf,
    },
    /// A child ran for longer than it may; it was killed.
    #[error("{what} took longer than {seconds} s and was stopped")]
    TimedOut {
        /// The child.
        what: &'static str,
        /// Its limit.
        seconds: u64,
    },
    /// The person pressed Ctrl-C, or the process was asked to end.
    #[error("setup was interrupted; nothing half-made was left")]
    Interrupted,
    /// A file or a child could not be handled.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SetupError {
    /// What a person can do about it, as one line.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::VersionInvalid { .. } => "give a full version such as 1.6.0",
            Self::NodeUnsupportedPlatform { .. } => {
                "run the cases on the simulated host, or use a Linux x86-64 machine or container"
            }
            Self::NpmMissing => "install Node.js (any version with npm), then run `pi-bench setup`",
            Self::NpmUnreachable { .. } => {
                "check the network and `npm config get registry`, then run `pi-bench setup`"
            }
            Self::NoSuchVersion { .. } => {
                "see `npm view @earendil-works/pi-coding-agent versions` for those that exist"
            }
            Self::NpmFailed { .. } => "see npm's lines above; then run `pi-bench setup` again",
            Self::InstallBroken { .. } => {
                "remove the version's folder in `.real-pi/` and run `pi-bench setup` again"
            }
            Self::CargoMissing => "install Rust (https://rustup.rs), then run `pi-bench setup`",
            Self::BuildFailed { .. } => "run `cargo build --workspace` and mend what it reports",
            Self::ArtifactMissing { .. } => {
                "check that cargo's `build.target` and target folder are not redirected"
            }
            Self::PackageMissing { .. } => "restore `adapter/package` from version control",
            Self::Busy { .. } => "wait for the other setup, or end it, then try again",
            Self::TimedOut { .. } => "check the network and the machine's load, then try again",
            Self::Interrupted => "run `pi-bench setup` again when ready",
            Self::Io { .. } => "check the file's permissions and the free space",
        }
    }

    /// The last lines that the failing child wrote, where there are any. Control characters are already removed.
    #[must_use]
    pub fn tail(&self) -> Option<&str> {
        match self {
            Self::NpmUnreachable { tail, .. }
            | Self::NpmFailed { tail, .. }
            | Self::BuildFailed { tail, .. } => Some(tail),
            _ => None,
        }
    }

    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

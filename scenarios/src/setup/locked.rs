//! The versions of Pi whose manifests and lock files are in the repository: each is installed to the byte.
//!
//! To take up another one, write its `package.json` into a folder of its own under `real-pi/versions/`, let
//! `npm install --package-lock-only --ignore-scripts` with `omit-lockfile-registry-resolved=true` lock it there, take
//! the members `funding` out, which are addresses, and add it here.

use super::version::PINNED;

/// What npm is given for one version.
#[derive(Debug)]
pub(super) struct Locked {
    /// The version of Pi.
    pub version: &'static str,
    /// Its `package.json`; where it overrides what Pi asks for, its member `//` says why.
    pub manifest: &'static str,
    /// Its `package-lock.json`.
    pub lock: &'static str,
}

macro_rules! locked {
    ($version:literal) => {
        Locked {
            version: $version,
            manifest: include_str!(concat!(
                "../../real-pi/versions/",
                $version,
                "/package.json"
            )),
            lock: include_str!(concat!(
                "../../real-pi/versions/",
                $version,
                "/package-lock.json"
            )),
        }
    };
}

/// The pinned version's, from which the manifest of a version without a lock is made too.
pub(super) const PINNED_FILES: Locked = Locked {
    version: PINNED,
    manifest: include_str!("../../real-pi/package.json"),
    lock: include_str!("../../real-pi/package-lock.json"),
};

/// All of them, the oldest first.
pub(super) const LOCKED: &[Locked] = &[
    locked!("1.0.3"),
    locked!("1.3.0"),
    locked!("1.4.0"),
    locked!("1.5.2"),
    PINNED_FILES,
];

//! The real Pi, got from npm, with the addon and the scripted daemon that it is played with.
//!
//! [`ensure`] makes everything ready, [`locate`] only looks, [`doctor`] says what is there, and [`for_tests`] is what
//! the test command runs first. Children are bounded in time and output, and end with all that they started when setup
//! ends, also by Ctrl-C.

mod build;
mod child;
mod doctor;
mod error;
mod gate;
mod install;
mod layout;
mod locked;
mod npm;
mod pack;
mod progress;
mod version;

use std::{
    env::consts::{ARCH, OS},
    path::PathBuf,
};

pub use doctor::{Finding, doctor};
pub use error::SetupError;
pub use gate::{REAL_PI, REAL_PI_MISSING, for_tests};
pub use pack::{Archives, pack, packed_addon};
pub use progress::{Lines, Progress, Silent, Spinner, on_stderr};
pub use version::PINNED;

use crate::interrupt::Interrupt;
use layout::Layout;
use npm::Npm;
use version::PiVersion;

/// A real Pi that is ready to be played on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPi {
    /// Pi's version.
    pub version: String,
    /// The Node that runs it.
    pub node: PathBuf,
    /// Pi's command line, a script for `node`.
    pub cli: PathBuf,
    /// The folder that holds this version and nothing else.
    pub folder: PathBuf,
    /// The extension's package with the addon in place, as Pi is told to load it.
    pub package: PathBuf,
    /// The scripted daemon. It is called `fake-gortex`; whoever wants it found on `PATH` links to it as `gortex`.
    pub gortex: PathBuf,
}

impl RealPi {
    fn of(layout: &Layout, version: &PiVersion) -> Self {
        let folder = layout.installed(version);
        Self {
            version: version.to_string(),
            node: layout::node_in(&folder),
            cli: layout::cli_in(&folder),
            package: layout.package(),
            gortex: layout.gortex(),
            folder,
        }
    }

    /// The module that Pi's package exports: what a program imports that embeds Pi.
    #[must_use]
    pub fn entry(&self) -> PathBuf {
        layout::package_in(&self.folder, layout::PI_PACKAGE).join("dist/index.js")
    }
}

/// Makes the real Pi `version` ready: installs it into `.real-pi/<version>` of the workspace when it is absent or
/// flawed, builds the addon and the scripted daemon in the running program's own profile, and puts the addon in place.
/// When all is there this takes as long as cargo needs to see that nothing changed. Blocks.
///
/// # Errors
/// [`SetupError`] says what is missing; nothing half-made is left. After [`SetupError::Interrupted`] the caller ought
/// to end the process: the signal that asked for it was consumed.
pub fn ensure(version: &str, progress: &dyn Progress) -> Result<RealPi, SetupError> {
    let version = PiVersion::parse(version)?;
    let layout = make_ready(std::slice::from_ref(&version), progress)?;
    Ok(RealPi::of(&layout, &version))
}

/// [`ensure`] for several versions, in their order: one is installed after the other, so that npm's cache has for the
/// later ones what they share, and the addon is built once.
///
/// # Errors
/// As [`ensure`]; versions that were installed before the one that failed stay.
pub fn ensure_all(versions: &[String], progress: &dyn Progress) -> Result<Vec<RealPi>, SetupError> {
    let versions = versions
        .iter()
        .map(|version| PiVersion::parse(version))
        .collect::<Result<Vec<_>, _>>()?;
    let layout = make_ready(&versions, progress)?;
    let pi = |version| RealPi::of(&layout, version);
    Ok(versions.iter().map(pi).collect())
}

fn make_ready(versions: &[PiVersion], progress: &dyn Progress) -> Result<Layout, SetupError> {
    platform()?;
    let layout = Layout::of_checkout();
    let interrupt = Interrupt::watch().map_err(SetupError::io("watch", "signals"))?;
    for version in versions {
        install::ensure(&layout, &Npm::default(), version, progress, &interrupt)?;
    }
    build::ensure(&layout, progress, &interrupt)?;
    Ok(layout)
}

/// Installs the real Pi `version` as [`ensure`] does, and builds nothing: enough where only Pi's own code is asked.
///
/// # Errors
/// As of [`ensure`].
pub fn install(version: &str, progress: &dyn Progress) -> Result<RealPi, SetupError> {
    let version = PiVersion::parse(version)?;
    platform()?;
    let layout = Layout::of_checkout();
    let interrupt = Interrupt::watch().map_err(SetupError::io("watch", "signals"))?;
    install::ensure(&layout, &Npm::default(), &version, progress, &interrupt)?;
    Ok(RealPi::of(&layout, &version))
}

/// The real Pi `version` if all of it is already there; installs and builds nothing, and runs no program. Whether the
/// addon and the daemon are newer than their sources is not looked at.
#[must_use]
pub fn locate(version: &str) -> Option<RealPi> {
    let version = PiVersion::parse(version).ok()?;
    platform().ok()?;
    located(&Layout::of_checkout(), &version)
}

fn located(layout: &Layout, version: &PiVersion) -> Option<RealPi> {
    let pi = RealPi::of(layout, version);
    let whole = install::flaw(&pi.folder, version).is_none()
        && layout.addon().is_file()
        && pi.gortex.is_file()
        && pi.package.join("package.json").is_file();
    whole.then_some(pi)
}

/// The pinned Node and the addon's name are for one platform.
fn platform() -> Result<(), SetupError> {
    if cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        Ok(())
    } else {
        Err(SetupError::NodeUnsupportedPlatform {
            platform: format!("{OS}-{ARCH}"),
        })
    }
}

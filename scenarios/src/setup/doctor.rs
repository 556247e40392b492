//! What is there of the real Pi and what is missing, found out without changing anything.

use std::{ffi::OsStr, path::Path, process::Command, time::Duration};

use crate::interrupt::Interrupt;

use super::{
    SetupError, build,
    child::{self, Failed},
    install,
    layout::{self, Layout},
    platform,
    version::PiVersion,
};

/// A program that does not say its version by then is not usable.
const LIMIT: Duration = Duration::from_secs(20);

/// One thing that the real Pi needs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What was looked at: `platform`, `npm`, `node`, `pi`, `cargo`, `addon` or `fake-gortex`.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found, as one line.
    pub detail: String,
    /// What to do when it is not as it should be, as one line.
    pub remedy: Option<String>,
}

/// Looks at everything that [`super::ensure`] would need for `version`, in the order in which it would need it.
///
/// # Errors
/// [`SetupError::VersionInvalid`]; or when the process cannot watch for Ctrl-C.
pub fn doctor(version: &str) -> Result<Vec<Finding>, SetupError> {
    let version = PiVersion::parse(version)?;
    let interrupt = Interrupt::watch().map_err(SetupError::io("watch", "signals"))?;
    Ok(examine(
        &Layout::of_checkout(),
        OsStr::new("npm"),
        &version,
        &interrupt,
    ))
}

fn examine(
    layout: &Layout,
    npm: &OsStr,
    version: &PiVersion,
    interrupt: &Interrupt,
) -> Vec<Finding> {
    let folder = layout.installed(version);
    vec![
        finding(
            "platform",
            platform()
                .map(|()| "linux-x64 (glibc)".to_owned())
                .map_err(|error| (error.to_string(), error.remedy())),
        ),
        program("npm", npm, SetupError::NpmMissing.remedy(), interrupt),
        if layout::node_in(&folder).is_file() {
            program(
                "node",
                layout::node_in(&folder).as_os_str(),
                AGAIN,
                interrupt,
            )
        } else {
            finding(
                "node",
                Err((format!("not installed for Pi {version}"), AGAIN)),
            )
        },
        finding(
            "pi",
            match install::flaw(&folder, version) {
                None => Ok(version.to_string()),
                Some(flaw) => Err((format!("{version}: {flaw}"), AGAIN)),
            },
        ),
        program(
            "cargo",
            &build::cargo(),
            SetupError::CargoMissing.remedy(),
            interrupt,
        ),
        finding("addon", addon(layout)),
        finding("fake-gortex", present(&layout.gortex())),
    ]
}

/// What mends most of it.
const AGAIN: &str = "run `pi-bench setup`";

type Found = Result<String, (String, &'static str)>;

fn finding(name: &'static str, found: Found) -> Finding {
    match found {
        Ok(detail) => Finding {
            name,
            ok: true,
            detail,
            remedy: None,
        },
        Err((detail, remedy)) => Finding {
            name,
            ok: false,
            detail,
            remedy: Some(remedy.to_owned()),
        },
    }
}

/// A program that says its version.
fn program(
    name: &'static str,
    program: &OsStr,
    remedy: &'static str,
    interrupt: &Interrupt,
) -> Finding {
    let found = match child::run(Command::new(program).arg("--version"), LIMIT, interrupt) {
        Ok(ended) if ended.status.success() => Ok(child::tail_of(&ended.stdout)
            .lines()
            .next()
            .unwrap_or("says no version")
            .to_owned()),
        Ok(ended) => Err((format!("fails ({})", ended.status), remedy)),
        Err(Failed::Missing) => Err(("not found".to_owned(), remedy)),
        Err(Failed::Io(error)) => Err((format!("cannot be started: {error}"), remedy)),
        Err(Failed::TimedOut) => Err((format!("says nothing for {} s", LIMIT.as_secs()), remedy)),
        Err(Failed::Interrupted) => Err((
            "not looked at, for setup was interrupted".to_owned(),
            remedy,
        )),
    };
    finding(name, found)
}

/// Present and the one that was built last; whether that is up to date only cargo can tell, and it would build.
fn addon(layout: &Layout) -> Found {
    let placed = present(&layout.addon())?;
    match build::same(&layout.built_addon(), &layout.addon()) {
        Ok(true) => Ok(placed),
        Ok(false) => Err((format!("{placed} is not the one built last"), AGAIN)),
        Err(_) => Err((
            format!("{placed} is there, but none is built in this profile"),
            AGAIN,
        )),
    }
}

fn present(path: &Path) -> Found {
    let shown = path.display().to_string();
    if path.is_file() {
        Ok(shown)
    } else {
        Err((format!("{shown} is missing"), AGAIN))
    }
}

//! One version of Pi, installed as a whole or not at all.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::interrupt::Interrupt;

use super::{
    Progress, SetupError,
    child::{self, Failed},
    layout::{self, Layout, NODE_PACKAGE, PI_PACKAGE},
    locked::PINNED_FILES,
    npm::Npm,
    version::PiVersion,
};

/// A folder whose name begins so is being made, or was left by a process that was killed.
const PARTIAL: &str = ".partial-";
/// The longest wait for another process that installs: npm's own limit and something for its checks.
const BUSY_LIMIT: Duration = Duration::from_secs(20 * 60);
const BUSY_LOOK: Duration = Duration::from_millis(100);
/// Node and Pi say their versions within a second or two.
const CHECK_LIMIT: Duration = Duration::from_secs(60);
/// A `package.json` larger than this is none.
const MANIFEST_LIMIT: u64 = 1024 * 1024;

/// Installs `version` unless it is there already. Returns its folder.
pub(super) fn ensure(
    layout: &Layout,
    npm: &Npm,
    version: &PiVersion,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PathBuf, SetupError> {
    let folder = layout.installed(version);
    if flaw(&folder, version).is_none() {
        return Ok(folder);
    }
    let store = layout.store();
    fs::create_dir_all(&store).map_err(SetupError::io("create", &store))?;
    let _held = hold(&store.join("lock"), progress, interrupt)?;
    // Another process may have done the work while this one waited.
    if flaw(&folder, version).is_none() {
        return Ok(folder);
    }
    sweep(&store);
    let partial = begin(&store, version)?;
    write(
        &partial.path().join("package.json"),
        &manifest_for(version)?,
    )?;
    if let Some(locked) = version.locked() {
        write(&partial.path().join("package-lock.json"), locked.lock)?;
    }
    progress.step(&format!("installing Pi {version} and its Node with npm"));
    npm.install(partial.path(), version, interrupt)?;
    progress.step(&format!("trying Pi {version}"));
    try_out(partial.path(), version, interrupt)?;
    publish(partial, &store, version)?;
    Ok(folder)
}

/// What is wrong with an installed folder, or `None`. Reads three small files and runs nothing.
pub(super) fn flaw(folder: &Path, version: &PiVersion) -> Option<String> {
    if !folder.is_dir() {
        return Some("not installed".to_owned());
    }
    let node = wanted_node();
    for (package, wanted) in [
        (PI_PACKAGE, version.as_str()),
        (NODE_PACKAGE, node.as_str()),
    ] {
        match installed_version(&layout::package_in(folder, package)) {
            Some(found) if found == wanted => {}
            Some(found) => return Some(format!("{package} is {found}, not {wanted}")),
            None => return Some(format!("{package} is missing")),
        }
    }
    for file in [layout::cli_in(folder), layout::node_in(folder)] {
        if !file.is_file() {
            return Some(format!("{} is missing", file.display()));
        }
    }
    // The lock says more than two versions: after it was changed, what it locks is installed anew.
    let stale = version.locked().is_some_and(|locked| {
        read(&folder.join("package-lock.json")).as_deref() != Some(locked.lock)
    });
    stale.then(|| "installed by another lock file".to_owned())
}

/// The version's own manifest, else the pinned one with Pi's version replaced: every version runs on the same Node.
fn manifest_for(version: &PiVersion) -> Result<String, SetupError> {
    let broken = || SetupError::InstallBroken {
        why: "the pinned package.json is not as expected".to_owned(),
    };
    if let Some(locked) = version.locked() {
        return Ok(locked.manifest.to_owned());
    }
    let mut manifest: Value = serde_json::from_str(PINNED_FILES.manifest).map_err(|_| broken())?;
    let entry = manifest
        .pointer_mut("/dependencies")
        .and_then(|all| all.get_mut(PI_PACKAGE))
        .ok_or_else(broken)?;
    *entry = Value::from(version.as_str());
    serde_json::to_string_pretty(&manifest).map_err(|_| broken())
}

/// The version of Node that the manifest pins.
pub(super) fn wanted_node() -> String {
    let manifest: Value = serde_json::from_str(PINNED_FILES.manifest).unwrap_or_default();
    manifest["dependencies"][NODE_PACKAGE]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn installed_version(package: &Path) -> Option<String> {
    let manifest: Value = serde_json::from_str(&read(&package.join("package.json"))?).ok()?;
    Some(manifest.get("version")?.as_str()?.to_owned())
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= MANIFEST_LIMIT)
        .then(|| fs::read_to_string(path).ok())?
}

fn write(path: &Path, text: &str) -> Result<(), SetupError> {
    fs::write(path, text).map_err(SetupError::io("write", path))
}

/// Waits for the lock that lets one process at a time install. It goes with the process, however that ends.
fn hold(path: &Path, progress: &dyn Progress, interrupt: &Interrupt) -> Result<File, SetupError> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(SetupError::io("open", path))?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(SetupError::io("lock", path)(source)),
        }
        if waited.is_zero() {
            progress.step("waiting for another setup to end");
        }
        if interrupt.arrived() {
            return Err(SetupError::Interrupted);
        }
        if waited >= BUSY_LIMIT {
            return Err(SetupError::Busy {
                lock: path.to_owned(),
            });
        }
        thread::sleep(BUSY_LOOK);
        waited += BUSY_LOOK;
    }
}

/// Removes what killed processes left. Only the holder of the lock may, for it knows that no setup is making any of it;
/// what an orphaned npm still writes into is left to the next.
fn sweep(store: &Path) {
    for entry in fs::read_dir(store).into_iter().flatten().flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PARTIAL.as_bytes())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Runs what was installed once, so that a broken download shows here and not in the middle of a case.
fn try_out(folder: &Path, version: &PiVersion, interrupt: &Interrupt) -> Result<(), SetupError> {
    if let Some(why) = flaw(folder, version) {
        return Err(SetupError::InstallBroken { why });
    }
    // Pi keeps files below HOME as it starts; those of the person who runs this are not its business.
    let home = folder.join(".trial");
    fs::create_dir(&home).map_err(SetupError::io("create", &home))?;
    let node = layout::node_in(folder);
    let said = said_version(
        Command::new(&node)
            .env_clear()
            .arg("--version")
            .current_dir(&home),
        interrupt,
    )?;
    let wanted = format!("v{}", wanted_node());
    if said != wanted {
        return Err(SetupError::InstallBroken {
            why: format!("Node says {said:?}, not {wanted:?}"),
        });
    }
    let mut pi = Command::new(&node);
    pi.env_clear()
        .env("HOME", &home)
        .arg(layout::cli_in(folder))
        .arg("--version")
        .current_dir(&home);
    let said = said_version(&mut pi, interrupt)?;
    if said != version.as_str() {
        return Err(SetupError::InstallBroken {
            why: format!("Pi says {said:?}, not {version}"),
        });
    }
    fs::remove_dir_all(&home).map_err(SetupError::io("remove", &home))
}

fn said_version(command: &mut Command, interrupt: &Interrupt) -> Result<String, SetupError> {
    let ended = child::run(command, CHECK_LIMIT, interrupt).map_err(|failed| match failed {
        Failed::Missing => SetupError::InstallBroken {
            why: "Node cannot be started".to_owned(),
        },
        Failed::Io(source) => SetupError::InstallBroken {
            why: format!("Node cannot be started: {source}"),
        },
        Failed::TimedOut => SetupError::TimedOut {
            what: "the trial",
            seconds: CHECK_LIMIT.as_secs(),
        },
        Failed::Interrupted => SetupError::Interrupted,
    })?;
    if !ended.status.success() {
        let tail = ended.tail();
        let first = tail.lines().next().unwrap_or("no output");
        return Err(SetupError::InstallBroken {
            why: format!("{}: {first}", ended.status),
        });
    }
    Ok(child::tail_of(&ended.stdout))
}

/// A fresh folder to install into, beside the place where it is to stand. Dropped, it is removed. Its name is like no
/// other's: an npm whose setup was killed may go on for a while, and must not write into what another setup makes.
fn begin(store: &Path, version: &PiVersion) -> Result<TempDir, SetupError> {
    tempfile::Builder::new()
        .prefix(&format!("{PARTIAL}{version}-"))
        .permissions(Permissions::from_mode(0o755))
        .tempdir_in(store)
        .map_err(SetupError::io("create a folder in", store))
}

/// Puts the folder in its place in one step. A flawed one that stands there is moved aside first.
fn publish(partial: TempDir, store: &Path, version: &PiVersion) -> Result<(), SetupError> {
    let place = store.join(version.as_str());
    let aside = begin(store, version)?;
    match fs::rename(&place, aside.path().join("old")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(SetupError::io("replace", &place)(error));
        }
        _ => {}
    }
    fs::rename(partial.path(), &place).map_err(SetupError::io("put in place", &place))?;
    // The name that it would remove is gone.
    let _ = partial.keep();
    Ok(())
}

#[cfg(test)]
mod tests;

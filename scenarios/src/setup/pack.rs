//! The extension's archives, as `npm pack` makes them.
//!
//! One archive holds everything for this platform: Pi installs it from its path, and nothing is fetched or built. For a
//! registry the native part is a package of its own, which npm takes only where its platform fits: `registry/` gets that
//! package, and the extension without the native part, with the other as its optional dependency.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::interrupt::Interrupt;

use super::{Progress, SetupError, build, layout::Layout, npm::Npm, platform};

/// The platform that is packed, in napi's words.
const TRIPLE: &str = "linux-x64-gnu";
/// The profile of a packed addon: optimised as a whole, and stripped.
const PROFILE: &str = "ship";

/// The archives of one call.
#[derive(Debug, Clone)]
pub struct Archives {
    /// The extension with the native part of this platform.
    pub whole: PathBuf,
    /// The extension without it, for a registry.
    pub entry: PathBuf,
    /// The native part of this platform, for a registry.
    pub native: PathBuf,
}

/// Builds the addon small and packs the extension into `to`, which is created. Blocks.
///
/// # Errors
/// [`SetupError`], as of a setup that fails.
pub fn pack(to: &Path, progress: &dyn Progress) -> Result<Archives, SetupError> {
    platform()?;
    let layout = Layout::of_checkout();
    let interrupt = Interrupt::watch().map_err(SetupError::io("watch", "signals"))?;
    let registry = env::current_dir()
        .map_err(SetupError::io("find", "."))?
        .join(to)
        .join("registry");
    fs::create_dir_all(&registry).map_err(SetupError::io("create", &registry))?;
    let to = registry.parent().unwrap_or(&registry).to_owned();
    let addon = build_addon(&layout, progress, &interrupt)?;
    progress.step("packing");
    let stage = tempfile::tempdir().map_err(SetupError::io("create", "a folder"))?;
    let packed = |name: &str, manifest: &Value, native: bool, entry: bool, to: &Path| {
        let folder = stage.path().join(name);
        stage_package(
            &layout,
            &folder,
            manifest,
            native.then_some(addon.as_path()),
            entry,
        )?;
        let archive = Npm::default().pack(&folder, to, &interrupt)?;
        Ok(to.join(archive))
    };
    let manifest = manifest(&layout)?;
    Ok(Archives {
        whole: packed("whole", &manifest, true, true, &to)?,
        entry: packed("entry", &entry_manifest(&manifest), false, true, &registry)?,
        native: packed(
            "native",
            &native_manifest(&manifest),
            true,
            false,
            &registry,
        )?,
    })
}

/// Builds the addon as it is packed, and answers where it lies, under the name that the package looks for. Blocks.
///
/// # Errors
/// [`SetupError`], as of a setup that fails.
pub fn packed_addon(progress: &dyn Progress) -> Result<PathBuf, SetupError> {
    platform()?;
    let interrupt = Interrupt::watch().map_err(SetupError::io("watch", "signals"))?;
    build_addon(&Layout::of_checkout(), progress, &interrupt)
}

fn build_addon(
    layout: &Layout,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PathBuf, SetupError> {
    progress.step("building the addon");
    // Named alone, or cargo would not optimise across crates: the rlib that it builds besides cannot be.
    let what = [
        "rustc",
        "-p",
        "adapter-node",
        "--lib",
        "--crate-type",
        "cdylib",
        "--profile",
        PROFILE,
    ];
    build::run_cargo(layout, &what, interrupt)?;
    let built = layout.target.join(PROFILE).join("libadapter_node.so");
    let addon = built.with_file_name(addon_name());
    build::place(&built, &addon)?;
    Ok(addon)
}

fn manifest(layout: &Layout) -> Result<Value, SetupError> {
    let path = layout.package().join("package.json");
    let text = fs::read_to_string(&path).map_err(SetupError::io("read", &path))?;
    serde_json::from_str(&text).map_err(|error| SetupError::Io {
        action: "read",
        path,
        source: error.into(),
    })
}

/// The name of the native part's package.
fn native_name() -> String {
    format!("@gortex-pi/addon-{TRIPLE}")
}

/// The extension's manifest for a registry. The dependency is not in the checkout's own: npm would look for a package
/// that a registry need not have, or has of someone else.
fn entry_manifest(manifest: &Value) -> Value {
    let mut entry = manifest.clone();
    entry["optionalDependencies"] = json!({ native_name(): manifest["version"] });
    entry
}

fn native_manifest(manifest: &Value) -> Value {
    let file = addon_name();
    json!({
        "name": native_name(),
        "version": manifest["version"],
        "description": format!("The native part of {} for {TRIPLE}", manifest["name"].as_str().unwrap_or_default()),
        "license": manifest["license"],
        "repository": manifest["repository"],
        "engines": manifest["engines"],
        "os": ["linux"],
        "cpu": ["x64"],
        "libc": ["glibc"],
        "main": file,
        "files": [file, "LICENSE-*"],
    })
}

fn addon_name() -> String {
    format!("gortex-pi.{TRIPLE}.node")
}

/// Lays out what npm packs. What of it goes into the archive is said by `files` of the manifest.
fn stage_package(
    layout: &Layout,
    folder: &Path,
    manifest: &Value,
    native: Option<&Path>,
    entry: bool,
) -> Result<(), SetupError> {
    let copy = |from: &Path, name: &str| {
        fs::copy(from, folder.join(name))
            .map(drop)
            .map_err(SetupError::io("copy", from))
    };
    fs::create_dir(folder).map_err(SetupError::io("create", folder))?;
    let path = folder.join("package.json");
    fs::write(&path, format!("{manifest:#}\n")).map_err(SetupError::io("write", &path))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&layout.root.join(licence), licence)?;
    }
    if let Some(addon) = native {
        copy(addon, &addon_name())?;
    }
    if entry {
        let package = layout.package();
        let files = fs::read_dir(&package).map_err(SetupError::io("read", &package))?;
        for path in files.flatten().map(|file| file.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".ts") || name == "README.md" {
                copy(&path, &name)?;
            }
        }
    }
    Ok(())
}

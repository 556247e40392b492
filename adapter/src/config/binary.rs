//! Finding the Gortex executable (C8).

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::{Environment, texts};

/// Resolves the configured name or path, or `gortex` where none is, to the absolute path of an executable file.
///
/// # Errors
///
/// Why there is none, for the model.
pub(super) fn resolve(
    environment: &Environment,
    cwd: &Path,
    configured: Option<&str>,
) -> Result<PathBuf, String> {
    let name = configured.unwrap_or("gortex");
    let found = if name.contains('/') {
        environment
            .expand(name)
            .map(|path| cwd.join(path))
            .filter(|path| is_executable(path))
    } else {
        // A relative entry would mean another program in each folder, one from a cloned repository included.
        std::env::split_paths(environment.var("PATH").unwrap_or_default())
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|path| is_executable(path))
    };
    let there = || {
        let path = environment.expand(name).map(|path| cwd.join(path));
        name.contains('/') && path.is_some_and(|path| path.exists())
    };
    found
        .filter(|path| path.is_absolute())
        .ok_or_else(|| texts::no_binary(name, there()))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file()) && access(path, Access::EXEC_OK).is_ok()
}

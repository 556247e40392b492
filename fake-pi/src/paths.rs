//! Paths as text, which is how Node resolves them.

use std::path::{Component, Path, PathBuf};

/// The path without `.` and `..`, by its text alone; no link is followed.
pub(crate) fn normalised(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

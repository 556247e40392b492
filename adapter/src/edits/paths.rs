//! Where a name that a call gave may lie on disk.

use std::path::{Component, Path, PathBuf};

/// The places that a name given to Gortex may mean, likeliest first: below `cwd` as it stands, and without its first
/// segment, which may be the repository's name.
///
/// Both are watched, and the one that changed is the file; a guess made beforehand could be wrong for a new file.
pub(super) fn graph_places(cwd: &Path, name: &str) -> Vec<PathBuf> {
    let mut places = vec![cwd.join(name)];
    let mut segments = Path::new(name).components();
    if let Some(Component::Normal(_)) = segments.next() {
        let rest = segments.as_path();
        if rest.file_name().is_some() {
            places.push(cwd.join(rest));
        }
    }
    places
}

/// The place that Pi's own `edit` and `write` take a name for: a leading `@` is dropped and `~` expanded.
pub(super) fn pi_place(cwd: &Path, home: Option<&Path>, name: &str) -> PathBuf {
    let name = name.strip_prefix('@').unwrap_or(name);
    match (name.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e1_a_repository_prefix_is_tried_both_ways() {
        let cwd = Path::new("/w/repo");
        let places = |name| graph_places(cwd, name);
        assert_eq!(
            places("repo/a.rs"),
            [
                PathBuf::from("/w/repo/repo/a.rs"),
                PathBuf::from("/w/repo/a.rs")
            ]
        );
        assert_eq!(places("a.rs"), [PathBuf::from("/w/repo/a.rs")]);
        assert_eq!(places("/x/a.rs"), [PathBuf::from("/x/a.rs")]);
        assert_eq!(places("../a.rs"), [PathBuf::from("/w/repo/../a.rs")]);
    }

    #[test]
    fn e3_pis_own_spelling_of_a_path_is_understood() {
        let home = Some(Path::new("/home/u"));
        assert_eq!(
            pi_place(Path::new("/w"), home, "@a.rs"),
            PathBuf::from("/w/a.rs")
        );
        assert_eq!(
            pi_place(Path::new("/w"), home, "~/a.rs"),
            PathBuf::from("/home/u/a.rs")
        );
    }
}

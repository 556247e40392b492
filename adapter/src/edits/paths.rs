//! Where a name that a call gave may lie on disk.

use std::path::{Component, Path, PathBuf};

/// Folders above the session's that are looked into for the git root.
const MAX_ABOVE: usize = 64;

/// The places that a name given to Gortex may mean, likeliest first: below `cwd` as it stands and, where it begins with
/// the repository's name, below the folder of that name (wire.md). Looks at the file system.
///
/// A name that is there as it stands means that file and no other. Where it is not, both places are watched: a guess
/// made beforehand could be wrong for a new file. So they are where a name goes up: whether Gortex strikes out the
/// segment before `..`, as Pi does, or lets links lead is not known.
pub(super) fn graph_places(cwd: &Path, name: &str) -> Vec<PathBuf> {
    let plain = cwd.join(name);
    let mut places = Vec::new();
    if plain.symlink_metadata().is_err() {
        places.extend(below_repository(cwd, name));
    }
    if goes_up(&plain) {
        places.insert(0, cleaned(&plain));
    }
    places.insert(0, plain);
    places
}

fn goes_up(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// A path without `.` and `..`, by its text alone: what stands before `..` need not exist and may be a link.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// The place of a name whose first segment is the repository's.
fn below_repository(cwd: &Path, name: &str) -> Option<PathBuf> {
    let mut segments = Path::new(name).components();
    let Some(Component::Normal(first)) = segments.next() else {
        return None;
    };
    let rest = segments.as_path();
    rest.file_name()?;
    let is_first = |folder: &&Path| folder.file_name() == Some(first);
    let folder = Some(cwd)
        .filter(is_first)
        .or_else(|| git_root(cwd).filter(is_first))?;
    Some(folder.join(rest))
}

/// The nearest folder, from `cwd` upwards, that git keeps its data in. In a worktree that is a file.
fn git_root(cwd: &Path) -> Option<&Path> {
    cwd.ancestors()
        .take(MAX_ABOVE)
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// The place that Pi's own `edit` and `write` take a name for, as Pi 1.6.0 does: odd spaces are plain ones, a leading
/// `@` is dropped, `~` expanded, and `..` taken by the text alone.
pub(super) fn pi_place(cwd: &Path, home: Option<&Path>, name: &str) -> PathBuf {
    let plain = |letter| if is_odd_space(letter) { ' ' } else { letter };
    let name: String = name.chars().map(plain).collect();
    let name = name.strip_prefix('@').unwrap_or(&name);
    match (name.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            cleaned(&home.join(rest.trim_start_matches('/')))
        }
        _ => cleaned(&cwd.join(name)),
    }
}

fn is_odd_space(letter: char) -> bool {
    matches!(
        letter,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn e1_a_repository_prefix_is_tried_both_ways() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("repo");
        let cwd = root.join("sub");
        fs::create_dir_all(root.join(".git")).expect("git");
        fs::create_dir_all(&cwd).expect("cwd");
        let places = |name: &str| graph_places(&cwd, name);
        assert_eq!(places("sub/a.rs"), [cwd.join("sub/a.rs"), cwd.join("a.rs")]);
        assert_eq!(
            places("repo/a.rs"),
            [cwd.join("repo/a.rs"), root.join("a.rs")]
        );
        for name in ["a.rs", "src/a.rs", "sub", "repo", "/x/a.rs"] {
            assert_eq!(places(name), [cwd.join(name)], "{name}");
        }
        let up = [cwd.join("../none/../a.rs"), root.join("a.rs")];
        assert_eq!(places("../none/../a.rs"), up);
    }

    #[test]
    fn e3_a_name_that_is_there_as_it_stands_means_no_other_file() {
        let folder = tempfile::tempdir().expect("folder");
        let cwd = folder.path().join("repo");
        fs::create_dir_all(cwd.join("repo")).expect("folders");
        fs::write(cwd.join("repo/a.rs"), "").expect("file");
        assert_eq!(graph_places(&cwd, "repo/a.rs"), [cwd.join("repo/a.rs")]);
    }

    #[test]
    fn e3_pis_own_spelling_of_a_path_is_understood() {
        let home = Some(Path::new("/home/u"));
        let place = |name| pi_place(Path::new("/w"), home, name);
        assert_eq!(place("@a.rs"), PathBuf::from("/w/a.rs"));
        assert_eq!(place("~/a.rs"), PathBuf::from("/home/u/a.rs"));
        assert_eq!(place("~"), PathBuf::from("/home/u"));
        assert_eq!(place("~u/a.rs"), PathBuf::from("/w/~u/a.rs"));
        assert_eq!(place("a\u{a0}b\u{3000}c"), PathBuf::from("/w/a b c"));
        assert_eq!(place("none/../a.rs"), PathBuf::from("/w/a.rs"));
        assert_eq!(place("./b/.././../../../a.rs"), PathBuf::from("/a.rs"));
        assert_eq!(place("~/b/../../v/a.rs"), PathBuf::from("/home/v/a.rs"));
        assert_eq!(place("/x/../a.rs"), PathBuf::from("/a.rs"));
    }
}

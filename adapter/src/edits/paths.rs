//! Where a name that a call gave may lie on disk.

use std::path::{Component, Path, PathBuf};

/// Folders above the session's that are looked into for the git root.
const MAX_ABOVE: usize = 64;

/// Where a session stands.
pub(super) struct Repository<'a> {
    cwd: &'a Path,
    /// The folder that git keeps its data in, where there is one.
    root: Option<&'a Path>,
}

/// The places that a name may mean.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Those that the name itself says, likeliest first. At least one.
    pub(super) said: Vec<PathBuf>,
    /// Those that it may mean all the same.
    pub(super) guessed: Vec<PathBuf>,
}

impl Places {
    /// Of a name that means one place.
    pub(super) fn only(place: PathBuf) -> Self {
        Self {
            said: vec![place],
            guessed: Vec::new(),
        }
    }
}

impl<'a> Repository<'a> {
    /// That of a session in a folder. Looks at the file system.
    pub(super) fn of(cwd: &'a Path) -> Self {
        Self {
            cwd,
            root: git_root(cwd),
        }
    }

    /// The places that a name given to Gortex may mean. Looks at the file system.
    ///
    /// The name is relative to the repository and may begin with the repository's name (wire.md). Where it is there as it
    /// stands in the session's folder, it means that file. Where it is not, the place below the folder that its first
    /// segment is called after is as good: what was decided beforehand could be wrong for a new file.
    ///
    /// What Gortex calls a repository need not be its folder's name, as with a worktree, and a session may stand below
    /// its root. So a file that is there without the first segment, or from the root, may be meant too.
    ///
    /// Where a name goes up, it is not known whether Gortex strikes out the segment before `..`, as Pi does, or lets
    /// links lead.
    pub(super) fn places(&self, name: &str) -> Places {
        let plain = self.cwd.join(name);
        let is_there = is_there(&plain);
        let clean = goes_up(&plain).then(|| cleaned(&plain));
        let mut places = Places {
            said: [plain].into_iter().chain(clean).collect(),
            guessed: Vec::new(),
        };
        let name = cleaned(Path::new(name));
        let mut segments = name.components();
        let Some(Component::Normal(first)) = segments.next() else {
            return places;
        };
        let rest = segments.as_path();
        let root = self.root.filter(|root| *root != self.cwd);
        if !is_there && rest.file_name().is_some() {
            let folders = [Some(self.cwd), root].into_iter().flatten();
            let (named, others): (Vec<_>, Vec<_>) =
                folders.partition(|folder| folder.file_name() == Some(first));
            places
                .said
                .extend(named.iter().map(|folder| folder.join(rest)));
            let others = others.iter().map(|folder| folder.join(rest));
            places
                .guessed
                .extend(others.filter(|path| self::is_there(path)));
        }
        if let Some(root) = root {
            let from_root = Some(root.join(&name)).filter(|path| !is_there || self::is_there(path));
            places.guessed.extend(from_root);
        }
        places
    }
}

pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
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
            Component::ParentDir => match clean.components().next_back() {
                Some(Component::Normal(_)) => {
                    clean.pop();
                }
                Some(Component::RootDir) => {}
                _ => clean.push(part),
            },
            part => clean.push(part),
        }
    }
    clean
}

/// The nearest folder, from `cwd` upwards, that git keeps its data in. In a worktree that is a file.
fn git_root(cwd: &Path) -> Option<&Path> {
    cwd.ancestors()
        .take(MAX_ABOVE)
        .find(|folder| is_there(&folder.join(".git")))
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

    fn places(said: &[PathBuf], guessed: &[PathBuf]) -> Places {
        Places {
            said: said.to_vec(),
            guessed: guessed.to_vec(),
        }
    }

    #[test]
    fn e1_a_repository_prefix_is_tried_both_ways() {
        let folder = tempfile::tempdir().expect("folder");
        let cwd = folder.path().join("repo");
        fs::create_dir_all(cwd.join(".git")).expect("git");
        let of = |name: &str| Repository::of(&cwd).places(name);
        let said = places(&[cwd.join("repo/a.rs"), cwd.join("a.rs")], &[]);
        assert_eq!(of("repo/a.rs"), said);
        for name in ["a.rs", "src/a.rs", "repo", "/x/a.rs"] {
            assert_eq!(of(name), places(&[cwd.join(name)], &[]), "{name}");
        }
        let up = [cwd.join("../none/../a.rs"), folder.path().join("a.rs")];
        assert_eq!(of("../none/../a.rs"), places(&up, &[]));
    }

    #[test]
    fn e1_e3_a_repository_may_have_another_name_than_its_folder() {
        let folder = tempfile::tempdir().expect("folder");
        let cwd = folder.path().join("worktree");
        fs::create_dir_all(&cwd).expect("folders");
        let of = |name: &str| Repository::of(&cwd).places(name);
        let said = [cwd.join("repo/a.rs")];
        assert_eq!(of("repo/a.rs"), places(&said, &[]));
        fs::write(cwd.join("a.rs"), "").expect("file");
        assert_eq!(of("repo/a.rs"), places(&said, &[cwd.join("a.rs")]));
        fs::create_dir(cwd.join("repo")).expect("folder");
        fs::write(&said[0], "").expect("file");
        assert_eq!(of("repo/a.rs"), places(&said, &[]));
    }

    #[test]
    fn e1_e3_a_session_may_stand_below_the_root() {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("repo");
        let cwd = root.join("sub");
        fs::create_dir_all(root.join(".git")).expect("git");
        fs::create_dir_all(&cwd).expect("cwd");
        let of = |name: &str| Repository::of(&cwd).places(name);
        let from_root = |name: &str| [root.join(name)];
        for name in ["a.rs", "src/a.rs", "sub"] {
            assert_eq!(
                of(name),
                places(&[cwd.join(name)], &from_root(name)),
                "{name}"
            );
        }
        let said = [cwd.join("sub/a.rs"), cwd.join("a.rs")];
        assert_eq!(of("sub/a.rs"), places(&said, &from_root("sub/a.rs")));
        let said = [cwd.join("repo/a.rs"), root.join("a.rs")];
        assert_eq!(of("repo/a.rs"), places(&said, &from_root("repo/a.rs")));
        fs::write(cwd.join("a.rs"), "").expect("file");
        assert_eq!(of("a.rs"), places(&[cwd.join("a.rs")], &[]));
        fs::write(root.join("a.rs"), "").expect("file");
        assert_eq!(of("a.rs"), places(&[cwd.join("a.rs")], &from_root("a.rs")));
        assert_eq!(
            of("../a.rs"),
            places(&[cwd.join("../a.rs"), root.join("a.rs")], &[])
        );
    }

    #[test]
    fn e3_a_name_that_is_there_as_it_stands_means_no_other_file() {
        let folder = tempfile::tempdir().expect("folder");
        let cwd = folder.path().join("repo");
        fs::create_dir_all(cwd.join("repo")).expect("folders");
        fs::write(cwd.join("repo/a.rs"), "").expect("file");
        fs::write(cwd.join("a.rs"), "").expect("file");
        let of = Repository::of(&cwd).places("repo/a.rs");
        assert_eq!(of, places(&[cwd.join("repo/a.rs")], &[]));
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

//! When two names mean one file (E3).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

/// What identifies a file. Two files are one when they share any key.
///
/// The name is kept besides the inode because a tool may write a file by renaming another over it, and the inode
/// besides the name because of hard links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// The resolved path.
    pub(super) place: PathBuf,
    /// The resolved path as [`folded`]: a volume may not tell cases apart, and a diff lost to a mere resemblance is
    /// better than a wrong one.
    folded: String,
    inode: Option<(u64, u64)>,
}

/// Symlinks followed one after another.
const MAX_LINKS: usize = 16;

impl Identity {
    pub(super) fn of(path: &Path) -> Self {
        let inode = path.metadata().ok().map(|found| (found.dev(), found.ino()));
        Self::at(resolve(path), inode)
    }

    fn at(place: PathBuf, inode: Option<(u64, u64)>) -> Self {
        let folded = folded(&place.to_string_lossy());
        Self {
            place,
            folded,
            inode,
        }
    }

    /// That of a file of which only the path is known.
    #[cfg(test)]
    pub(super) fn named(place: &str) -> Self {
        Self::at(PathBuf::from(place), None)
    }

    /// Whether the two were one file at the moment at which both were looked at. Names that resemble each other are one
    /// only where neither is there to ask.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self.inode, other.inode) {
            (None, None) => self.folded == other.folded,
            (one, two) => one == two,
        }
    }

    /// Whether the two may be one file, at whatever moments they were looked at.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.folded == other.folded || self.inode.is_some() && self.inode == other.inode
    }
}

/// A text without what volumes do not tell apart: how letters are composed, and case. Upper case comes first, as `ß` and
/// `ς` have each more than one way down.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let upper: String = text.nfc().collect::<String>().to_uppercase();
    upper.to_lowercase().nfc().collect()
}

/// The canonical path, also of a file that does not exist yet, be it behind a dangling symlink.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(found) = path.canonicalize() {
            return found;
        }
        match (path.read_link(), path.parent()) {
            (Ok(target), Some(folder)) => path = folder.join(target),
            _ => break,
        }
    }
    // The nearest folder that exists, and the names below it.
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder != path && !folder.as_os_str().is_empty() => {
            let mut found = folder
                .canonicalize()
                .unwrap_or_else(|_| resolve_missing(folder));
            found.push(name);
            found
        }
        _ => path,
    }
}

fn resolve_missing(folder: &Path) -> PathBuf {
    let existing = folder
        .ancestors()
        .skip(1)
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    match existing {
        Some((above, found)) => found.join(folder.strip_prefix(above).unwrap_or(folder)),
        None => folder.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn e3_names_of_one_file_are_one() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).expect("sub");
        fs::write(at("a"), "").expect("a");
        fs::write(at("b"), "").expect("b");
        fs::hard_link(at("a"), at("hard")).expect("hard link");
        symlink("a", at("soft")).expect("symlink");
        symlink("new", at("dangling")).expect("symlink");
        symlink("sub", at("dir")).expect("symlink");
        let same = |left: &str, right: &str| Identity::of(&at(left)).is(&Identity::of(&at(right)));
        for (left, right) in [
            ("a", "./a"),
            ("a", "sub/../a"),
            ("a", "hard"),
            ("a", "soft"),
            ("new", "dangling"),
            ("sub/new", "dir/new"),
            ("deep/er/new", "deep/er/./new"),
            ("new", "NEW"),
            ("straße", "STRASSE"),
            ("οδος", "ΟΔΟΣ"),
            ("οδοσ", "οδος"),
            ("\u{e9}t\u{e9}", "E\u{301}T\u{c9}"),
        ] {
            assert!(same(left, right), "{left} {right}");
        }
        for (left, right) in [("a", "b"), ("new", "newer"), ("sub/new", "new")] {
            assert!(!same(left, right), "{left} {right}");
        }
    }
}

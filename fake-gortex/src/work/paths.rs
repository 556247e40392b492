//! Which file a path means, and reading and writing it within bounds. What calls name comes from a model: nothing
//! outside the repository is touched and nothing but regular files is opened.

use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The largest file that is read or written, in bytes.
pub(super) const LIMIT: u64 = 16 << 20;

/// The file of a path that is absolute, or relative to the repository, or bears the repository's name in front.
///
/// # Errors
/// When it lies outside the repository, by its text or through a symbolic link.
pub(super) fn resolve(root: &Path, path: &str) -> Result<PathBuf, String> {
    let outside = || format!("{path} is outside the repository");
    if path.contains('\0') {
        return Err("the path holds a NUL".to_owned());
    }
    let plain = normal(&root.join(path)).ok_or_else(outside)?;
    let mut file = plain;
    if Path::new(path).is_relative() && !exists(&file) {
        let mut parts = Path::new(path).components();
        if parts.next().map(Component::as_os_str) == root.file_name()
            && parts.clone().next().is_some()
        {
            file = normal(&root.join(parts.as_path())).ok_or_else(outside)?;
        }
    }
    let home = fs::canonicalize(root).map_err(|error| format!("{}: {error}", root.display()))?;
    // The deepest part that exists tells where links lead; what does not exist yet cannot lead anywhere.
    let existing = file
        .ancestors()
        .find(|part| exists(part))
        .ok_or_else(outside)?;
    match fs::canonicalize(existing) {
        Ok(real) if real.starts_with(&home) => Ok(file),
        Ok(_) => Err(outside()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// Whether something has this name, a dangling link included.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// The path without `.` and `..`, by its text; none when it climbs above its start.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    Some(plain)
}

/// The text of a file; none when there is no such file.
///
/// # Errors
/// When it is not a regular file, too large, not UTF-8 or cannot be read.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
    let name = file.display();
    let about = match fs::metadata(file) {
        Ok(about) => about,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{name}: {error}")),
    };
    if !about.is_file() {
        return Err(format!("{name} is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(file)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("{name}: {error}"))?;
    if bytes.len() as u64 > LIMIT {
        return Err(format!("{name} is too large"));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| format!("{name} is not UTF-8"))
}

/// Gives a file new text; folders that are missing are made.
///
/// # Errors
/// When something other than a regular file is in the way, the text is too large or the disk refuses.
pub(super) fn write(file: &Path, text: &str) -> Result<(), String> {
    let name = file.display();
    if text.len() as u64 > LIMIT {
        return Err(format!("the text for {name} is too large"));
    }
    if fs::metadata(file).is_ok_and(|about| !about.is_file()) {
        return Err(format!("{name} is not a regular file"));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{name}: {error}"))?;
    }
    fs::write(file, text).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("folder");
        let root = folder.path().join("repo");
        fs::create_dir_all(root.join("src")).expect("folders");
        fs::write(root.join("src/a.rs"), "a").expect("file");
        (folder, root)
    }

    #[test]
    fn takes_the_repository_name_in_front() {
        let (_folder, root) = repository();
        assert_eq!(resolve(&root, "src/a.rs"), Ok(root.join("src/a.rs")));
        assert_eq!(
            resolve(&root, "./src/../src/a.rs"),
            Ok(root.join("src/a.rs"))
        );
        assert_eq!(resolve(&root, "repo/src/a.rs"), Ok(root.join("src/a.rs")));
        assert_eq!(resolve(&root, "repo/new.rs"), Ok(root.join("new.rs")));
        assert_eq!(resolve(&root, "repo"), Ok(root.join("repo")));
        fs::create_dir(root.join("repo")).expect("folder");
        fs::write(root.join("repo/b.rs"), "b").expect("file");
        assert_eq!(resolve(&root, "repo/b.rs"), Ok(root.join("repo/b.rs")));
    }

    #[test]
    fn stays_inside() {
        let (folder, root) = repository();
        fs::write(folder.path().join("secret"), "s").expect("file");
        std::os::unix::fs::symlink("../../secret", root.join("src/link")).expect("link");
        std::os::unix::fs::symlink(folder.path(), root.join("up")).expect("link");
        std::os::unix::fs::symlink(folder.path().join("not yet"), root.join("dangling"))
            .expect("link");
        let outside = folder.path().join("secret");
        let outside = outside.to_str().expect("UTF-8");
        for path in [
            "../secret",
            "src/link",
            "up/secret",
            "up/new",
            "dangling",
            "../../../../..",
            outside,
            "a\0b",
        ] {
            assert!(resolve(&root, path).is_err(), "{path:?}");
        }
        let absolute = root.join("src/a.rs");
        assert_eq!(
            resolve(&root, absolute.to_str().expect("UTF-8")),
            Ok(absolute)
        );
    }

    #[test]
    fn opens_only_regular_files() {
        let (_folder, root) = repository();
        assert!(read(&root.join("src")).is_err());
        assert!(read(Path::new("/dev/zero")).is_err());
        assert_eq!(read(&root.join("absent")), Ok(None));
        assert!(write(&root.join("src"), "x").is_err());
        write(&root.join("deep/er/x"), "x").expect("write");
        assert_eq!(read(&root.join("deep/er/x")), Ok(Some("x".to_owned())));
    }
}

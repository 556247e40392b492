//! Paths as the model writes them, and files that are read whole but never without bounds.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use unicode_normalization::UnicodeNormalization;

use super::errno;
use crate::paths::normalised;

/// Bytes of a file that are read at most. Node itself fails on text of half a gigabyte.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The absolute path that a tool works on: odd spaces become plain, a leading `@` goes, `~` is the home folder.
pub(super) fn resolve(path: &str, cwd: &Path, home: &Path) -> PathBuf {
    let plain: String = path
        .chars()
        .map(|character| {
            if is_odd_space(character) {
                ' '
            } else {
                character
            }
        })
        .collect();
    let plain = plain.strip_prefix('@').unwrap_or(&plain);
    if plain == "~" {
        return home.to_owned();
    }
    if let Some(rest) = plain.strip_prefix("~/") {
        return normalised(&home.join(rest));
    }
    normalised(&cwd.join(plain.strip_prefix("file://").unwrap_or(plain)))
}

/// As [`resolve`], with the spellings that macOS gives to names tried when the path does not exist.
pub(super) fn resolve_existing(path: &str, cwd: &Path, home: &Path) -> PathBuf {
    let resolved = resolve(path, cwd, home);
    if resolved.exists() {
        return resolved;
    }
    let text = resolved.to_string_lossy();
    let decomposed: String = text.nfd().collect();
    let with_narrow_space = narrow_space_before_half_of_day(&text);
    let curly = |text: &str| text.replace('\'', "\u{2019}");
    let candidates = [
        with_narrow_space,
        decomposed.clone(),
        curly(&text),
        curly(&decomposed),
    ];
    candidates
        .into_iter()
        .map(PathBuf::from)
        .find(|path| path.exists())
        .unwrap_or(resolved)
}

fn is_odd_space(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

/// macOS writes a narrow space before the `AM.` or `PM.` of a screenshot's name.
fn narrow_space_before_half_of_day(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let rest = &text.as_bytes()[at..];
        let is_half_of_day = rest.len() >= 4
            && rest[0] == b' '
            && matches!(rest[1].to_ascii_uppercase(), b'A' | b'P')
            && rest[2].eq_ignore_ascii_case(&b'm')
            && rest[3] == b'.';
        result.push(if is_half_of_day {
            '\u{202f}'
        } else {
            character
        });
    }
    result
}

/// Fails as Node's `access` does.
pub(super) fn check_access(path: &Path, writable: bool) -> io::Result<()> {
    let wanted = if writable {
        Access::READ_OK | Access::WRITE_OK
    } else {
        Access::READ_OK
    };
    access(path, wanted).map_err(io::Error::from)
}

/// The bytes of a regular file. The error is Node's text, or an own one for what would be read without end.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failure =
        |error: &io::Error, call: &str, path: Option<&Path>| errno::message(error, call, path);
    // Looked at before it is opened: opening a pipe without a writer would wait for one.
    let metadata = std::fs::metadata(path).map_err(|error| failure(&error, "open", Some(path)))?;
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(format!("not a regular file: {}", path.display()));
    }
    let file = File::open(path).map_err(|error| failure(&error, "open", Some(path)))?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| failure(&error, "read", None))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("file too large: {}", path.display()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_models_write_them() {
        let resolved = |path: &str| resolve(path, Path::new("/w/p"), Path::new("/home/u"));
        assert_eq!(resolved("a/../b"), Path::new("/w/p/b"));
        assert_eq!(resolved("@src/x"), Path::new("/w/p/src/x"));
        assert_eq!(resolved("~/x"), Path::new("/home/u/x"));
        assert_eq!(resolved("~x"), Path::new("/w/p/~x"));
        assert_eq!(resolved("a\u{a0}b"), Path::new("/w/p/a b"));
        assert_eq!(resolved("/x/./y/"), Path::new("/x/y"));
    }

    #[test]
    fn screenshots_are_found_under_their_real_names() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let real = folder.path().join("Shot 9\u{202f}PM.png");
        std::fs::write(&real, "x").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            resolve_existing("Shot 9 PM.png", folder.path(), Path::new("/")),
            real
        );
        assert_eq!(
            resolve_existing("none", folder.path(), Path::new("/")),
            folder.path().join("none")
        );
    }
}

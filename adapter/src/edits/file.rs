//! Reading one file under bounds (E4, E6).

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What a file holds, as far as a diff or a layer of configuration can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// There is no such file.
    Absent,
    /// Its text.
    Text(String),
    /// It is there, and its text is not known.
    LeftOut(LeftOut),
}

impl FileText {
    /// Its text, which is empty where there is no file; `None` where it is not known.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Absent => Some(""),
            Self::Text(text) => Some(text),
            Self::LeftOut(_) => None,
        }
    }

    /// As [`FileText::text`], without a copy.
    pub(super) fn into_text(self) -> Option<String> {
        match self {
            Self::Absent => Some(String::new()),
            Self::Text(text) => Some(text),
            Self::LeftOut(_) => None,
        }
    }
}

/// Why a text is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is a folder, a device, a FIFO, a socket.
    NotRegular,
    /// It has more bytes than may be read.
    TooLarge,
    /// It holds a NUL.
    Binary,
    /// It is no UTF-8.
    NotUtf8,
    /// Two readings differ.
    Changing,
}

impl LeftOut {
    /// The reason in a few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotRegular => "not a regular file",
            Self::TooLarge => "too large",
            Self::Binary => "binary",
            Self::NotUtf8 => "not UTF-8",
            Self::Changing => "changing",
        }
    }
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    /// There is no such file.
    Absent,
    /// It is a folder, a device, a FIFO, a socket.
    NotRegular,
    /// It is a regular file with this stamp.
    Regular(Stamp),
}

/// What tells that a file was written without reading it. A file system's clock is coarse: one that is written twice
/// within some milliseconds can keep its stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    place: (u64, u64),
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            place: (found.dev(), found.ino()),
            len: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Looks at a file without opening it.
///
/// # Errors
///
/// As of [`read_regular`].
pub(super) fn look(path: &Path) -> io::Result<Look> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Ok(Look::NotRegular),
        Ok(found) => Ok(Look::Regular(Stamp::of(&found))),
        Err(error) if is_absence(&error) => Ok(Look::Absent),
        Err(error) => Err(error),
    }
}

/// As [`look`], with an error as a value that can be compared.
pub(super) fn looked(path: &Path) -> Result<Look, String> {
    look(path).map_err(|error| error.kind().to_string())
}

/// Reads a regular file as [`read_regular`] does, twice: a text that is being written is no text of one moment.
///
/// # Errors
///
/// As of [`read_regular`].
pub(super) fn read_settled(path: &Path, max: u64) -> io::Result<FileText> {
    read_around(path, max, || {})
}

/// Reads, does something, reads again.
fn read_around(path: &Path, max: u64, between: impl FnOnce()) -> io::Result<FileText> {
    let first = read_regular(path, max)?;
    if !matches!(first, FileText::Text(_)) {
        return Ok(first);
    }
    between();
    Ok(if read_regular(path, max)? == first {
        first
    } else {
        FileText::LeftOut(LeftOut::Changing)
    })
}

/// Reads a regular file of at most `max` bytes of UTF-8 text without NUL. Follows symlinks; opens no FIFO or device.
///
/// # Errors
///
/// What the file system answers, except that the file does not exist.
pub fn read_regular(path: &Path, max: u64) -> io::Result<FileText> {
    // Asked before opening, since to open a device can already do something.
    match look(path)? {
        Look::Regular(_) => {}
        Look::Absent => return Ok(FileText::Absent),
        Look::NotRegular => return Ok(FileText::LeftOut(LeftOut::NotRegular)),
    }
    // It may have become something else since: a FIFO opened like this does not block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(error) => {
            let error = io::Error::from(error);
            return if is_absence(&error) {
                Ok(FileText::Absent)
            } else {
                Err(error)
            };
        }
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(FileText::LeftOut(LeftOut::NotRegular));
    }
    if found.len() > max {
        return Ok(FileText::LeftOut(LeftOut::TooLarge));
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(FileText::LeftOut(LeftOut::TooLarge));
    }
    if memchr::memchr(0, &bytes).is_some() {
        return Ok(FileText::LeftOut(LeftOut::Binary));
    }
    Ok(String::from_utf8(bytes).map_or(FileText::LeftOut(LeftOut::NotUtf8), FileText::Text))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(path: &Path, max: u64) -> &'static str {
        match read_regular(path, max).expect("read") {
            FileText::LeftOut(why) => why.as_str(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn e4_e6_only_small_regular_text_is_read() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("file");
            path
        };
        assert_eq!(
            read_regular(&at("text", b"12345678"), 8).expect("read"),
            FileText::Text("12345678".to_owned())
        );
        assert_eq!(why(&at("large", b"123456789"), 8), "too large");
        assert_eq!(why(&at("nul", b"a\0b"), 8), "binary");
        assert_eq!(why(&at("latin", b"\xe9"), 8), "not UTF-8");
        assert_eq!(
            read_regular(&folder.path().join("none"), 8).expect("read"),
            FileText::Absent
        );
        assert_eq!(why(folder.path(), 8), "not a regular file");
        assert_eq!(why(Path::new("/dev/zero"), 8), "not a regular file");
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo");
        assert!(made.success());
        assert_eq!(why(&fifo, 8), "not a regular file");
        assert!(read_regular(Path::new("a\0b"), 8).is_err());
    }

    #[test]
    fn e4_a_file_that_changes_between_two_readings_has_no_text() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("f");
        let changes: [(&str, &dyn Fn()); 4] = [
            ("grown", &|| std::fs::write(&path, "ab").expect("written")),
            // Neither its length nor, within one tick of the clock, its times tell of this one.
            ("other", &|| std::fs::write(&path, "b").expect("written")),
            ("gone", &|| std::fs::remove_file(&path).expect("removed")),
            ("nul", &|| std::fs::write(&path, "\0").expect("written")),
        ];
        for (name, change) in changes {
            std::fs::write(&path, "a").expect("written");
            assert_eq!(
                read_around(&path, 8, change).expect("read"),
                FileText::LeftOut(LeftOut::Changing),
                "{name}"
            );
        }
        std::fs::write(&path, "a").expect("written");
        assert_eq!(
            read_settled(&path, 8).expect("read"),
            FileText::Text("a".to_owned())
        );
    }
}

//! Reading one file under bounds (E4, E6).

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What a file holds, as far as a diff or a layer of configuration can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// There is no such file.
    Absent,
    /// Its text.
    Text(String),
    /// It is something else, for the reason given.
    LeftOut(&'static str),
}

/// Reads a regular file of at most `max` bytes of UTF-8 text without NUL. Follows symlinks; opens no FIFO or device.
///
/// # Errors
///
/// What the file system answers, except that the file does not exist.
pub fn read_regular(path: &Path, max: u64) -> io::Result<FileText> {
    // Asked before opening, since to open a device can already do something.
    match path.metadata() {
        Ok(found) if !found.is_file() => return Ok(FileText::LeftOut("not a regular file")),
        Ok(_) => {}
        Err(error) if is_absence(&error) => return Ok(FileText::Absent),
        Err(error) => return Err(error),
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
        return Ok(FileText::LeftOut("not a regular file"));
    }
    if found.len() > max {
        return Ok(FileText::LeftOut("too large"));
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Ok(FileText::LeftOut("too large"));
    }
    if bytes.contains(&0) {
        return Ok(FileText::LeftOut("binary"));
    }
    Ok(String::from_utf8(bytes).map_or(FileText::LeftOut("not UTF-8"), FileText::Text))
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

    #[test]
    fn e4_e6_only_small_regular_text_is_read() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("file");
            read_regular(&path, 8).expect("read")
        };
        assert_eq!(
            at("text", b"12345678"),
            FileText::Text("12345678".to_owned())
        );
        assert_eq!(at("large", b"123456789"), FileText::LeftOut("too large"));
        assert_eq!(at("nul", b"a\0b"), FileText::LeftOut("binary"));
        assert_eq!(at("latin", b"\xe9"), FileText::LeftOut("not UTF-8"));
        assert_eq!(
            read_regular(&folder.path().join("none"), 8).expect("read"),
            FileText::Absent
        );
        assert_eq!(
            read_regular(folder.path(), 8).expect("read"),
            FileText::LeftOut("not a regular file")
        );
        assert_eq!(
            read_regular(Path::new("/dev/zero"), 8).expect("read"),
            FileText::LeftOut("not a regular file")
        );
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .expect("mkfifo");
        assert!(made.success());
        assert_eq!(
            read_regular(&fifo, 8).expect("read"),
            FileText::LeftOut("not a regular file")
        );
        assert!(read_regular(Path::new("a\0b"), 8).is_err());
    }
}

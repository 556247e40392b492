//! Errors of the file system in Node's words, since the model reads them.

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// Node's name of an error, such as `ENOENT`.
pub(super) fn code(error: &io::Error) -> &'static str {
    named(error).0
}

/// Node's message of a failed call: `ENOENT: no such file or directory, open '/x'`.
pub(super) fn message(error: &io::Error, call: &str, path: Option<&Path>) -> String {
    let (code, words) = named(error);
    let path = path
        .map(|path| format!(" '{}'", path.display()))
        .unwrap_or_default();
    format!("{code}: {words}, {call}{path}")
}

fn named(error: &io::Error) -> (&'static str, &'static str) {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => ("ENOENT", "no such file or directory"),
        Some(Errno::ACCESS) => ("EACCES", "permission denied"),
        Some(Errno::PERM) => ("EPERM", "operation not permitted"),
        Some(Errno::ISDIR) => ("EISDIR", "illegal operation on a directory"),
        Some(Errno::NOTDIR) => ("ENOTDIR", "not a directory"),
        Some(Errno::EXIST) => ("EEXIST", "file already exists"),
        Some(Errno::ROFS) => ("EROFS", "read-only file system"),
        Some(Errno::NAMETOOLONG) => ("ENAMETOOLONG", "name too long"),
        Some(Errno::LOOP) => ("ELOOP", "too many symbolic links encountered"),
        Some(Errno::NOSPC) => ("ENOSPC", "no space left on device"),
        Some(Errno::MFILE) => ("EMFILE", "too many open files"),
        Some(Errno::INVAL) => ("EINVAL", "invalid argument"),
        _ => ("EIO", "i/o error"),
    }
}

//! The files that make a hook child what it is.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat2, statx};
use rustix::io::Errno;
use tokio::sync::Semaphore;

use crate::ports::offload;
use crate::{HookCommand, Work};

/// How many looks of one session block at a time, and so how many threads a volume can hold that does not answer.
const LOOKS: usize = 2;

/// Looks at files, for one session.
pub(super) struct Looks {
    work: Arc<dyn Work>,
    places: Arc<Semaphore>,
}

impl Looks {
    pub(super) fn new(work: Arc<dyn Work>) -> Self {
        Self {
            work,
            places: Arc::new(Semaphore::new(LOOKS)),
        }
    }

    /// What is there; `None` where one of them is not.
    ///
    /// What the system holds in memory is seen at once. A look at a volume that does not answer blocks, so it is left to a
    /// thread for such work: who waits for this stays free to give up.
    pub(super) async fn at(&self, command: &Arc<HookCommand>) -> Option<Files> {
        if let Ok(files) = Files::seen(command, at_once) {
            return Some(files);
        }
        let place = Arc::clone(&self.places).acquire_owned().await;
        let command = Arc::clone(command);
        let look = move || {
            let _place = place;
            Files::seen(&command, anywhere).ok()
        };
        offload(&*self.work, look).await?
    }
}

/// What is seen of the executable and the folder. Replaced, a child from before is not what would be started now (H8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Files {
    program: Seen,
    cwd: Seen,
}

/// Device, inode, and of a file its size and when it was changed.
type Seen = ([u32; 2], u64, Option<(u64, i64, u32)>);

impl Files {
    fn seen(command: &HookCommand, look: fn(&Path) -> Result<Statx, Errno>) -> Result<Self, Errno> {
        let place = |it: &Statx| ([it.stx_dev_major, it.stx_dev_minor], it.stx_ino);
        let (program, cwd) = (look(&command.program)?, look(&command.cwd)?);
        let (device, inode) = place(&program);
        let changed = program.stx_mtime;
        let whole = (program.stx_size, changed.tv_sec, changed.tv_nsec);
        let (cwd_device, cwd_inode) = place(&cwd);
        Ok(Self {
            program: (device, inode, Some(whole)),
            cwd: (cwd_device, cwd_inode, None),
        })
    }
}

/// Never blocks. Fails where the system would have to look further than into its memory, and where it knows no such way.
fn at_once(path: &Path) -> Result<Statx, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::CACHED)?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(file, c"", flags, StatxFlags::BASIC_STATS)
}

/// Blocks as long as the volume likes.
fn anywhere(path: &Path) -> Result<Statx, Errno> {
    statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h8_both_ways_to_look_see_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("gortex");
        std::fs::write(&program, "x").expect("written");
        let mut command = HookCommand {
            program,
            args: Vec::new(),
            cwd: folder.path().to_owned(),
            vars: Arc::default(),
        };
        let seen = Files::seen(&command, anywhere);
        assert!(seen.is_ok(), "{seen:?}");
        match Files::seen(&command, at_once) {
            // A system older than this way to look, or one that lets nobody use it.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => {}
            at_once => assert_eq!(at_once, seen),
        }
        command.cwd.push("gone");
        assert!(Files::seen(&command, at_once).is_err());
        assert_eq!(Files::seen(&command, anywhere), Err(Errno::NOENT));
    }
}

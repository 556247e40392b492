//! The files that calls in flight write, across all instances of a process (E3, E4).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::identity::Identity;

/// Who made a claim: one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(u64);

/// The claims of all calls in flight. One table serves a process and is handed to each instance.
#[derive(Debug, Default)]
pub struct WriteTable(Mutex<Table>);

/// The claims themselves. A value, so that all that can happen to it can be gone through.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Table {
    next: u64,
    claims: BTreeMap<u64, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    owner: Owner,
    writes: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Files(Vec<Claimed>),
    Unnamed { cwd: PathBuf },
}

/// A file of a claim, and what happened to it while the claim stood.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claimed {
    identity: Identity,
    shared: bool,
    alongside: bool,
}

impl Table {
    /// A new owner.
    pub(super) fn owner(&mut self) -> Owner {
        self.next += 1;
        Owner(self.next)
    }

    /// Claims files for a call. A file that another claim holds is lost to both from now on, even if one ends first.
    pub(super) fn claim_files(&mut self, owner: Owner, identities: Vec<Identity>) -> u64 {
        let mut files: Vec<Claimed> = identities
            .into_iter()
            .map(|identity| Claimed {
                identity,
                shared: false,
                alongside: false,
            })
            .collect();
        for entry in self.claims.values_mut() {
            match &mut entry.writes {
                Kind::Files(others) => {
                    for other in others {
                        for file in files
                            .iter_mut()
                            .filter(|file| file.identity.is(&other.identity))
                        {
                            file.shared = true;
                            other.shared = true;
                        }
                    }
                }
                Kind::Unnamed { cwd } => {
                    for file in &mut files {
                        file.alongside |= concerns(entry.owner, cwd, owner, file);
                    }
                }
            }
        }
        self.insert(owner, Kind::Files(files))
    }

    /// Claims whatever a call may write that names no files.
    pub(super) fn claim_unnamed(&mut self, owner: Owner, cwd: PathBuf) -> u64 {
        for entry in self.claims.values_mut() {
            if let Kind::Files(files) = &mut entry.writes {
                for file in files {
                    file.alongside |= concerns(owner, &cwd, entry.owner, file);
                }
            }
        }
        self.insert(owner, Kind::Unnamed { cwd })
    }

    /// Ends a claim.
    pub(super) fn release(&mut self, claim: u64) {
        self.claims.remove(&claim);
    }

    /// The verdict on the file at `index` of a claim.
    pub(super) fn verdict(&self, claim: u64, index: usize) -> Verdict {
        match self.claims.get(&claim).map(|entry| &entry.writes) {
            Some(Kind::Files(files)) => match files.get(index) {
                Some(Claimed {
                    shared: false,
                    alongside: false,
                    ..
                }) => Verdict::Own,
                Some(Claimed {
                    shared: false,
                    alongside: true,
                    ..
                }) => Verdict::Alongside,
                _ => Verdict::Shared,
            },
            _ => Verdict::Shared,
        }
    }

    fn insert(&mut self, owner: Owner, writes: Kind) -> u64 {
        self.next += 1;
        self.claims.insert(self.next, Entry { owner, writes });
        self.next
    }
}

impl WriteTable {
    /// A new owner.
    pub fn owner(&self) -> Owner {
        self.lock().owner()
    }

    /// Claims files for a call, as [`Table::claim_files`] does.
    pub(super) fn claim_files(self: &Arc<Self>, owner: Owner, identities: Vec<Identity>) -> Claim {
        let id = self.lock().claim_files(owner, identities);
        self.claim(id)
    }

    /// Claims whatever a call may write that names no files: all files of its own instance, and those of others that
    /// lie below its folder. `cwd` is where links lead; nothing here looks at the file system.
    pub fn claim_unnamed(self: &Arc<Self>, owner: Owner, cwd: PathBuf) -> Claim {
        let id = self.lock().claim_unnamed(owner, cwd);
        self.claim(id)
    }

    /// How many calls are in flight (E6).
    pub fn in_flight(&self) -> usize {
        self.lock().claims.len()
    }

    fn claim(self: &Arc<Self>, id: u64) -> Claim {
        Claim {
            table: Arc::clone(self),
            id,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a command of one owner may have written a file of another.
fn concerns(commander: Owner, cwd: &Path, writer: Owner, file: &Claimed) -> bool {
    commander == writer || file.identity.place.starts_with(cwd)
}

/// The claim of one call in flight; dropping it ends it.
#[derive(Debug)]
pub struct Claim {
    table: Arc<WriteTable>,
    id: u64,
}

/// What happened to a claimed file while the claim stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Only this call wrote it.
    Own,
    /// Another call in flight wrote it too.
    Shared,
    /// A command that may write any file ran.
    Alongside,
}

impl Claim {
    /// The verdict on the file at `index` of the claim.
    pub(super) fn verdict(&self, index: usize) -> Verdict {
        self.table.lock().verdict(self.id, index)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.table.lock().release(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(table: &Arc<WriteTable>, owner: Owner, path: &str) -> Claim {
        table.claim_files(owner, vec![Identity::of(Path::new(path))])
    }

    #[test]
    fn e3_a_file_of_two_calls_is_lost_to_both_however_they_end() {
        let table = Arc::new(WriteTable::default());
        let (one, two) = (table.owner(), table.owner());
        let first = claim(&table, one, "/none/a");
        let second = claim(&table, two, "/none/./a");
        let third = claim(&table, two, "/none/b");
        assert_eq!(first.verdict(0), Verdict::Shared);
        drop(first);
        assert_eq!(second.verdict(0), Verdict::Shared);
        assert_eq!(third.verdict(0), Verdict::Own);
        drop(second);
        assert_eq!(claim(&table, one, "/none/a").verdict(0), Verdict::Own);
    }

    #[test]
    fn e4_a_command_alongside_marks_its_own_instance_and_its_folder() {
        let table = Arc::new(WriteTable::default());
        let (one, two) = (table.owner(), table.owner());
        let mine = claim(&table, one, "/none/a");
        let below = claim(&table, two, "/else/sub/b");
        let apart = claim(&table, two, "/apart/c");
        drop(table.claim_unnamed(one, PathBuf::from("/else")));
        assert_eq!(mine.verdict(0), Verdict::Alongside);
        assert_eq!(below.verdict(0), Verdict::Alongside);
        assert_eq!(apart.verdict(0), Verdict::Own);
        let running = table.claim_unnamed(one, PathBuf::from("/else"));
        assert_eq!(claim(&table, one, "/none/d").verdict(0), Verdict::Alongside);
        drop(running);
        assert_eq!(table.in_flight(), 3);
    }
}

//! The files that calls in flight write, across all instances of a process (E3, E4).

use std::collections::BTreeMap;
use std::path::PathBuf;
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
    files: Vec<Claimed>,
    /// Where it may write besides: below this folder, and whatever its owner writes.
    anywhere: Option<PathBuf>,
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

    /// Claims files for a call, and whatever else it may write where there is a folder to `anywhere`. A file that another
    /// claim holds is lost to both from now on, even if one ends first.
    pub(super) fn claim(
        &mut self,
        owner: Owner,
        identities: Vec<Identity>,
        anywhere: Option<PathBuf>,
    ) -> u64 {
        let claimed = |identity| Claimed {
            identity,
            shared: false,
            alongside: false,
        };
        let mut entry = Entry {
            owner,
            files: identities.into_iter().map(claimed).collect(),
            anywhere,
        };
        for other in self.claims.values_mut() {
            entry.meet(other);
            other.meet(&mut entry);
        }
        self.next += 1;
        self.claims.insert(self.next, entry);
        self.next
    }

    /// Ends a claim.
    pub(super) fn release(&mut self, claim: u64) {
        self.claims.remove(&claim);
    }

    /// The verdict on the file at `index` of a claim.
    pub(super) fn verdict(&self, claim: u64, index: usize) -> Verdict {
        let file = self
            .claims
            .get(&claim)
            .and_then(|entry| entry.files.get(index));
        match file {
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
        }
    }
}

impl Entry {
    /// Marks the files of this claim that another call in flight may write too.
    fn meet(&mut self, other: &Self) {
        for file in &mut self.files {
            file.shared |= other.files.iter().any(|it| it.identity.is(&file.identity));
            file.alongside |= other.anywhere.as_ref().is_some_and(|folder| {
                other.owner == self.owner || file.identity.place.starts_with(folder)
            });
        }
    }
}

impl WriteTable {
    /// A new owner.
    pub fn owner(&self) -> Owner {
        self.lock().owner()
    }

    /// Claims files for a call and, where there is a folder to `anywhere`, all files of its own instance, and those of
    /// others that lie below that folder. The folder is where links lead; nothing here looks at the file system.
    pub(super) fn claim(
        self: &Arc<Self>,
        owner: Owner,
        identities: Vec<Identity>,
        anywhere: Option<PathBuf>,
    ) -> Claim {
        Claim {
            table: Arc::clone(self),
            id: self.lock().claim(owner, identities, anywhere),
        }
    }

    /// How many calls are in flight (E6).
    pub fn in_flight(&self) -> usize {
        self.lock().claims.len()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    use std::path::Path;

    use super::*;

    fn claim(table: &Arc<WriteTable>, owner: Owner, path: &str) -> Claim {
        table.claim(owner, vec![Identity::of(Path::new(path))], None)
    }

    fn command(table: &Arc<WriteTable>, owner: Owner, folder: &str) -> Claim {
        table.claim(owner, Vec::new(), Some(PathBuf::from(folder)))
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
        drop(command(&table, one, "/else"));
        assert_eq!(mine.verdict(0), Verdict::Alongside);
        assert_eq!(below.verdict(0), Verdict::Alongside);
        assert_eq!(apart.verdict(0), Verdict::Own);
        let running = command(&table, one, "/else");
        assert_eq!(claim(&table, one, "/none/d").verdict(0), Verdict::Alongside);
        drop(running);
        assert_eq!(table.in_flight(), 3);
    }
}

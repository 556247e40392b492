//! The files that calls in flight write, across all instances of a process (E3, E4).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::file::{Look, looked};
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
    anywhere: Option<Reach>,
}

/// Which files a call may write besides those that it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Those that calls of its own instance write. A host may hold many sessions, and what an unknown tool of one does
    /// must not cost the others their diffs: a subagent's, whose session that tool may even hold, are its own.
    Own,
    /// Those too that lie below this folder, which is where links lead.
    Below(PathBuf),
}

/// A file of a claim, and what happened to it while the claim stood.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claimed {
    wanted: Wanted,
    shared: bool,
    alongside: bool,
    /// What other calls would have written instead of this file.
    doubts: Vec<Said>,
}

/// A file that a claim is to hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    pub(super) identity: Identity,
    /// The place that the call's name says, where this is but another that it may mean.
    pub(super) instead_of: Option<Said>,
}

impl From<Identity> for Wanted {
    fn from(identity: Identity) -> Self {
        Self {
            identity,
            instead_of: None,
        }
    }
}

/// The place that a name says, and how it looked before the call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Said {
    path: PathBuf,
    looked: Result<Look, String>,
}

impl Said {
    /// Looks at the file system.
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            looked: looked(path),
        }
    }

    /// Whether nothing was written there, so that the call may still write, or have written, elsewhere.
    fn is_as_it_was(&self) -> bool {
        self.looked == looked(&self.path)
    }
}

impl Table {
    /// A new owner.
    pub(super) fn owner(&mut self) -> Owner {
        self.next += 1;
        Owner(self.next)
    }

    /// Claims files for a call, and what else it may write. A file that another claim holds is lost to both from now on,
    /// even if one ends first.
    pub(super) fn claim(
        &mut self,
        owner: Owner,
        wanted: Vec<Wanted>,
        anywhere: Option<Reach>,
    ) -> u64 {
        let claimed = |wanted| Claimed {
            wanted,
            shared: false,
            alongside: false,
            doubts: Vec::new(),
        };
        let mut entry = Entry {
            owner,
            files: wanted.into_iter().map(claimed).collect(),
            anywhere,
        };
        for other in self.claims.values_mut() {
            entry.meet(other);
            other.meet(&entry);
        }
        self.next += 1;
        self.claims.insert(self.next, entry);
        self.next
    }

    /// Ends a claim.
    pub(super) fn release(&mut self, claim: u64) {
        self.claims.remove(&claim);
    }

    /// The verdict on the file at `index` of a claim. It is [`Verdict::Alongside`] rather than [`Verdict::Own`] where one
    /// of the places that come with it is as it was.
    pub(super) fn verdict(&self, claim: u64, index: usize) -> (Verdict, &[Said]) {
        let file = self
            .claims
            .get(&claim)
            .and_then(|entry| entry.files.get(index));
        match file {
            Some(file) if !file.shared && file.alongside => (Verdict::Alongside, &[]),
            Some(file) if !file.shared => (Verdict::Own, &file.doubts),
            _ => (Verdict::Shared, &[]),
        }
    }
}

impl Entry {
    /// Marks the files of this claim that another call in flight may write too.
    fn meet(&mut self, other: &Self) {
        for file in &mut self.files {
            let same = |it: &&Claimed| it.wanted.identity.is(&file.wanted.identity);
            for it in other.files.iter().filter(same) {
                match (&file.wanted.instead_of, &it.wanted.instead_of) {
                    // The other only may mean this file, and it will show whether it does.
                    (None, Some(said)) => file.doubts.push(said.clone()),
                    _ => file.shared = true,
                }
            }
            file.alongside |= match &other.anywhere {
                Some(_) if other.owner == self.owner => true,
                Some(Reach::Below(folder)) => file.wanted.identity.place.starts_with(folder),
                Some(Reach::Own) | None => false,
            };
        }
    }
}

impl WriteTable {
    /// A new owner.
    pub fn owner(&self) -> Owner {
        self.lock().owner()
    }

    /// Claims files for a call, and what else it may write. Nothing here looks at the file system.
    pub(super) fn claim(
        self: &Arc<Self>,
        owner: Owner,
        wanted: Vec<Wanted>,
        anywhere: Option<Reach>,
    ) -> Claim {
        Claim {
            table: Arc::clone(self),
            id: self.lock().claim(owner, wanted, anywhere),
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
    /// A command that may write any file ran, or a call whose name may mean this one.
    Alongside,
}

impl Claim {
    /// The verdict on the file at `index` of the claim. Looks at the file system where another call may have meant it.
    pub(super) fn verdict(&self, index: usize) -> Verdict {
        let (verdict, doubts) = {
            let table = self.table.lock();
            let (verdict, doubts) = table.verdict(self.id, index);
            (verdict, doubts.to_vec())
        };
        if doubts.iter().any(Said::is_as_it_was) {
            Verdict::Alongside
        } else {
            verdict
        }
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
        table.claim(owner, vec![Identity::of(Path::new(path)).into()], None)
    }

    fn command(table: &Arc<WriteTable>, owner: Owner, folder: &str) -> Claim {
        table.claim(owner, Vec::new(), Some(Reach::Below(PathBuf::from(folder))))
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

    #[test]
    fn e4_a_tool_that_is_not_known_marks_its_own_instance_alone() {
        let table = Arc::new(WriteTable::default());
        let (one, two) = (table.owner(), table.owner());
        let unknown = |owner| drop(table.claim(owner, Vec::new(), Some(Reach::Own)));
        let file = claim(&table, one, "/none/a");
        unknown(two);
        assert_eq!(file.verdict(0), Verdict::Own);
        unknown(one);
        assert_eq!(file.verdict(0), Verdict::Alongside);
    }
}

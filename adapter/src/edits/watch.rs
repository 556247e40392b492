//! One call that writes files, from before it runs until its result (E1, E3, E6).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::arguments::{Writes, named_writes};
use super::identity::{Identity, resolve};
use super::outcome::{Budget, Entry};
use super::paths::{self, Places, Repository};
use super::place::{Found, Place};
use super::writes::{Claim, Owner, Reach, Said, Verdict, Wanted, WriteTable};
use crate::texts;

/// The files of one call: the claim on them, and their text before it ran.
#[derive(Debug)]
pub struct Watch {
    claim: Claim,
    files: Vec<Named>,
    /// What it took of the call's budget to learn of them and to read them.
    spent: Duration,
}

/// A file as the call named it.
#[derive(Debug)]
struct Named {
    name: String,
    places: Vec<Place>,
}

impl Watch {
    /// As [`Watch::begin`], from the call itself. Reading large arguments takes its part of the budget.
    #[must_use]
    pub fn begin_call(
        table: &Arc<WriteTable>,
        owner: Owner,
        (tool, input): (&str, &Value),
        cwd: &Path,
        home: Option<&Path>,
        budget: &Budget,
    ) -> Option<Self> {
        let started = Instant::now();
        let writes = named_writes(tool, input);
        let took = started.elapsed();
        let mut watch = Self::begin(table, owner, &writes, cwd, home, budget)?;
        watch.spent += took;
        Some(watch)
    }

    /// Claims what a call writes and reads it, for as long as `budget` allows. Blocks on the file system. `None` where it
    /// writes nothing.
    ///
    /// The claim comes first: what another call writes between the two is then known to be shared.
    #[must_use]
    pub fn begin(
        table: &Arc<WriteTable>,
        owner: Owner,
        writes: &Writes,
        cwd: &Path,
        home: Option<&Path>,
        budget: &Budget,
    ) -> Option<Self> {
        Self::begin_around(table, owner, writes, cwd, home, budget, || {})
    }

    /// Begins, and does something whenever a file was read.
    fn begin_around<'a>(
        table: &Arc<WriteTable>,
        owner: Owner,
        writes: &'a Writes,
        cwd: &Path,
        home: Option<&Path>,
        budget: &Budget,
        mut read: impl FnMut(),
    ) -> Option<Self> {
        let started = Instant::now();
        let named = match writes {
            Writes::Nothing => return None,
            Writes::Unnamed => return Some(Self::unnamed(table, owner, resolve(cwd))),
            Writes::Unknown => return Some(Self::unknown(table, owner)),
            Writes::Files(named) => named,
        };
        let repository = Repository::of(cwd);
        let of_graph = |name: &'a String| (name, repository.places(name));
        let is_there = |(_, places): &(_, Places)| {
            let mut places = places.said.iter().chain(&places.guessed);
            places.any(|path| paths::is_there(path))
        };
        let names: Vec<(&String, Places)> = if named.diffs {
            let cuts = named.cuts.iter().map(of_graph).filter(is_there);
            named.paths.iter().map(of_graph).chain(cuts).collect()
        } else {
            let of_pi = |name: &'a String| (name, Places::only(paths::pi_place(cwd, home, name)));
            named.paths.iter().map(of_pi).collect()
        };
        let (wanted, found) = wanted(&names);
        if wanted.is_empty() {
            return None;
        }
        let identities: Vec<Identity> = wanted.iter().map(|file| file.identity.clone()).collect();
        let anywhere = named.more.then(|| Reach::Below(resolve(cwd)));
        let claim = table.claim(owner, wanted, anywhere);
        let mut begin = |name: &String, found: Vec<(PathBuf, usize)>, order| {
            let places = found.into_iter().map(|(path, index)| {
                let identity = identities[index].clone();
                let place = Place::begin(path, index, identity, order, budget);
                read();
                place
            });
            Named {
                name: name.clone(),
                places: places.collect(),
            }
        };
        let files = if named.diffs {
            let found = names.iter().zip(found).enumerate();
            found
                .map(|(order, ((name, _), found))| begin(name, found, order))
                .collect()
        } else {
            Vec::new()
        };
        Some(Self {
            claim,
            files,
            spent: started.elapsed(),
        })
    }

    /// Claims all that a call in `folder` may write, where links lead. Does not block.
    #[must_use]
    pub fn unnamed(table: &Arc<WriteTable>, owner: Owner, folder: PathBuf) -> Self {
        Self::anywhere(table, owner, Reach::Below(folder))
    }

    /// Claims what a tool may write that is not known. Does not block.
    #[must_use]
    pub fn unknown(table: &Arc<WriteTable>, owner: Owner) -> Self {
        Self::anywhere(table, owner, Reach::Own)
    }

    fn anywhere(table: &Arc<WriteTable>, owner: Owner, reach: Reach) -> Self {
        Self {
            claim: table.claim(owner, Vec::new(), Some(reach)),
            files: Vec::new(),
            spent: Duration::ZERO,
        }
    }

    /// Whether the call's result is to show diffs.
    #[must_use]
    pub fn shows_diffs(&self) -> bool {
        !self.files.is_empty()
    }

    /// Compares each file with what it holds now. Blocks on the file system, and ends soon after the call's `budget` is
    /// used up, of which reading took its part already. `failed` says that the call reported an error. Diagnostics go
    /// to `log`, a line each.
    #[must_use]
    pub fn finish(&self, failed: bool, budget: Budget, log: &mut Vec<String>) -> Vec<Entry> {
        self.finish_around(failed, budget, log, |_| {})
    }

    /// Finishes, and does something at each moment that matters.
    fn finish_around(
        &self,
        failed: bool,
        mut budget: Budget,
        log: &mut Vec<String>,
        mut at: impl FnMut(Moment),
    ) -> Vec<Entry> {
        budget.less(self.spent);
        let mut entries = Vec::new();
        let mut told: Vec<&Place> = Vec::new();
        for file in &self.files {
            if budget.stopped() {
                break;
            }
            let change = self.change(file, failed, &budget, log);
            at(Moment::Read);
            let Some((place, found)) = change else {
                continue;
            };
            if told.iter().any(|other| other.is_one_with(place)) {
                continue;
            }
            told.push(place);
            let index = place.index;
            let entry = match (self.claim.verdict(index), found) {
                (Verdict::Shared, _) => continue,
                _ if failed => Entry::note(&file.name, texts::NOTE_UNKNOWN),
                (Verdict::Alongside, _) => Entry::note(&file.name, texts::NOTE_ALONGSIDE),
                (Verdict::Own, Found::Note(note)) => Entry::note(&file.name, note),
                (Verdict::Own, Found::Change(change)) => {
                    Entry::compare(&file.name, &change, &mut budget)
                }
            };
            at(Moment::Compared);
            // Another call may have claimed the file while it was compared.
            if self.claim.verdict(index) != Verdict::Shared {
                entries.push(entry);
            }
        }
        entries
    }

    /// The one place of a name that changed.
    fn change<'a>(
        &self,
        file: &'a Named,
        failed: bool,
        budget: &Budget,
        log: &mut Vec<String>,
    ) -> Option<(&'a Place, Found<'a>)> {
        let mut changes: Vec<(&Place, Found<'_>)> = Vec::new();
        for place in &file.places {
            if let Some(found) = place.end(failed, budget, log)
                && !changes.iter().any(|(other, _)| other.is_one_with(place))
            {
                changes.push((place, found));
            }
        }
        // Another call explains what it wrote. Where more is left, nothing tells which place the call meant.
        if changes.len() > 1 {
            changes.retain(|(place, _)| self.claim.verdict(place.index) != Verdict::Shared);
        }
        let change = changes.pop();
        change.filter(|_| changes.is_empty())
    }

    /// The notes of a call whose files could not be compared in time.
    #[must_use]
    pub fn give_up(&self) -> Vec<Entry> {
        self.files
            .iter()
            .map(|file| Entry::note(&file.name, texts::NOTE_COSTLY))
            .collect()
    }
}

/// The files behind all places that names may mean, and for each name its places with their files' indices.
///
/// What names say goes before what they may mean: a call that names a file and, elsewhere, a namesake one folder up
/// means both as they stand.
fn wanted(names: &[(&String, Places)]) -> (Vec<Wanted>, Vec<Vec<(PathBuf, usize)>>) {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut found = Vec::new();
    for (_, places) in names {
        let mut own: Vec<(PathBuf, usize)> = Vec::new();
        for path in &places.said {
            let identity = Identity::of(path);
            let is_known =
                |(_, index): &(_, usize)| wanted[*index].identity.place == identity.place;
            if !own.iter().any(is_known) {
                own.push((path.clone(), wanted.len()));
                wanted.push(identity.into());
            }
        }
        found.push(own);
    }
    for ((_, places), own) in names.iter().zip(&mut found) {
        for path in &places.guessed {
            let identity = Identity::of(path);
            if !wanted.iter().any(|known| known.identity.is(&identity)) {
                own.push((path.clone(), wanted.len()));
                wanted.push(Wanted {
                    identity,
                    instead_of: places.said.first().map(|said| Said::at(said)),
                });
            }
        }
    }
    (wanted, found)
}

/// How far a file is when a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// It was read at one place.
    Read,
    /// What is shown of it is known.
    Compared,
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::super::arguments::NamedFiles;
    use super::super::place::{MAX_BYTES, MAX_COMPARED};
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn budget(time: Duration) -> Budget {
        Budget::new(time, CancellationToken::new())
    }

    /// A watch on files of a folder, as a call names them.
    fn watch(folder: &Path, names: &[&str], budget: &Budget) -> Watch {
        let table = Arc::new(WriteTable::default());
        let writes = Writes::Files(NamedFiles {
            paths: names.iter().map(|name| (*name).to_owned()).collect(),
            diffs: true,
            ..NamedFiles::default()
        });
        Watch::begin(&table, table.owner(), &writes, folder, None, budget).expect("a watch")
    }

    #[test]
    fn e4_o09_reading_and_comparing_share_one_budget() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("f");
        std::fs::write(&file, "1\n").expect("file");
        let mut watch = watch(folder.path(), &["f"], &budget(HOUR));
        assert!(watch.spent > Duration::ZERO);
        std::fs::write(&file, "22\n").expect("file");
        let mut finish = |spent| {
            watch.spent = spent;
            watch.finish(false, budget(HOUR), &mut Vec::new())
        };
        assert!(matches!(finish(Duration::ZERO)[..], [Entry::Diff { .. }]));
        assert_eq!(finish(HOUR), [Entry::note("f", texts::NOTE_COSTLY)]);
    }

    #[test]
    fn e4_o09_over_the_budget_only_what_changed_gets_a_note() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["same", "grown"] {
            std::fs::write(folder.path().join(name), "1\n").expect("file");
        }
        let names = ["same", "grown", "new"];
        for before in [Duration::ZERO, HOUR] {
            let watch = watch(folder.path(), &names, &budget(before));
            std::fs::write(folder.path().join("grown"), format!("{before:?}")).expect("file");
            std::fs::write(folder.path().join("new"), "").expect("file");
            let entries = watch.finish(false, budget(Duration::ZERO), &mut Vec::new());
            let note = |name| Entry::note(name, texts::NOTE_COSTLY);
            assert_eq!(entries, [note("grown"), note("new")]);
            std::fs::remove_file(folder.path().join("new")).expect("removed");
        }
    }

    #[test]
    fn e4_what_is_over_a_bound_gets_its_reason() {
        let folder = tempfile::tempdir().expect("folder");
        let write = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).expect("file");
        };
        let large = vec![b'x'; MAX_BYTES as usize + 1];
        let full = &large[1..];
        for name in ["grows", "full"] {
            write(name, full);
        }
        for name in ["shrinks", "stays large", "changes"] {
            write(name, &large);
        }
        let many: Vec<String> = (0..=MAX_COMPARED).map(|file| format!("f{file}")).collect();
        let first = ["grows", "full", "shrinks", "stays large", "changes"];
        let rest = many.iter().map(String::as_str);
        let names: Vec<&str> = first.into_iter().chain(rest).collect();
        let watch = watch(folder.path(), &names, &budget(HOUR));
        write("grows", &large);
        write("full", &full[1..]);
        write("shrinks", full);
        write("changes", &[&large[..], b"y"].concat());
        for name in &many {
            write(name, b"new\n");
        }
        let entries = watch.finish(false, budget(HOUR), &mut Vec::new());
        let told: Vec<(&str, Option<&str>)> = entries
            .iter()
            .map(|entry| match entry {
                Entry::Diff { path, .. } => (path.as_str(), None),
                Entry::Note { path, note } => (path.as_str(), Some(*note)),
            })
            .collect();
        let large = Some(texts::NOTE_LARGE);
        let first = [
            ("grows", large),
            ("full", None),
            ("shrinks", large),
            ("changes", large),
        ];
        let compared = MAX_COMPARED - 5;
        let rest = many.iter().enumerate().map(|(file, name)| {
            let note = (file >= compared).then_some(texts::NOTE_MANY);
            (name.as_str(), note)
        });
        assert_eq!(told, first.into_iter().chain(rest).collect::<Vec<_>>());
    }

    /// Another call, from before it writes until it has ended.
    fn another(table: &Arc<WriteTable>, file: &Path, named: bool) {
        let claim = if named {
            table.claim(table.owner(), vec![Identity::of(file).into()], None)
        } else {
            let folder = resolve(file.parent().expect("a folder"));
            table.claim(table.owner(), Vec::new(), Some(Reach::Below(folder)))
        };
        std::fs::write(file, "another's\n").expect("file");
        drop(claim);
    }

    #[test]
    fn e3_e4_a_call_that_comes_and_goes_at_any_moment_is_known() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("f");
        let note = vec![Entry::note("f", texts::NOTE_ALONGSIDE)];
        // When it comes: as the file was read before the call, as it was read after it, as it was compared.
        for (moment, named, shown) in [
            (None, true, vec![]),
            (None, false, note.clone()),
            (Some(Moment::Read), true, vec![]),
            (Some(Moment::Read), false, note),
            (Some(Moment::Compared), true, vec![]),
        ] {
            std::fs::write(&file, "1\n").expect("file");
            let table = Arc::new(WriteTable::default());
            let writes = Writes::Files(NamedFiles {
                paths: vec!["f".to_owned()],
                cuts: Vec::new(),
                more: false,
                diffs: true,
            });
            let comes = |now| {
                if now == moment {
                    another(&table, &file, named);
                }
            };
            let owner = table.owner();
            let cwd = folder.path();
            let watch =
                Watch::begin_around(&table, owner, &writes, cwd, None, &budget(HOUR), || {
                    comes(None);
                })
                .expect("a watch");
            std::fs::write(&file, "22\n").expect("file");
            let entries =
                watch.finish_around(false, budget(HOUR), &mut Vec::new(), |now| comes(Some(now)));
            assert_eq!(entries, shown, "{moment:?}, named: {named}");
        }
    }

    #[test]
    fn e4_work_that_nobody_waits_for_stops() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("f"), "1\n").expect("file");
        let watch = watch(folder.path(), &["f"], &budget(HOUR));
        std::fs::write(folder.path().join("f"), "22\n").expect("file");
        let stop = CancellationToken::new();
        stop.cancel();
        let stopped = Budget::new(HOUR, stop);
        assert_eq!(watch.finish(false, stopped, &mut Vec::new()), []);
    }
}

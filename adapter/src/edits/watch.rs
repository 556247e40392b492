//! One call that writes files, from before it runs until its result (E1, E3, E6).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::arguments::Writes;
use super::file::{FileText, read_regular};
use super::identity::{Identity, resolve};
use super::outcome::{Change, Entry};
use super::writes::{Claim, Owner, Verdict, WriteTable};
use super::{outcome, paths};
use crate::line::one_line;
use crate::texts;

/// The largest file that is compared, in bytes (E4).
const MAX_BYTES: u64 = 1024 * 1024;

/// The files of one call: the claim on them, and their text before it ran.
#[derive(Debug)]
pub struct Watch {
    claim: Claim,
    files: Vec<Named>,
    /// What reading them took of the call's budget.
    spent: Duration,
}

/// A file as the call named it.
#[derive(Debug)]
struct Named {
    name: String,
    places: Vec<Place>,
}

/// Somewhere that the name may mean.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Index in the claim.
    index: usize,
    before: Result<FileText, String>,
}

impl Watch {
    /// Claims what a call writes and reads it. Blocks on the file system. `None` where it writes nothing.
    ///
    /// The claim comes first: what another call writes between the two is then known to be shared.
    #[must_use]
    pub fn begin(
        table: &Arc<WriteTable>,
        owner: Owner,
        writes: &Writes,
        cwd: &Path,
        home: Option<&Path>,
    ) -> Option<Self> {
        let started = Instant::now();
        let (names, diffs) = match writes {
            Writes::Nothing => return None,
            Writes::Unnamed => return Some(Self::unnamed(table, owner, resolve(cwd))),
            Writes::Files { paths, diffs } => (paths, *diffs),
        };
        let mut identities: Vec<Identity> = Vec::new();
        let mut files = Vec::new();
        for name in names {
            let places = if diffs {
                paths::graph_places(cwd, name)
            } else {
                vec![paths::pi_place(cwd, home, name)]
            };
            let mut fresh = Vec::new();
            for path in places {
                let identity = Identity::of(&path);
                // A second name of one file within a call adds nothing.
                if !identities.iter().any(|known| known.is(&identity)) {
                    fresh.push((path, identities.len()));
                    identities.push(identity);
                }
            }
            files.push((name.clone(), fresh));
        }
        if identities.is_empty() {
            return None;
        }
        let claim = table.claim_files(owner, identities);
        let read = |(path, index): (PathBuf, usize)| Place {
            before: read(&path),
            path,
            index,
        };
        let named = |(name, fresh): (String, Vec<_>)| Named {
            name,
            places: fresh.into_iter().map(read).collect(),
        };
        let files = if diffs {
            files.into_iter().map(named).collect()
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
        Self {
            claim: table.claim_unnamed(owner, folder),
            files: Vec::new(),
            spent: Duration::ZERO,
        }
    }

    /// Whether the call's result is to show diffs.
    #[must_use]
    pub fn shows_diffs(&self) -> bool {
        !self.files.is_empty()
    }

    /// Compares each file with what it holds now. Blocks on the file system, and ends soon after the `budget` for the
    /// call is used up, of which reading took its part already. `failed` says that the call reported an error.
    /// Diagnostics go to `log`, a line each.
    #[must_use]
    pub fn finish(&self, failed: bool, budget: Duration, log: &mut Vec<String>) -> Vec<Entry> {
        let left = budget.saturating_sub(self.spent);
        let mut budget = outcome::Budget::until(Instant::now() + left);
        let mut entries = Vec::new();
        for file in &self.files {
            let mut changes = file.places.iter().filter_map(|place| {
                let change = changed(place, failed, log)?;
                Some((place.index, change))
            });
            // Where both places of one name changed, nothing tells which the call meant.
            let (Some((index, change)), None) = (changes.next(), changes.next()) else {
                continue;
            };
            let entry = match self.claim.verdict(index) {
                Verdict::Shared => continue,
                _ if failed => Entry::note(&file.name, texts::NOTE_UNKNOWN),
                Verdict::Alongside => Entry::note(&file.name, texts::NOTE_ALONGSIDE),
                Verdict::Own => Entry::compare(&file.name, &change, &mut budget),
            };
            // Another call may have claimed the file while it was compared.
            if self.claim.verdict(index) != Verdict::Shared {
                entries.push(entry);
            }
        }
        entries
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

fn read(path: &Path) -> Result<FileText, String> {
    read_regular(path, MAX_BYTES).map_err(|error| error.kind().to_string())
}

/// The change at a place, or `None` where there is none that could be shown.
fn changed(place: &Place, failed: bool, log: &mut Vec<String>) -> Option<Change> {
    match (&place.before, read(&place.path)) {
        (Ok(before), Ok(after)) if shown(before) && shown(&after) => {
            if *before == after {
                None
            } else {
                Change::between(before, &after)
            }
        }
        // A call that failed is likely to have failed at this very place, and tells so itself.
        (before, after) if failed && *before == after => None,
        // Where the text was read neither before nor after, it may have changed all the same (O11).
        (before, after) => {
            let cause = [
                before.as_ref().map_or_else(Clone::clone, describe),
                after.as_ref().map_or_else(Clone::clone, describe),
            ];
            let path = place.path.to_string_lossy();
            log.push(format!(
                "no diff of {}: {} before, {} after",
                one_line(&path, 200),
                cause[0],
                cause[1]
            ));
            None
        }
    }
}

fn shown(text: &FileText) -> bool {
    !matches!(text, FileText::LeftOut(_))
}

fn describe(text: &FileText) -> String {
    match text {
        FileText::Absent => "absent",
        FileText::Text(_) => "text",
        FileText::LeftOut(cause) => cause,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e4_o09_reading_and_comparing_share_one_budget() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("f");
        std::fs::write(&file, "1\n").expect("file");
        let table = Arc::new(WriteTable::default());
        let writes = Writes::Files {
            paths: vec!["f".to_owned()],
            diffs: true,
        };
        let mut watch =
            Watch::begin(&table, table.owner(), &writes, folder.path(), None).expect("a watch");
        assert!(watch.spent > Duration::ZERO);
        std::fs::write(&file, "2\n").expect("file");
        let hour = Duration::from_secs(3600);
        let mut finish = |spent| {
            watch.spent = spent;
            watch.finish(false, hour, &mut Vec::new())
        };
        assert!(matches!(finish(Duration::ZERO)[..], [Entry::Diff { .. }]));
        assert_eq!(finish(hour), [Entry::note("f", texts::NOTE_COSTLY)]);
    }
}

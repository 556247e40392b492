//! A place that a name may mean, from before a call until its result (E3, E4, O11).

use std::path::{Path, PathBuf};

use super::file::{FileText, LeftOut, Look, looked, read_settled};
use super::identity::Identity;
use super::outcome::{Budget, Change};
use crate::line::one_line;
use crate::texts;

/// The largest file that is compared, in bytes (E4).
pub(super) const MAX_BYTES: u64 = 1024 * 1024;
/// Files of one call that are compared (E4). The others are claimed and looked at, and get a note where they changed.
pub(super) const MAX_COMPARED: usize = 64;

/// Somewhere that the name may mean.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// Index in the claim.
    pub(super) index: usize,
    identity: Identity,
    before: Before,
    /// How it looked then, to tell a change where it is not read again.
    looked: Result<Look, String>,
}

/// What was there before the call.
#[derive(Debug)]
enum Before {
    /// This.
    Read(Result<FileText, String>),
    /// It was not read, for the reason of the note.
    Unread(&'static str),
}

/// What became of a file.
pub(super) enum Found<'a> {
    /// Another text.
    Change(Change<'a>),
    /// Something that is not shown, for the reason of the note.
    Note(&'static str),
}

impl Place {
    /// Reads what is there before the call, the file being the call's `order`-th.
    pub(super) fn begin(
        path: PathBuf,
        index: usize,
        identity: Identity,
        order: usize,
        budget: &Budget,
    ) -> Self {
        let looked = looked(&path);
        let before = if order >= MAX_COMPARED {
            Before::Unread(texts::NOTE_MANY)
        } else if budget.expired() {
            Before::Unread(texts::NOTE_COSTLY)
        } else {
            Before::Read(read(&path))
        };
        Self {
            path,
            index,
            identity,
            before,
            looked,
        }
    }

    /// Whether two places were one file before the call and are now: a file that was renamed over one of two hard links,
    /// or that differs in case only from one made beside it, is another.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        self.identity.is_same(&other.identity)
            && Identity::of(&self.path).is_same(&Identity::of(&other.path))
    }

    /// What became of it, or `None` where nothing did, or nothing that could be told.
    pub(super) fn end(
        &self,
        failed: bool,
        budget: &Budget,
        log: &mut Vec<String>,
    ) -> Option<Found<'_>> {
        let unread = |note| (self.looked != looked(&self.path)).then_some(Found::Note(note));
        let before = match &self.before {
            Before::Unread(note) => return unread(note),
            Before::Read(_) if budget.expired() => return unread(texts::NOTE_COSTLY),
            Before::Read(before) => before,
        };
        let after = read(&self.path);
        let one_is = |why| [before, &after].contains(&&Ok(FileText::LeftOut(why)));
        // Two texts that were not of one moment are not known to be the same either.
        if one_is(LeftOut::Changing) {
            return Some(Found::Note(texts::NOTE_CHANGING));
        }
        if one_is(LeftOut::TooLarge) {
            return unread(texts::NOTE_LARGE);
        }
        // Where the text was read neither before nor after, it may have changed all the same (O11). Only a call that
        // failed is likely to have failed at this very place, and tells so itself.
        let readable = matches!(after, Ok(FileText::Absent | FileText::Text(_)));
        if *before == after && (readable || failed) {
            return None;
        }
        let told = (describe(before), describe(&after));
        let texts = (
            before.as_ref().ok().and_then(FileText::text),
            after.ok().and_then(FileText::into_text),
        );
        if let (Some(before), Some(after)) = texts {
            return Change::between(before.into(), after.into()).map(Found::Change);
        }
        let path = self.path.to_string_lossy();
        let path = one_line(&path, 200);
        log.push(format!(
            "no diff of {path}: {} before, {} after",
            told.0, told.1
        ));
        None
    }
}

fn read(path: &Path) -> Result<FileText, String> {
    read_settled(path, MAX_BYTES).map_err(|error| error.kind().to_string())
}

fn describe(text: &Result<FileText, String>) -> String {
    match text {
        Ok(FileText::Absent) => "absent".to_owned(),
        Ok(FileText::Text(_)) => "text".to_owned(),
        Ok(FileText::LeftOut(why)) => why.as_str().to_owned(),
        Err(error) => error.clone(),
    }
}

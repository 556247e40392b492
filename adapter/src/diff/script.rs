//! The line edits that turn one text into another.

use std::hash::Hasher;

use memchr::memchr_iter;
use rustc_hash::FxHasher;

use super::search::{Marked, Search};

/// How much work a search may do.
pub struct Effort<'a> {
    /// Steps: a diagonal visited or a pair of equal lines walked over is one, a line that is split off is
    /// [`Effort::LINE`] and an edit more that the search tries is [`Effort::ROW`], by what they take beside the first two.
    /// Counting them bounds the work where the clock stands still (virtual time), ends it on each machine at the same
    /// place, and bounds the memory everywhere: each diagonal keeps four bytes.
    pub steps: u64,
    /// Asked before the search and now and then in it; true ends it.
    pub expired: &'a (dyn Fn() -> bool + Sync),
}

impl Effort<'_> {
    /// No bound at all.
    pub const UNBOUNDED: Effort<'static> = Effort {
        steps: u64::MAX,
        expired: &|| false,
    };

    /// Steps of splitting off one line and marking it.
    pub(super) const LINE: u64 = 2;
    /// Steps of one more row of the search, whatever it holds.
    pub(super) const ROW: u64 = 10;
    /// Steps between two looks at `expired`.
    pub(super) const LOOK_EVERY: u64 = 4096;
}

/// What happens to the lines of a [`Part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// They stand in both texts.
    Equal,
    /// They stand in the old text only.
    Removed,
    /// They stand in the new text only.
    Added,
}

impl PartKind {
    /// The character that both formats put before such a line.
    pub(super) fn sign(self) -> char {
        match self {
            Self::Equal => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A run of lines with one fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Their fate.
    pub kind: PartKind,
    /// Index of the first, in the new text for added lines and in the old one otherwise.
    pub start: usize,
    /// How many.
    pub len: usize,
}

/// The line edits between two texts. A line ends after its LF and at nothing else (O06).
#[derive(Clone, Debug)]
pub struct Script<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    parts: Vec<Part>,
    steps: u64,
}

impl<'a> Script<'a> {
    /// Finds the edits, or `None` when they cost more than `effort` allows.
    #[must_use]
    pub fn between(old: &'a str, new: &'a str, effort: &Effort<'_>) -> Option<Self> {
        let (old_count, new_count) = (count(old), count(new));
        let splitting = Effort::LINE * (old_count + new_count);
        // Each line that one text has more is an edit.
        let least = splitting + Effort::ROW * old_count.abs_diff(new_count);
        if least > effort.steps || (effort.expired)() {
            return None;
        }
        let old = lines(old);
        let new = lines(new);
        let (old_marks, new_marks) = (marks(&old), marks(&new));
        let texts = [Marked::of(&old, &old_marks), Marked::of(&new, &new_marks)];
        let (parts, steps) = Search::run(texts, splitting, effort)?;
        Some(Self {
            old,
            new,
            parts,
            steps,
        })
    }

    /// The parts in order; two neighbours never have the same kind.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many steps finding them took, as [`Effort`] counts.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The lines of a part of this script, each with its LF where it has one.
    #[must_use]
    pub fn lines(&self, part: &Part) -> &[&'a str] {
        let text = if part.kind == PartKind::Added {
            &self.new
        } else {
            &self.old
        };
        text.get(part.start..)
            .and_then(|rest| rest.get(..part.len))
            .unwrap_or_default()
    }

    /// Lines of the longer text, where an ending newline counts as the start of one more.
    pub(super) fn longest(&self) -> usize {
        let count = |lines: &[&str]| match lines.last() {
            Some(last) if !last.ends_with('\n') => lines.len(),
            _ => lines.len() + 1,
        };
        count(&self.old).max(count(&self.new))
    }
}

/// How many lines a text has, or one less where the last one has no LF.
fn count(text: &str) -> u64 {
    memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// A text's lines, each with its LF where it has one.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr_iter(b'\n', text.as_bytes()) {
        lines.extend(text.get(start..=end));
        start = end + 1;
    }
    lines.extend(text.get(start..).filter(|rest| !rest.is_empty()));
    lines
}

/// A short mark of each line: two lines of different marks differ. Two of one mark are compared, so that nobody who
/// writes a file can make the search take two lines for one, and no table can be filled with lines that collide.
fn marks(lines: &[&str]) -> Vec<u32> {
    lines
        .iter()
        .map(|line| {
            let mut hasher = FxHasher::default();
            hasher.write(line.as_bytes());
            hasher.finish() as u32
        })
        .collect()
}

//! The numbered diff that Pi stores as `details.diff` and its terminal draws.

use std::fmt::Write;
use std::ops::Range;

use super::script::{Part, PartKind, Script};

/// A numbered diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffString {
    /// Lines joined by LF, without a last one; empty where nothing changed.
    pub diff: String,
    /// Number of the first changed line in the new text, from 1; `None` where nothing changed.
    pub first_changed_line: Option<usize>,
}

impl Script<'_> {
    /// How many lines [`Script::display`] writes at most, and [`Script::patch`] too but for the heads of its hunks.
    #[must_use]
    pub fn shown(&self, context: usize) -> usize {
        let lines = |part: &Part| match part.kind {
            PartKind::Equal => part.len.min(2 * context + 1),
            PartKind::Removed | PartKind::Added => part.len,
        };
        self.parts().iter().map(lines).sum()
    }

    /// Writes the numbered diff with so many unchanged lines around each change.
    ///
    /// Removed and unchanged lines carry the old text's numbers, added ones the new text's.
    #[must_use]
    pub fn display(&self, context: usize) -> DiffString {
        let width = self.longest().to_string().len();
        let mut diff = String::new();
        let mut first_changed_line = None;
        let (mut old_number, mut new_number) = (1, 1);
        for (index, part) in self.parts().iter().enumerate() {
            let texts = self.lines(part);
            let from = if part.kind == PartKind::Added {
                new_number
            } else {
                old_number
            };
            let numbered = |diff: &mut String, range: Range<usize>| {
                let numbers = from + range.start..;
                for (text, number) in texts[range].iter().zip(numbers) {
                    let text = text.strip_suffix('\n').unwrap_or(text);
                    // Writing to a string cannot fail.
                    let _ = writeln!(diff, "{}{number:>width$} {text}", part.kind.sign());
                }
            };
            // Unchanged lines are shown where a change stands beside them; a text without one shows nothing.
            let head = if index > 0 { context } else { 0 };
            let tail = if index + 1 < self.parts().len() {
                context
            } else {
                0
            };
            if part.kind != PartKind::Equal {
                first_changed_line.get_or_insert(new_number);
                numbered(&mut diff, 0..part.len);
            } else if head + tail >= part.len {
                numbered(&mut diff, 0..part.len);
            } else if self.parts().len() > 1 {
                numbered(&mut diff, 0..head);
                let _ = writeln!(diff, " {:width$} ...", "");
                numbered(&mut diff, part.len - tail..part.len);
            }
            if part.kind != PartKind::Added {
                old_number += part.len;
            }
            if part.kind != PartKind::Removed {
                new_number += part.len;
            }
        }
        // Lines are joined by LF, and each was written with one.
        diff.pop();
        DiffString {
            diff,
            first_changed_line,
        }
    }
}

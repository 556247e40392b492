//! Where the texts of an edit are in a file, and what the file becomes (pi-host.md 13).

use std::ops::Range;

use super::loose::{self, Loose};

/// A part of a text, by bytes, and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// One member of `edits`, with LF line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) old: String,
    pub(super) new: String,
}

/// Why a file is left as it is. Numbers are indices into `edits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The old text is empty.
    Empty(usize),
    /// The old text is nowhere.
    Missing(usize),
    /// The old text is in several places.
    Ambiguous(usize, usize),
    /// Two edits want the same place.
    Overlap(usize, usize),
    /// The loose form of the file has fewer lines: its last one is white space without a line end.
    LineLost,
    /// The loose form of the file is empty, and so is that of the old text.
    Nowhere,
    /// The file would become what it is.
    Unchanged,
}

impl Refusal {
    /// What the model reads. A single edit is called by no number.
    pub(super) fn text(self, path: &str, is_single: bool) -> String {
        match (self, is_single) {
            (Self::Empty(_), true) => format!("oldText must not be empty in {path}."),
            (Self::Empty(edit), false) => {
                format!("edits[{edit}].oldText must not be empty in {path}.")
            }
            (Self::Missing(_), true) => format!(
                "Could not find the exact text in {path}. The old text must match exactly including all whitespace and \
                 newlines."
            ),
            (Self::Missing(edit), false) => format!(
                "Could not find edits[{edit}] in {path}. The oldText must match exactly including all whitespace and \
                 newlines."
            ),
            (Self::Ambiguous(_, count), true) => format!(
                "Found {count} occurrences of the text in {path}. The text must be unique. Please provide more context \
                 to make it unique."
            ),
            (Self::Ambiguous(edit, count), false) => format!(
                "Found {count} occurrences of edits[{edit}] in {path}. Each oldText must be unique. Please provide \
                 more context to make it unique."
            ),
            (Self::Overlap(first, second), _) => format!(
                "edits[{first}] and edits[{second}] overlap in {path}. Merge them into one edit or target disjoint \
                 regions."
            ),
            (Self::LineLost, _) => {
                "Cannot preserve unchanged lines because the base content has a different line \
                                    count."
                    .to_owned()
            }
            (Self::Nowhere, _) => "Replacement range is outside the base content.".to_owned(),
            (Self::Unchanged, true) => format!(
                "No changes made to {path}. The replacement produced identical content. This might indicate an issue \
                 with special characters or the text not existing as expected."
            ),
            (Self::Unchanged, false) => {
                format!("No changes made to {path}. The replacements produced identical content.")
            }
        }
    }
}

/// What leads `content` to the wanted texts: replacements in order of place, none of which touches another.
///
/// An old text that is not there to the letter is sought in a loose form. One such edit is enough for all to be sought
/// that way; the lines that they touch are rewritten from the loose form then, and the others stay as they are.
///
/// # Errors
/// The first thing that is wrong: an empty text before one that is missing, that before an overlap.
pub(super) fn replacements(content: &str, edits: &[Wanted]) -> Result<Vec<Replacement>, Refusal> {
    if let Some(edit) = edits.iter().position(|edit| edit.old.is_empty()) {
        return Err(Refusal::Empty(edit));
    }
    let loose = Loose::of(content);
    let is_loose = edits
        .iter()
        .any(|edit| !content.contains(&edit.old) && loose.place(&edit.old).is_some());
    let mut places = Vec::with_capacity(edits.len());
    for (index, Wanted { old, new }) in edits.iter().enumerate() {
        let place = match is_loose {
            true => loose.place(old),
            false => content.find(old).map(|start| start..start + old.len()),
        };
        let range = place.ok_or(Refusal::Missing(index))?;
        // Counted loosely even where the text is there to the letter.
        let count = loose.count(old);
        if count > 1 {
            return Err(Refusal::Ambiguous(index, count));
        }
        let text = new.clone();
        places.push((index, Replacement { range, text }));
    }
    places.sort_by_key(|(_, place)| place.range.start);
    let clash = places
        .iter()
        .zip(places.iter().skip(1))
        .find(|((_, left), (_, right))| left.range.end > right.range.start);
    if let Some(((first, _), (second, _))) = clash {
        return Err(Refusal::Overlap(*first, *second));
    }
    let places: Vec<Replacement> = places.into_iter().map(|(_, place)| place).collect();
    let places = match is_loose {
        true => loose::whole_lines(content, &loose, &places)?,
        false => places,
    };
    // The whole is compared: several replacements that change something may add up to the same text.
    if replaced(content, &places) == content {
        return Err(Refusal::Unchanged);
    }
    Ok(places)
}

/// The text with all replacements made.
pub(super) fn replaced(content: &str, replacements: &[Replacement]) -> String {
    let mut text = String::with_capacity(content.len());
    let mut done = 0;
    for Replacement { range, text: new } in replacements {
        text.push_str(&content[done..range.start]);
        text.push_str(new);
        done = range.end;
    }
    text.push_str(&content[done..]);
    text
}

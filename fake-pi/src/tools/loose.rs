//! The loose form of a text: what the edit tool compares when nothing matches to the letter (pi-host.md 13).

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::matching::{Refusal, Replacement};

/// A text in its loose form: compatible characters are one, lines have no trailing space, quotes, dashes and spaces are
/// plain.
pub(super) struct Loose(String);

impl Loose {
    /// The loose form of `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut loose = String::with_capacity(text.len());
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                loose.push('\n');
            }
            // A line feed joins with no other character, so each line can be normalised for itself.
            let line: String = line.nfkc().collect();
            loose.extend(line.trim_end_matches(is_space).chars().map(plain));
        }
        Self(loose)
    }

    /// Where `old` is first: to the letter, or else in its own loose form.
    pub(super) fn place(&self, old: &str) -> Option<Range<usize>> {
        let range = |start: usize, needle: &str| start..start + needle.len();
        if let Some(start) = self.0.find(old) {
            return Some(range(start, old));
        }
        let Self(old) = Self::of(old);
        self.0.find(&old).map(|start| range(start, &old))
    }

    /// How often the loose form of `old` is here.
    pub(super) fn count(&self, old: &str) -> usize {
        match Self::of(old).0.as_str() {
            // JavaScript finds the empty text between any two units.
            "" => self.0.encode_utf16().count().saturating_sub(1),
            old => self.0.matches(old).count(),
        }
    }
}

fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// JavaScript's white space, which has the byte order mark and lacks the next-line control.
fn is_space(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Turns replacements in the loose form into replacements of whole lines of `content`, whose loose form it is. Those
/// that share a line become one.
///
/// # Errors
/// [`Refusal::LineLost`] and [`Refusal::Nowhere`], where no line of one text answers to one of the other.
pub(super) fn whole_lines(
    content: &str,
    loose: &Loose,
    places: &[Replacement],
) -> Result<Vec<Replacement>, Refusal> {
    let Loose(loose) = loose;
    let (ends, loose_ends) = (line_ends(content), line_ends(loose));
    if ends.len() != loose_ends.len() {
        return Err(Refusal::LineLost);
    }
    if loose_ends.is_empty() {
        return Err(Refusal::Nowhere);
    }
    let starts_at = |ends: &[usize], line: usize| line.checked_sub(1).map_or(0, |line| ends[line]);
    let mut rewritten = Vec::new();
    let mut left = places.iter().peekable();
    while let Some(place) = left.next() {
        // The line where a place begins is the first that ends behind its start.
        let first = loose_ends.partition_point(|end| *end <= place.range.start);
        let last_of = |place: &Replacement| {
            let line = loose_ends.partition_point(|end| *end < place.range.end);
            line.max(first)
        };
        let mut last = last_of(place);
        let mut text = loose[starts_at(&loose_ends, first)..place.range.start].to_owned();
        text.push_str(&place.text);
        let mut done = place.range.end;
        while let Some(next) = left.next_if(|next| next.range.start < loose_ends[last]) {
            text.push_str(&loose[done..next.range.start]);
            text.push_str(&next.text);
            done = next.range.end;
            last = last_of(next).max(last);
        }
        text.push_str(&loose[done..loose_ends[last]]);
        let range = starts_at(&ends, first)..ends[last];
        rewritten.push(Replacement { range, text });
    }
    Ok(rewritten)
}

/// The offset behind each line, its line feed included.
fn line_ends(text: &str) -> Vec<usize> {
    let mut ends: Vec<usize> = text.match_indices('\n').map(|(feed, _)| feed + 1).collect();
    if !text.is_empty() && !text.ends_with('\n') {
        ends.push(text.len());
    }
    ends
}

//! Where the texts of an edit are in a file, and what the file becomes (pi-host.md 13).

use unicode_normalization::UnicodeNormalization;

/// A part of the text to be replaced. Offsets are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) text: String,
}

impl Replacement {
    fn end(&self) -> usize {
        self.start + self.length
    }
}

/// An edit that was found: the new text, and the replacements that lead to it, in order and disjoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) replacements: Vec<Replacement>,
}

/// The text with every line end as one LF.
pub(super) fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Finds all edits in `content`, which has LF line ends, and applies them at once.
///
/// If one of them is found only loosely, all are sought in the loose form, and the lines that they touch are rewritten
/// from it; other lines stay as they are. The error is Pi's text.
pub(super) fn apply(
    content: &str,
    edits: &[(String, String)],
    path: &str,
) -> Result<Edited, String> {
    let edits: Vec<(String, String)> = edits
        .iter()
        .map(|(old, new)| (with_line_feeds(old), with_line_feeds(new)))
        .collect();
    let is_single = edits.len() == 1;
    if let Some(index) = edits.iter().position(|(old, _)| old.is_empty()) {
        return Err(match is_single {
            true => format!("oldText must not be empty in {path}."),
            false => format!("edits[{index}].oldText must not be empty in {path}."),
        });
    }
    let is_loose = edits
        .iter()
        .any(|(old, _)| find(content, old).is_some_and(|found| found.is_loose));
    let base = if is_loose {
        loosened(content)
    } else {
        content.to_owned()
    };
    let mut found = Vec::new();
    for (index, (old, new)) in edits.iter().enumerate() {
        found.push((index, locate(&base, old, new, path, index, is_single)?));
    }
    found.sort_by_key(|(_, replacement)| replacement.start);
    for pair in found.windows(2) {
        let ((first, left), (second, right)) = (&pair[0], &pair[1]);
        if left.end() > right.start {
            return Err(format!(
                "edits[{first}] and edits[{second}] overlap in {path}. Merge them into one edit or target disjoint regions."
            ));
        }
    }
    let found: Vec<Replacement> = found
        .into_iter()
        .map(|(_, replacement)| replacement)
        .collect();
    let replacements = if is_loose {
        widened(content, &base, &found)?
    } else {
        found
    };
    let text = replaced(content, &replacements, 0);
    if text == content {
        return Err(match is_single {
            true => format!(
                "No changes made to {path}. The replacement produced identical content. This might indicate an issue \
                 with special characters or the text not existing as expected."
            ),
            false => {
                format!("No changes made to {path}. The replacements produced identical content.")
            }
        });
    }
    Ok(Edited { text, replacements })
}

/// Finds the only place of one edit.
fn locate(
    base: &str,
    old: &str,
    new: &str,
    path: &str,
    index: usize,
    is_single: bool,
) -> Result<Replacement, String> {
    let Some(found) = find(base, old) else {
        return Err(match is_single {
            true => format!(
                "Could not find the exact text in {path}. The old text must match exactly including all whitespace and \
                 newlines."
            ),
            false => format!(
                "Could not find edits[{index}] in {path}. The oldText must match exactly including all whitespace and \
                 newlines."
            ),
        });
    };
    let occurrences = count(base, old);
    if occurrences > 1 {
        return Err(match is_single {
            true => format!(
                "Found {occurrences} occurrences of the text in {path}. The text must be unique. Please provide more \
                 context to make it unique."
            ),
            false => format!(
                "Found {occurrences} occurrences of edits[{index}] in {path}. Each oldText must be unique. Please \
                 provide more context to make it unique."
            ),
        });
    }
    Ok(Replacement {
        start: found.start,
        length: found.length,
        text: new.to_owned(),
    })
}

/// A place of a text; a loose one is a place in the loose form of the content.
struct Found {
    start: usize,
    length: usize,
    is_loose: bool,
}

fn find(content: &str, old: &str) -> Option<Found> {
    if let Some(start) = content.find(old) {
        return Some(Found {
            start,
            length: old.len(),
            is_loose: false,
        });
    }
    let old = loosened(old);
    let start = loosened(content).find(&old)?;
    Some(Found {
        start,
        length: old.len(),
        is_loose: true,
    })
}

/// How often the loose form of `old` is in that of the content.
fn count(content: &str, old: &str) -> usize {
    let (content, old) = (loosened(content), loosened(old));
    if old.is_empty() {
        // JavaScript splits at every unit then.
        return content.encode_utf16().count().saturating_sub(1);
    }
    content.matches(&old).count()
}

/// The loose form: compatible characters are one, lines have no trailing space, quotes, dashes and spaces are plain.
fn loosened(text: &str) -> String {
    let text: String = text.nfkc().collect();
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches(is_space))
        .collect();
    let plain = |character| match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    };
    lines.join("\n").chars().map(plain).collect()
}

/// JavaScript's white space, which has the byte order mark and lacks the next-line control.
fn is_space(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Applies replacements, last first, to a text that starts at `offset` of what they refer to.
fn replaced(text: &str, replacements: &[Replacement], offset: usize) -> String {
    let mut result = text.to_owned();
    for replacement in replacements.iter().rev() {
        let start = replacement.start - offset;
        result.replace_range(start..start + replacement.length, &replacement.text);
    }
    result
}

/// Turns replacements in the loose form into replacements of whole lines of the content itself.
fn widened(content: &str, base: &str, found: &[Replacement]) -> Result<Vec<Replacement>, String> {
    let (content_lines, base_lines) = (spans(content), spans(base));
    if content_lines.len() != base_lines.len() {
        return Err(
            "Cannot preserve unchanged lines because the base content has a different line count."
                .into(),
        );
    }
    let mut groups: Vec<(usize, usize, Vec<Replacement>)> = Vec::new();
    for replacement in found {
        let outside = || "Replacement range is outside the base content.".to_owned();
        let holds = |span: &(usize, usize)| (span.0..span.1).contains(&replacement.start);
        let first = base_lines.iter().position(holds).ok_or_else(outside)?;
        let reaches = |span: &(usize, usize)| span.1 >= replacement.end();
        let last = first
            + base_lines[first..]
                .iter()
                .position(reaches)
                .ok_or_else(outside)?;
        match groups.last_mut() {
            Some((_, end, members)) if first <= *end => {
                *end = last.max(*end);
                members.push(replacement.clone());
            }
            _ => groups.push((first, last, vec![replacement.clone()])),
        }
    }
    let widen = |(first, last, members): (usize, usize, Vec<Replacement>)| {
        let (base_start, base_end) = (base_lines[first].0, base_lines[last].1);
        let (start, end) = (content_lines[first].0, content_lines[last].1);
        let text = replaced(&base[base_start..base_end], &members, base_start);
        Replacement {
            start,
            length: end - start,
            text,
        }
    };
    Ok(groups.into_iter().map(widen).collect())
}

/// Start and end of each line, its newline included.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let span = (start, start + line.len());
            start = span.1;
            span
        })
        .collect()
}

/// Applies replacements found in the LF form of `original` to `original` itself. Lines that they do not touch keep their
/// line ends; new lines get that of the line where the replacement starts.
pub(super) fn apply_to_original(original: &str, replacements: &[Replacement]) -> String {
    let mut result = String::with_capacity(original.len());
    let mut push = |part: &str| {
        // A CR and an LF that meet only at a seam would become one line end; they are two.
        if result.ends_with('\r') && part.starts_with('\n') {
            result.push('\n');
        }
        result.push_str(part);
    };
    let (mut position, mut cursor) = (
        0,
        Cursor {
            original,
            at: 0,
            plain: 0,
        },
    );
    for replacement in replacements {
        let start = cursor.advance(replacement.start);
        push(&original[position..start]);
        let ending = line_ending(original, start);
        push(&replacement.text.replace('\n', ending));
        position = cursor.advance(replacement.end());
    }
    push(&original[position..]);
    result
}

/// Walks a text with CRLF line ends alongside its LF form.
struct Cursor<'a> {
    original: &'a str,
    /// Offset in the original.
    at: usize,
    /// The same place in the LF form.
    plain: usize,
}

impl Cursor<'_> {
    /// The original's offset for one in the LF form, which must not be before the last. A place behind the LF is behind
    /// the whole CRLF, a place before it is before the CR.
    fn advance(&mut self, plain: usize) -> usize {
        let bytes = self.original.as_bytes();
        while self.plain < plain && self.at < bytes.len() {
            self.at += if bytes[self.at..].starts_with(b"\r\n") {
                2
            } else {
                1
            };
            self.plain += 1;
        }
        self.at
    }
}

/// Line end of the line at `offset`, or of the line before for a last line without one.
fn line_ending(original: &str, offset: usize) -> &'static str {
    let bytes = original.as_bytes();
    let is_feed = |byte: &u8| *byte == b'\n';
    let behind = bytes[offset..]
        .iter()
        .position(is_feed)
        .map(|at| offset + at);
    match behind.or_else(|| bytes[..offset].iter().rposition(is_feed)) {
        None if original.contains('\r') => "\r",
        Some(at) if at > 0 && bytes[at - 1] == b'\r' => "\r\n",
        None | Some(_) => "\n",
    }
}

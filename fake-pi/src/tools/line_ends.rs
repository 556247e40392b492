//! The line ends of a file, kept apart while the file is edited (pi-host.md 13).

use super::matching::Replacement;

/// What each line of a text ended with: `\n`, `\r\n` or `\r`, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineEnds(Vec<&'static str>);

impl LineEnds {
    /// Parts a text from its line ends: the text has a line feed for each.
    pub(super) fn part(text: &str) -> (String, Self) {
        let mut parted = String::with_capacity(text.len());
        let mut ends = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['\n', '\r']) {
            let end = ["\r\n", "\n", "\r"]
                .into_iter()
                .find(|end| rest[at..].starts_with(end))
                .unwrap_or("\n");
            ends.push(end);
            parted.push_str(&rest[..at]);
            parted.push('\n');
            rest = &rest[at + end.len()..];
        }
        parted.push_str(rest);
        (parted, Self(ends))
    }

    /// The parted text with its line ends again and all replacements made. Lines that are new end as those around them.
    pub(super) fn join(&self, parted: &str, replacements: &[Replacement]) -> String {
        let mut joined = String::with_capacity(parted.len() + self.0.len());
        let (mut done, mut line) = (0, 0);
        for Replacement { range, text } in replacements {
            line += write(&mut joined, &parted[done..range.start], |nth| {
                self.of(line + nth)
            });
            let around = self.around(line);
            write(&mut joined, text, |_| around);
            line += parted[range.clone()].matches('\n').count();
            done = range.end;
        }
        write(&mut joined, &parted[done..], |nth| self.of(line + nth));
        joined
    }

    fn of(&self, line: usize) -> &'static str {
        self.0.get(line).copied().unwrap_or("\n")
    }

    /// What a new line ends with that begins in this line: as the next that has a line feed, or the nearest before.
    fn around(&self, line: usize) -> &'static str {
        let (before, behind) = self.0.split_at(line.min(self.0.len()));
        let nearest = behind.iter().chain(before.iter().rev());
        nearest
            .copied()
            .find(|end| end.ends_with('\n'))
            .unwrap_or(if self.0.is_empty() { "\n" } else { "\r" })
    }
}

/// Writes a text with line ends in place of its line feeds; returns how many it had.
fn write(target: &mut String, text: &str, end: impl Fn(usize) -> &'static str) -> usize {
    let mut count = 0;
    for piece in text.split_inclusive('\n') {
        let body = piece.strip_suffix('\n');
        target.push_str(body.unwrap_or(piece));
        if body.is_some() {
            let end = end(count);
            // A lone CR before a lone LF would read as one line end; Pi keeps them two.
            if target.ends_with('\r') && end == "\n" {
                target.push('\n');
            }
            target.push_str(end);
            count += 1;
        }
    }
    count
}

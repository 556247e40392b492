//! The unified patch that Pi stores as `details.patch`.

use std::fmt::Write;

use super::script::{PartKind, Script};

/// One hunk under construction: the line numbers at which it starts, how many lines it covers, and its text.
#[derive(Default)]
struct Hunk {
    old_start: usize,
    old_len: usize,
    new_start: usize,
    new_len: usize,
    body: String,
}

impl Hunk {
    fn add(&mut self, kind: PartKind, lines: &[&str]) {
        if kind != PartKind::Added {
            self.old_len += lines.len();
        }
        if kind != PartKind::Removed {
            self.new_len += lines.len();
        }
        for line in lines {
            self.body.push(kind.sign());
            self.body.push_str(line);
            if !line.ends_with('\n') {
                self.body.push_str("\n\\ No newline at end of file\n");
            }
        }
    }

    fn write(&self, patch: &mut String) {
        // An empty side is named by the line before it.
        let start = |start: usize, len: usize| {
            if len == 0 {
                start.saturating_sub(1)
            } else {
                start
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            patch,
            "@@ -{},{} +{},{} @@",
            start(self.old_start, self.old_len),
            self.old_len,
            start(self.new_start, self.new_len),
            self.new_len
        );
        patch.push_str(&self.body);
    }
}

impl Script<'_> {
    /// Writes the unified patch with so many unchanged lines around each change; `path` heads both sides.
    #[must_use]
    pub fn patch(&self, path: &str, context: usize) -> String {
        let mut patch = format!("--- {path}\n+++ {path}\n");
        let mut open: Option<Hunk> = None;
        let (mut old_number, mut new_number) = (1, 1);
        let mut before: &[&str] = &[];
        for (index, part) in self.parts().iter().enumerate() {
            let lines = self.lines(part);
            if part.kind == PartKind::Equal {
                let last = index + 1 == self.parts().len();
                if let Some(hunk) = &mut open {
                    if lines.len() <= context * 2 && !last {
                        hunk.add(PartKind::Equal, lines);
                    } else {
                        hunk.add(PartKind::Equal, &lines[..context.min(lines.len())]);
                        hunk.write(&mut patch);
                        open = None;
                    }
                }
                before = lines;
            } else {
                let hunk = open.get_or_insert_with(|| {
                    let lead = &before[before.len() - context.min(before.len())..];
                    let mut hunk = Hunk {
                        old_start: old_number - lead.len(),
                        new_start: new_number - lead.len(),
                        ..Hunk::default()
                    };
                    hunk.add(PartKind::Equal, lead);
                    hunk
                });
                hunk.add(part.kind, lines);
            }
            if part.kind != PartKind::Added {
                old_number += part.len;
            }
            if part.kind != PartKind::Removed {
                new_number += part.len;
            }
        }
        if let Some(hunk) = open {
            hunk.write(&mut patch);
        }
        patch
    }
}

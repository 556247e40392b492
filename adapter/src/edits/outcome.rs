//! What a call changed, in the shape of Pi's own edit details (E1, E2, E4, E5).

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use crate::diff::{CONTEXT_LINES, Effort, Script};
use crate::texts;

/// Steps that one call may take, as [`Effort`] counts them. The clock bounds the work too; but what is decided by steps is
/// decided the same way each time. About 27 ms of an optimised build.
const MAX_STEPS: u64 = 4_000_000;

/// Steps of writing one line into both forms of a diff.
const SHOWN_STEPS: u64 = 12;

/// What is left of a call's diff work.
pub struct Budget {
    deadline: Instant,
    steps: u64,
    stop: CancellationToken,
}

impl Budget {
    /// So much time from now on, until `stop` ends all of it.
    #[must_use]
    pub fn new(time: Duration, stop: CancellationToken) -> Self {
        Self {
            deadline: Instant::now() + time,
            steps: MAX_STEPS,
            stop,
        }
    }

    /// Takes away what was spent before.
    pub(super) fn less(&mut self, spent: Duration) {
        let now = Instant::now();
        self.deadline = self.deadline.checked_sub(spent).unwrap_or(now);
    }

    /// Whether nobody waits for the work any more.
    pub(super) fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(super) fn expired(&self) -> bool {
        self.stopped() || Instant::now() >= self.deadline
    }
}

/// Two texts that differ in content: without byte-order mark, every line ending an LF (E5).
pub(super) struct Change<'a> {
    before: Cow<'a, str>,
    after: Cow<'a, str>,
}

impl<'a> Change<'a> {
    /// `None` where only line endings or the mark differ.
    pub(super) fn between(before: Cow<'a, str>, after: Cow<'a, str>) -> Option<Self> {
        let change = Self {
            before: content(before),
            after: content(after),
        };
        (change.before != change.after).then_some(change)
    }
}

fn content(text: Cow<'_, str>) -> Cow<'_, str> {
    const MARK: char = '\u{feff}';
    let text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix(MARK).unwrap_or(text)),
        Cow::Owned(text) if text.starts_with(MARK) => text.chars().skip(1).collect(),
        text @ Cow::Owned(_) => text,
    };
    if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        with_lf(&text).into()
    } else {
        text
    }
}

/// A text whose CRLF and lone CR are LF.
fn with_lf(text: &str) -> String {
    let mut lines = String::with_capacity(text.len());
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'\r' {
            lines.extend(text.get(start..at));
            // Of CRLF the LF stays.
            start = at + 1;
            if text.as_bytes().get(start) != Some(&b'\n') {
                lines.push('\n');
            }
        }
    }
    lines.extend(text.get(start..));
    lines
}

/// What `details` tells about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Its diff.
    Diff {
        /// As the call named the file.
        path: String,
        /// The numbered diff.
        diff: String,
        /// The unified patch.
        patch: String,
        /// Line of the new text, from 1.
        first_changed_line: Option<usize>,
    },
    /// Why there is no diff.
    Note {
        /// As the call named the file.
        path: String,
        /// One line.
        note: &'static str,
    },
}

impl Entry {
    pub(super) fn note(path: &str, note: &'static str) -> Self {
        Self::Note {
            path: path.to_owned(),
            note,
        }
    }

    /// Compares two texts of a file as a call's result shows them, under a budget that it draws on. `None` where they do
    /// not differ in content.
    #[must_use]
    pub fn of_texts(path: &str, before: &str, after: &str, budget: &mut Budget) -> Option<Self> {
        let change = Change::between(before.into(), after.into())?;
        Some(Self::compare(path, &change, budget))
    }

    /// Compares under a budget that it draws on; over it, the entry is a note.
    pub(super) fn compare(path: &str, change: &Change<'_>, budget: &mut Budget) -> Self {
        let effort = Effort {
            steps: budget.steps,
            expired: &|| budget.expired(),
        };
        let Some(script) = Script::between(&change.before, &change.after, &effort) else {
            budget.steps = 0;
            return Self::note(path, texts::NOTE_COSTLY);
        };
        budget.steps = budget.steps.saturating_sub(script.steps());
        // What is shown costs as what is searched does: a file that vanishes is found at once and long to write.
        let writing = SHOWN_STEPS * script.shown(CONTEXT_LINES) as u64;
        if writing > budget.steps || budget.expired() {
            return Self::note(path, texts::NOTE_COSTLY);
        }
        budget.steps -= writing;
        let shown = script.display(CONTEXT_LINES);
        let patch = script.patch(path, CONTEXT_LINES);
        if budget.expired() {
            return Self::note(path, texts::NOTE_COSTLY);
        }
        Self::Diff {
            path: path.to_owned(),
            diff: shown.diff,
            patch,
            first_changed_line: shown.first_changed_line,
        }
    }

    fn to_json(&self) -> Value {
        let mut entry = Map::new();
        match self {
            Self::Note { path, note } => {
                entry.insert("path".to_owned(), json!(path));
                entry.insert("note".to_owned(), json!(note));
            }
            Self::Diff {
                path,
                diff,
                patch,
                first_changed_line,
            } => {
                entry.insert("path".to_owned(), json!(path));
                entry.insert("diff".to_owned(), json!(diff));
                entry.insert("patch".to_owned(), json!(patch));
                if let Some(line) = first_changed_line {
                    entry.insert("firstChangedLine".to_owned(), json!(line));
                }
            }
        }
        Value::Object(entry)
    }
}

/// Merges entries into a result's details, since a patch replaces them whole (pi-host.md 8). `None` where there is
/// nothing to add, or the details are no object and so hold nothing that could be added to.
#[must_use]
pub fn merge_details(details: Option<&Value>, entries: &[Entry]) -> Option<Value> {
    let mut merged = match details {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(details)) => details.clone(),
        Some(_) => return None,
    };
    if entries.is_empty() {
        return None;
    }
    let patches: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Diff {
                diff,
                patch,
                first_changed_line,
                ..
            } => Some((diff, patch.as_str(), first_changed_line)),
            Entry::Note { .. } => None,
        })
        .collect();
    merged.insert(
        "diffs".to_owned(),
        entries.iter().map(Entry::to_json).collect(),
    );
    if !patches.is_empty() {
        merged.insert(
            "patch".to_owned(),
            patches
                .iter()
                .map(|(_, patch, _)| *patch)
                .collect::<String>()
                .into(),
        );
    }
    // One file changed, and it is the one that could be shown.
    if let ([(diff, _, first_changed_line)], 1) = (patches.as_slice(), entries.len()) {
        merged.insert("diff".to_owned(), json!(diff));
        if let Some(line) = first_changed_line {
            merged.insert("firstChangedLine".to_owned(), json!(line));
        }
    }
    Some(Value::Object(merged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, before: &str, after: &str) -> Option<Entry> {
        let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
        Entry::of_texts(path, before, after, &mut budget)
    }

    #[test]
    fn e1_details_are_merged_and_shaped_like_pis() {
        let one = entry("a", "x\n", "y\n").expect("change");
        let merged = merge_details(
            Some(&json!({"server": "gortex", "tool": "edit"})),
            std::slice::from_ref(&one),
        );
        let patch = "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-x\n+y\n";
        assert_eq!(
            merged,
            Some(json!({
                "server": "gortex", "tool": "edit",
                "diffs": [{"path": "a", "diff": "-1 x\n+1 y", "patch": patch, "firstChangedLine": 1}],
                "patch": patch, "diff": "-1 x\n+1 y", "firstChangedLine": 1,
            }))
        );
        // Two files changed, though only one could be shown.
        let noted = merge_details(None, &[one.clone(), Entry::note("b", "n")]).expect("details");
        assert_eq!(
            (noted.get("diff"), noted["patch"].as_str()),
            (None, Some(patch))
        );
        let two = entry("b", "", "z").expect("change");
        let merged = merge_details(None, &[one, two]).expect("details");
        assert_eq!(
            merged["patch"],
            format!("{patch}--- b\n+++ b\n@@ -0,0 +1,1 @@\n+z\n\\ No newline at end of file\n")
        );
        assert_eq!(
            (merged.get("diff"), merged.get("firstChangedLine")),
            (None, None)
        );
        assert_eq!(
            merge_details(Some(&json!([1])), &[Entry::note("a", "n")]),
            None
        );
        assert_eq!(merge_details(Some(&json!({})), &[]), None);
    }

    #[test]
    fn e5_line_endings_and_the_mark_are_no_content() {
        assert_eq!(entry("a", "x\r\ny\r\n", "x\ny\n"), None);
        assert_eq!(entry("a", "\u{feff}x\n", "x\n"), None);
        let Some(Entry::Diff { diff, .. }) = entry("a", "\u{feff}x\r\ny\r\n", "x\nz\n") else {
            panic!("no diff")
        };
        assert_eq!(diff, " 1 x\n-2 y\n+2 z");
        // The text after a call is owned, that before it borrowed.
        let owned = Change::between("x".into(), Cow::Owned("\u{feff}x\r".to_owned()));
        assert_eq!(owned.map(|change| change.after), Some("x\n".into()));
    }

    #[test]
    fn e5_each_line_ending_counts_once() {
        let texts = [
            "",
            "\r",
            "\r\r\n\n\r",
            "a\r\nb\rc\n",
            "\r\na\r",
            "日\r\r本\r\n",
            "a",
        ];
        for text in texts {
            let plain = text.replace("\r\n", "\n").replace('\r', "\n");
            assert_eq!(content(text.into()), plain, "{text:?}");
        }
    }

    #[test]
    fn e4_o09_many_lines_become_notes_before_they_are_split_or_written() {
        let note = Some(Entry::note("a", texts::NOTE_COSTLY));
        let (lines, line) = ("x\n".repeat(500_000), "\n".repeat(1024 * 1024));
        let found_at_once = &lines[..400_000];
        for (before, after) in [
            (&*lines, ""),
            ("", &*lines),
            (&line, &line[1..]),
            (found_at_once, ""),
        ] {
            assert_eq!(entry("a", before, after), note);
        }
        // Those of common calls are far from that, in a batch too: the budget is one.
        let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
        let (old, new) = (
            "x\n".repeat(10_000),
            "y\n".to_owned() + &"x\n".repeat(9_999),
        );
        for _ in 0..64 {
            let entry = Entry::of_texts("a", &old, &new, &mut budget);
            assert!(matches!(entry, Some(Entry::Diff { .. })), "{entry:?}");
        }
        // What was not written was not spent.
        let mut budget = Budget::new(Duration::from_secs(3600), CancellationToken::new());
        assert_eq!(Entry::of_texts("a", found_at_once, "", &mut budget), note);
        let small = Entry::of_texts("a", &lines[..2_000], "", &mut budget);
        assert!(matches!(small, Some(Entry::Diff { .. })), "{small:?}");
    }

    #[test]
    fn e4_o09_hopeless_comparisons_become_notes_and_leave_the_rest() {
        let lines = |letter: char| {
            (0..40_000)
                .map(|line| format!("{letter}{line}\n"))
                .collect::<String>()
        };
        let costly = Entry::note("a", texts::NOTE_COSTLY);
        assert_eq!(entry("a", &lines('a'), &lines('b')), Some(costly));
        let draw = |mut state: u64| {
            let mut text = String::new();
            for _ in 0..20_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                text.push_str(&format!("{}\n", (state >> 33) % 50));
            }
            text
        };
        assert_eq!(
            entry("a", &draw(1), &draw(2)),
            Some(Entry::note("a", texts::NOTE_COSTLY))
        );
        assert!(matches!(entry("a", "x\n", "y\n"), Some(Entry::Diff { .. })));
    }
}

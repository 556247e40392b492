//! The journal: what a fake Gortex was asked and what it answered, in the order in which it happened.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which of the two programs an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `gortex mcp`.
    Mcp,
    /// `gortex hook`.
    Hook,
}

/// One thing that happened. It bears no time: whoever receives it stamps it.
///
/// Events of `mcp`: `start` (args, cwd, env), `recv` (a message as it stood on the wire), `send` (id with resultKeys and
/// text or error, or method, or raw), `exit` (reason, code). Events of `hook`: `ask` (args, and envelope or raw) and
/// `answer` (stdout, delay_ms, exit, or hang).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Which program.
    pub source: Source,
    /// The server's name, where it is another than Gortex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What happened.
    pub event: String,
    /// What was seen or done, by event.
    pub payload: Value,
}

/// Where entries go. A closure that takes a [`JournalEntry`] is one.
pub trait JournalSink: Send + Sync {
    /// Takes one entry; called in order, from one task at a time. Must not block for long.
    fn record(&self, entry: JournalEntry);
}

impl<F: Fn(JournalEntry) + Send + Sync> JournalSink for F {
    fn record(&self, entry: JournalEntry) {
        self(entry);
    }
}

/// A journal kept in memory.
#[derive(Debug, Default)]
pub struct MemoryJournal(Mutex<Vec<JournalEntry>>);

impl MemoryJournal {
    /// What was recorded so far.
    #[must_use]
    pub fn entries(&self) -> Vec<JournalEntry> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl JournalSink for MemoryJournal {
    fn record(&self, entry: JournalEntry) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
    }
}

/// A journal that appends to a file, one JSON line an entry and one write a line, so that the daemon and many hooks can
/// share it.
#[derive(Debug)]
pub struct FileJournal(File);

impl FileJournal {
    /// Opens the journal, creating it when it is not there.
    ///
    /// # Errors
    /// When the file cannot be opened for appending.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(
            OpenOptions::new().append(true).create(true).open(path)?,
        ))
    }
}

impl JournalSink for FileJournal {
    fn record(&self, entry: JournalEntry) {
        // An entry is strings and JSON: it always serialises. A full disk must not change what the fake does, so a
        // failed write only loses the line, which the reader of the journal will miss.
        if let Ok(mut line) = serde_json::to_vec(&entry) {
            line.push(b'\n');
            let _ = (&self.0).write_all(&line);
        }
    }
}

/// Cuts a text for the journal to at most `limit` bytes, at a character's border, and says so.
pub(crate) fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    // A character has at most four bytes, so one of these is a border; and 0 always is.
    let end = (0..=limit)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_journal_appends_whole_lines_beside_another_writer() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("journal.jsonl");
        let (one, two) = (
            FileJournal::open(&path).expect("open"),
            FileJournal::open(&path).expect("open"),
        );
        for (index, journal) in [&one, &two, &one].into_iter().enumerate() {
            journal.record(JournalEntry {
                source: Source::Hook,
                server: None,
                event: "ask".to_owned(),
                payload: json!({ "n": index }),
            });
        }
        let text = std::fs::read_to_string(&path).expect("read");
        let numbers: Vec<_> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<JournalEntry>(line)
                    .expect("entry")
                    .payload["n"]
                    .clone()
            })
            .collect();
        assert_eq!(numbers, [json!(0), json!(1), json!(2)]);
        assert!(text.starts_with(r#"{"source":"hook","event":"ask","payload""#));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(bounded("äöü", 3), "ä… (6 bytes)");
        assert_eq!(bounded("äöü", 6), "äöü");
    }
}

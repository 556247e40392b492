//! A change as Pi shows it: the numbered diff and the unified patch of `edit`'s details (pi-host.md 13).

use super::line_diff::{Change, Run, runs};

/// Unchanged lines shown around a change, as the edit tool wants it.
pub(super) const CONTEXT: usize = 4;

/// A change in both forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// Lines with sign and number.
    pub(super) diff: String,
    /// A unified patch.
    pub(super) patch: String,
    /// Number of the first changed line in the new text, if anything changed.
    pub(super) first_changed_line: Option<usize>,
}

/// A part of both texts, and how many lines come before it in each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) old_line: usize,
    pub(super) new_line: usize,
}

/// Shows a change by windows that cover all of it, with `context` unchanged lines around. `width` is that of the numbers.
pub(super) fn show(path: &str, windows: &[Window<'_>], width: usize, context: usize) -> Shown {
    let gap = format!(" {:width$} ...", "");
    let mut lines: Vec<String> = Vec::new();
    let mut patch = vec![format!("--- {path}"), format!("+++ {path}")];
    let mut first_changed_line = None;
    for window in windows {
        let runs = runs(window.old, window.new);
        let mut listing = Listing::new(window, width, context);
        listing.list(&runs);
        first_changed_line = first_changed_line.or(listing.first_changed_line);
        // What lies between two windows is one gap, not two.
        let is_gap_doubled = lines.last() == Some(&gap) && listing.lines.first() == Some(&gap);
        lines.extend(listing.lines.into_iter().skip(usize::from(is_gap_doubled)));
        for hunk in hunks(&runs, context) {
            patch.extend(hunk.lines(window));
        }
    }
    Shown {
        diff: lines.join("\n"),
        patch: patch.join("\n") + "\n",
        first_changed_line,
    }
}

/// Width of the line numbers of a change: that of the larger text, a final newline counting as one more line.
pub(super) fn number_width(old: &str, new: &str) -> usize {
    let count = |text: &str| text.split('\n').count();
    count(old).max(count(new)).to_string().len()
}

/// The numbered diff of one window under construction.
struct Listing {
    lines: Vec<String>,
    width: usize,
    context: usize,
    old: usize,
    new: usize,
    first_changed_line: Option<usize>,
}

impl Listing {
    fn new(window: &Window<'_>, width: usize, context: usize) -> Self {
        let (old, new) = (window.old_line + 1, window.new_line + 1);
        Self {
            lines: Vec::new(),
            width,
            context,
            old,
            new,
            first_changed_line: None,
        }
    }

    fn list(&mut self, runs: &[Run<'_>]) {
        for (index, run) in runs.iter().enumerate() {
            if run.change == Change::Kept {
                self.context(&run.lines, index > 0, index + 1 < runs.len());
                continue;
            }
            self.first_changed_line.get_or_insert(self.new);
            for line in &run.lines {
                self.line(run.change, line);
            }
        }
    }

    /// Unchanged lines, as many as stand next to a change before or behind them.
    fn context(&mut self, lines: &[&str], is_behind_change: bool, is_before_change: bool) {
        let leading = if is_behind_change { self.context } else { 0 };
        let trailing = if is_before_change { self.context } else { 0 };
        let skipped = lines.len().saturating_sub(leading + trailing);
        let first = if skipped == 0 { lines.len() } else { leading };
        for line in &lines[..first] {
            self.line(Change::Kept, line);
        }
        if skipped == 0 {
            return;
        }
        if is_behind_change || is_before_change {
            self.lines
                .push(format!(" {:width$} ...", "", width = self.width));
        }
        self.old += skipped;
        self.new += skipped;
        for line in &lines[first + skipped..] {
            self.line(Change::Kept, line);
        }
    }

    fn line(&mut self, change: Change, line: &str) {
        let (sign, number) = match change {
            Change::Added => ('+', self.new),
            Change::Removed => ('-', self.old),
            Change::Kept => (' ', self.old),
        };
        let text = line.strip_suffix('\n').unwrap_or(line);
        self.lines
            .push(format!("{sign}{number:>width$} {text}", width = self.width));
        self.old += usize::from(change != Change::Added);
        self.new += usize::from(change != Change::Removed);
    }
}

/// A hunk of a patch, its lines with their newlines. Starts count from one within the window.
struct Hunk<'a> {
    old_start: usize,
    new_start: usize,
    lines: Vec<(Change, &'a str)>,
}

/// The hunks of a change: context around each, and one hunk where two contexts meet.
fn hunks<'a>(runs: &[Run<'a>], context: usize) -> Vec<Hunk<'a>> {
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let mut is_open = false;
    let (mut old, mut new) = (1, 1);
    for (index, run) in runs.iter().enumerate() {
        let count = run.lines.len();
        let kept = |lines: &[&'a str]| {
            lines
                .iter()
                .map(|line| (Change::Kept, *line))
                .collect::<Vec<_>>()
        };
        if run.change == Change::Kept {
            if let (true, Some(hunk)) = (is_open, hunks.last_mut()) {
                is_open = count <= context * 2 && index + 1 < runs.len();
                let shown = if is_open { count } else { count.min(context) };
                hunk.lines.extend(kept(&run.lines[..shown]));
            }
        } else {
            if !is_open {
                let before = index
                    .checked_sub(1)
                    .map_or(&[][..], |before| &runs[before].lines);
                let before = kept(&before[before.len().saturating_sub(context)..]);
                hunks.push(Hunk {
                    old_start: old - before.len(),
                    new_start: new - before.len(),
                    lines: before,
                });
                is_open = true;
            }
            if let Some(hunk) = hunks.last_mut() {
                hunk.lines
                    .extend(run.lines.iter().map(|line| (run.change, *line)));
            }
        }
        old += if run.change == Change::Added {
            0
        } else {
            count
        };
        new += if run.change == Change::Removed {
            0
        } else {
            count
        };
    }
    hunks
}

impl Hunk<'_> {
    /// The hunk's lines in the patch, numbered for the whole texts.
    fn lines(&self, window: &Window<'_>) -> Vec<String> {
        let count = |without: Change| {
            self.lines
                .iter()
                .filter(|(change, _)| *change != without)
                .count()
        };
        // A side without lines is placed behind the line before it.
        let start = |start: usize, count: usize| if count == 0 { start - 1 } else { start };
        let (old_count, new_count) = (count(Change::Added), count(Change::Removed));
        let old = start(self.old_start + window.old_line, old_count);
        let new = start(self.new_start + window.new_line, new_count);
        let mut lines = vec![format!("@@ -{old},{old_count} +{new},{new_count} @@")];
        for (change, line) in &self.lines {
            let sign = match change {
                Change::Added => '+',
                Change::Removed => '-',
                Change::Kept => ' ',
            };
            match line.strip_suffix('\n') {
                Some(text) => lines.push(format!("{sign}{text}")),
                None => {
                    lines.push(format!("{sign}{line}"));
                    lines.push("\\ No newline at end of file".into());
                }
            }
        }
        lines
    }
}

//! Output cut to what the model may read: whole lines from the start or from the end.

use serde_json::{Value, json};

/// Lines that the model reads at most.
pub(super) const MAX_LINES: usize = 2000;

/// Bytes that the model reads at most.
pub(super) const MAX_BYTES: usize = 50 * 1024;

/// The largest whole number that JavaScript counts exactly; Pi's way to say "no limit of lines".
pub(super) const NO_LIMIT: usize = 9_007_199_254_740_991;

/// Which limit cut the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutBy {
    Lines,
    Bytes,
}

/// Output after the cut, with the counts that `details.truncation` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Truncation {
    pub(super) content: String,
    pub(super) cut_by: Option<CutBy>,
    pub(super) total_lines: usize,
    pub(super) total_bytes: usize,
    pub(super) output_lines: usize,
    pub(super) is_last_line_partial: bool,
    pub(super) is_first_line_too_long: bool,
    pub(super) max_lines: usize,
}

impl Truncation {
    /// Output that is not cut.
    fn whole(content: &str, lines: usize, max_lines: usize) -> Self {
        Self {
            content: content.to_owned(),
            cut_by: None,
            total_lines: lines,
            total_bytes: content.len(),
            output_lines: lines,
            is_last_line_partial: false,
            is_first_line_too_long: false,
            max_lines,
        }
    }

    /// As `details.truncation`.
    pub(super) fn to_json(&self) -> Value {
        let cut_by = self.cut_by.map(|by| match by {
            CutBy::Lines => "lines",
            CutBy::Bytes => "bytes",
        });
        json!({
            "content": self.content,
            "truncated": cut_by.is_some(),
            "truncatedBy": cut_by,
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.content.len(),
            "lastLinePartial": self.is_last_line_partial,
            "firstLineExceedsLimit": self.is_first_line_too_long,
            "maxLines": self.max_lines,
            "maxBytes": MAX_BYTES,
        })
    }
}

/// A size as Pi writes it.
pub(crate) fn size_text(bytes: usize) -> String {
    #[expect(
        clippy::cast_precision_loss,
        reason = "nothing here comes near 2^53 bytes"
    )]
    let (size, kib) = (bytes as f64, 1024.0);
    if size < kib {
        format!("{size}B")
    } else if size < kib * kib {
        format!("{:.1}KB", size / kib)
    } else {
        format!("{:.1}MB", size / (kib * kib))
    }
}

/// Lines as they are counted: a final newline ends the last line and starts none.
fn lines(content: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = content.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The first lines that fit both limits. A first line beyond the limit of bytes leaves nothing.
pub(super) fn head(content: &str, max_lines: usize) -> Truncation {
    let lines = lines(content);
    let whole = Truncation::whole(content, lines.len(), max_lines);
    if lines.len() <= max_lines && content.len() <= MAX_BYTES {
        return whole;
    }
    let is_first_line_too_long = lines.first().is_some_and(|line| line.len() > MAX_BYTES);
    let (kept, cut_by) = fitting(lines.iter().copied(), max_lines);
    Truncation {
        content: kept.join("\n"),
        cut_by: Some(cut_by),
        output_lines: kept.len(),
        is_first_line_too_long,
        ..whole
    }
}

/// The last lines that fit both limits. Of a last line beyond the limit of bytes its end is kept.
pub(super) fn tail(content: &str) -> Truncation {
    let lines = lines(content);
    let whole = Truncation::whole(content, lines.len(), MAX_LINES);
    if lines.len() <= MAX_LINES && content.len() <= MAX_BYTES {
        return whole;
    }
    let (mut kept, cut_by) = fitting(lines.iter().rev().copied(), MAX_LINES);
    let mut is_last_line_partial = false;
    if let (true, Some(last)) = (kept.is_empty(), lines.last()) {
        let start = (last.len() - MAX_BYTES..last.len()).find(|at| last.is_char_boundary(*at));
        kept.push(&last[start.unwrap_or(last.len())..]);
        is_last_line_partial = true;
    }
    kept.reverse();
    Truncation {
        content: kept.join("\n"),
        cut_by: Some(cut_by),
        output_lines: kept.len(),
        is_last_line_partial,
        ..whole
    }
}

/// The lines up to the first that no longer fits, and the limit that stopped them.
fn fitting<'a>(lines: impl Iterator<Item = &'a str>, max_lines: usize) -> (Vec<&'a str>, CutBy) {
    let mut kept = Vec::new();
    let mut bytes = 0;
    for line in lines.take(max_lines) {
        let added = line.len() + usize::from(!kept.is_empty());
        if bytes + added > MAX_BYTES {
            return (kept, CutBy::Bytes);
        }
        kept.push(line);
        bytes += added;
    }
    (kept, CutBy::Lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_left_alone() {
        let text = "x\n".repeat(MAX_LINES);
        for cut in [head(&text, MAX_LINES), tail(&text)] {
            assert_eq!(
                (cut.cut_by, cut.total_lines, cut.content.len()),
                (None, MAX_LINES, text.len())
            );
        }
        assert_eq!(head("", MAX_LINES).total_lines, 0);
    }

    #[test]
    fn lines_beyond_the_limit_go() {
        let text: String = (1..=2001).map(|number| format!("{number}\n")).collect();
        let first = head(&text, MAX_LINES);
        assert_eq!(
            (first.cut_by, first.output_lines, first.total_lines),
            (Some(CutBy::Lines), 2000, 2001)
        );
        assert!(first.content.starts_with("1\n") && first.content.ends_with("\n2000"));
        let last = tail(&text);
        assert!(last.content.starts_with("2\n") && last.content.ends_with("\n2001"));
    }

    #[test]
    fn bytes_beyond_the_limit_go_by_whole_lines() {
        let text = format!("{}\n{}\n", "a".repeat(30_000), "b".repeat(30_000));
        let first = head(&text, MAX_LINES);
        assert_eq!(
            (first.cut_by, first.content.len()),
            (Some(CutBy::Bytes), 30_000)
        );
        assert!(tail(&text).content.starts_with('b'));
        let full = format!(
            "{}\n{}",
            "a".repeat(MAX_BYTES / 2 - 1),
            "b".repeat(MAX_BYTES / 2)
        );
        assert_eq!(
            head(&format!("{full}\nc"), MAX_LINES).content,
            full,
            "the limit itself still fits"
        );
    }

    #[test]
    fn sizes_are_rounded() {
        assert_eq!(size_text(1023), "1023B");
        assert_eq!(size_text(1536), "1.5KB");
        assert_eq!(size_text(3 * 1024 * 1024), "3.0MB");
    }

    #[test]
    fn one_line_beyond_the_limit() {
        let text = "€".repeat(20_000);
        let first = head(&text, MAX_LINES);
        assert!(
            first.is_first_line_too_long && first.content.is_empty() && first.output_lines == 0
        );
        let last = tail(&text);
        assert!(last.is_last_line_partial && last.cut_by == Some(CutBy::Bytes));
        assert_eq!(last.content.len(), MAX_BYTES - MAX_BYTES % 3);
    }
}

//! Random pairs of texts, the same for the same seed.

use fastrand::Rng;

use super::Pair;

/// Makes pairs without end: edits of every kind on texts of every kind.
#[derive(Debug)]
pub struct Generator(Rng);

/// Lines that a diff could take for something else, or a reader could split.
const ODD: [&str; 20] = [
    "",
    " ",
    "\t",
    "}",
    "    }",
    "- a",
    "+ a",
    "--- a/b",
    "+++ a/b",
    "@@ -1,1 +1,1 @@",
    "\\ No newline at end of file",
    "a\u{2028}b\u{2029}c",
    "\u{85}\u{b}\u{c}",
    "a\rb",
    "日本語の行",
    "e\u{301} \u{1f469}\u{200d}\u{1f4bb}",
    "\u{feff}mark",
    "\u{0}",
    "...",
    "1 one",
];

/// Names for the patch's header.
const PATHS: [&str; 5] = ["src/a.rs", "a b.txt", "/abs/ü/日本.md", "../x", "-"];

/// The longest line made, in bytes.
const LONGEST_LINE: usize = 100_000;

impl Generator {
    /// A generator; the same seed gives the same pairs.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    fn pair(&mut self) -> Pair {
        let path = PATHS[self.below(PATHS.len())].to_owned();
        // Few words make many repeated lines, where several shortest scripts exist.
        let words = [1, 2, 3, 5, 10, 50, 1_000_000][self.below(7)];
        let most = [4, 12, 60, 60, 400][self.below(5)];
        let most = if self.once_in(50) { 2_000 } else { most };
        let old = self.lines(most, words);
        let new = match self.below(12) {
            0 => Vec::new(),
            // Two texts that have nothing to do with each other cost Pi the square of their length.
            1 | 2 => self.lines(most.min(300), words),
            _ => self.edited(&old, words),
        };
        let (old, new) = if self.once_in(20) {
            (new, old)
        } else {
            (old, new)
        };
        let endings = self.below(10);
        let changed_endings = if self.once_in(12) {
            self.below(10)
        } else {
            endings
        };
        let marks = (self.once_in(15), self.once_in(15));
        let old = self.text(&old, endings, marks.0);
        let new = self.text(&new, changed_endings, marks.1);
        Pair { path, old, new }
    }

    fn lines(&mut self, most: usize, words: usize) -> Vec<String> {
        let count = self.below(most + 1);
        (0..count).map(|_| self.line(words)).collect()
    }

    fn line(&mut self, words: usize) -> String {
        match self.below(100) {
            0..10 => ODD[self.below(ODD.len())].to_owned(),
            10..14 => String::new(),
            // One in some thousand, since it weighs as much as all the others.
            14 if self.once_in(40) => {
                let word = self.below(words);
                format!("{word} {}", "x".repeat(self.below(LONGEST_LINE)))
            }
            _ => {
                let word = self.below(words);
                format!("{:width$}line {word}", "", width = word % 3 * 4)
            }
        }
    }

    /// Some edits of a text: what people and tools do to files.
    fn edited(&mut self, old: &[String], words: usize) -> Vec<String> {
        let mut new = old.to_vec();
        for _ in 0..self.below(8) {
            let (from, to) = self.range(new.len());
            let count = self.below(6);
            match self.below(8) {
                0 => drop(new.drain(from..to)),
                1 => {
                    let added: Vec<String> = (0..count).map(|_| self.line(words)).collect();
                    new.splice(from..from, added);
                }
                2 => {
                    let added: Vec<String> = (0..count).map(|_| self.line(words)).collect();
                    new.splice(from..to, added);
                }
                // A block moves.
                3 => {
                    let block: Vec<String> = new.drain(from..to).collect();
                    let at = self.below(new.len() + 1);
                    new.splice(at..at, block);
                }
                // A block is copied, beside itself or elsewhere.
                4 => {
                    let block = new[from..to].to_vec();
                    let at = if self.0.bool() {
                        to
                    } else {
                        self.below(new.len() + 1)
                    };
                    new.splice(at..at, block);
                }
                5 => new[from..to].reverse(),
                6 => new[from..to]
                    .iter_mut()
                    .for_each(|line| line.insert_str(0, "    ")),
                _ => new[from..to].iter_mut().for_each(|line| line.push('!')),
            }
        }
        new
    }

    /// A range of so many lines: mostly short.
    fn range(&mut self, len: usize) -> (usize, usize) {
        let from = self.below(len + 1);
        let most = if self.once_in(6) { len } else { 5 };
        (from, (from + self.below(most + 1)).min(len))
    }

    fn text(&mut self, lines: &[String], endings: usize, mark: bool) -> String {
        let mut text = if mark { "\u{feff}" } else { "" }.to_owned();
        for line in lines {
            text.push_str(line);
            text.push_str(match endings {
                0 => "\r\n",
                1 => ["\n", "\r\n", "\r"][self.below(3)],
                _ => "\n",
            });
        }
        if self.once_in(5) && text.ends_with('\n') {
            text.pop();
        }
        text
    }

    fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

impl Iterator for Generator {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        Some(self.pair())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e2_e5_a_seed_gives_its_pairs_and_they_are_of_every_kind() {
        let made = |seed| Generator::new(seed).take(1_000).collect::<Vec<_>>();
        let pairs = made(1);
        assert_eq!(pairs, made(1));
        assert_ne!(pairs, made(2));
        type Kind = (&'static str, fn(&Pair) -> bool);
        let kinds: [Kind; 9] = [
            ("nothing before", |pair| {
                pair.old.is_empty() && !pair.new.is_empty()
            }),
            ("nothing after", |pair| {
                pair.new.is_empty() && !pair.old.is_empty()
            }),
            ("the same", |pair| pair.old == pair.new),
            ("CRLF", |pair| pair.old.contains("\r\n")),
            ("a lone CR", |pair| {
                pair.new.replace("\r\n", "").contains('\r')
            }),
            ("a mark on one side", |pair| {
                pair.old.starts_with('\u{feff}') != pair.new.starts_with('\u{feff}')
            }),
            ("no final newline", |pair| {
                !pair.new.is_empty() && !pair.new.ends_with('\n')
            }),
            ("a very long line", |pair| pair.old.len() > 50_000),
            ("many lines", |pair| pair.old.lines().count() > 1_000),
        ];
        for (name, is) in kinds {
            assert!(pairs.iter().any(is), "{name}");
        }
    }
}

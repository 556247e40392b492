//! The line edits that turn one text into another.

use indexmap::IndexSet;

/// How much work a search may do.
pub struct Effort<'a> {
    /// Steps of the search: a diagonal visited, or a pair of equal lines walked over. Counting them bounds the work
    /// where the clock stands still (virtual time) and the memory everywhere: each diagonal keeps four bytes.
    pub steps: u64,
    /// Asked now and then; true ends the search.
    pub expired: &'a (dyn Fn() -> bool + Sync),
}

impl Effort<'_> {
    /// No bound at all.
    pub const UNBOUNDED: Effort<'static> = Effort {
        steps: u64::MAX,
        expired: &|| false,
    };

    /// Steps between two looks at `expired`.
    const LOOK_EVERY: u64 = 4096;
}

/// What happens to the lines of a [`Part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// They stand in both texts.
    Equal,
    /// They stand in the old text only.
    Removed,
    /// They stand in the new text only.
    Added,
}

impl PartKind {
    /// The character that both formats put before such a line.
    pub(super) fn sign(self) -> char {
        match self {
            Self::Equal => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A run of lines with one fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Their fate.
    pub kind: PartKind,
    /// Index of the first, in the new text for added lines and in the old one otherwise.
    pub start: usize,
    /// How many.
    pub len: usize,
}

/// The line edits between two texts. A line ends after its LF and at nothing else (O06).
#[derive(Clone, Debug)]
pub struct Script<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    parts: Vec<Part>,
    steps: u64,
}

impl<'a> Script<'a> {
    /// Finds the edits, or `None` when they cost more than `effort` allows.
    #[must_use]
    pub fn between(old: &'a str, new: &'a str, effort: &Effort<'_>) -> Option<Self> {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut ids = IndexSet::new();
        let old_ids = intern(&old, &mut ids);
        let new_ids = intern(&new, &mut ids);
        let (parts, steps) = Search::run(&old_ids, &new_ids, effort)?;
        Some(Self {
            old,
            new,
            parts,
            steps,
        })
    }

    /// The parts in order; two neighbours never have the same kind.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many steps finding them took, as [`Effort`] counts.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The lines of a part of this script, each with its LF where it has one.
    #[must_use]
    pub fn lines(&self, part: &Part) -> &[&'a str] {
        let text = if part.kind == PartKind::Added {
            &self.new
        } else {
            &self.old
        };
        text.get(part.start..)
            .and_then(|rest| rest.get(..part.len))
            .unwrap_or_default()
    }

    /// Lines of the longer text, where an ending newline counts as the start of one more.
    pub(super) fn longest(&self) -> usize {
        let count = |lines: &[&str]| match lines.last() {
            Some(last) if !last.ends_with('\n') => lines.len(),
            _ => lines.len() + 1,
        };
        count(&self.old).max(count(&self.new))
    }
}

/// Gives equal lines equal numbers, in the order of their first appearance, so that the search compares integers.
fn intern<'a>(lines: &[&'a str], ids: &mut IndexSet<&'a str>) -> Vec<u32> {
    lines
        .iter()
        .map(|line| ids.insert_full(line).0 as u32)
        .collect()
}

/// Myers' greedy search, forward only, with the tie-breaks of npm's `diff` 8.
///
/// Row `d` holds, for each diagonal `k` (old lines consumed less new lines consumed), how far into the old text `d`
/// single-line edits can reach. All rows are kept, and the way is read back from them.
struct Search<'a> {
    old: &'a [u32],
    new: &'a [u32],
    rows: Vec<Row>,
    cells: Vec<u32>,
}

/// Where a row's cells lie: diagonals `lowest, lowest + 2, …`.
#[derive(Clone, Copy)]
struct Row {
    lowest: i64,
    first: usize,
    len: usize,
}

impl Row {
    /// Where a diagonal of the row's parity lies in it, or would; every cell of a row has one parity.
    fn place(&self, diagonal: i64) -> i64 {
        (diagonal - self.lowest).div_euclid(2)
    }
}

/// A diagonal that no path reaches.
const NOWHERE: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn run(old: &'a [u32], new: &'a [u32], effort: &Effort<'_>) -> Option<(Vec<Part>, u64)> {
        let mut search = Search {
            old,
            new,
            rows: Vec::new(),
            cells: Vec::new(),
        };
        let mut steps = 0_u64;
        let mut next_look = 0_u64;
        let prefix = search.slide(0, 0);
        steps += prefix as u64;
        if prefix == old.len() && prefix == new.len() {
            return Some((search.read_back(0, 0, prefix), steps));
        }
        search.rows.push(Row {
            lowest: 0,
            first: 0,
            len: 1,
        });
        search.cells.push(prefix as u32);

        // A path that met the end of a text stays there, so diagonals beyond it lead to nothing shorter.
        let (mut lowest, mut highest) = (i64::MIN, i64::MAX);
        for edits in 1..=(old.len() + new.len()) as i64 {
            let mut row = Row {
                lowest: lowest.max(-edits),
                first: search.cells.len(),
                len: 0,
            };
            let mut diagonal = row.lowest;
            // Where the row before holds the diagonal below this one; the one above is next to it.
            let last = *search.rows.last()?;
            let mut below = last.place(diagonal - 1);
            while diagonal <= highest.min(edits) {
                steps += 1;
                if steps >= next_look {
                    if steps > effort.steps || (effort.expired)() {
                        return None;
                    }
                    next_look = steps + Effort::LOOK_EVERY;
                }
                let mut cell = NOWHERE;
                if let Some((start, _)) = search.choose(&last, below, diagonal) {
                    let reach = search.slide(start, diagonal);
                    steps += (reach - start) as u64;
                    let (old_done, new_done) = (
                        reach >= old.len(),
                        reach as i64 - diagonal >= new.len() as i64,
                    );
                    if old_done && new_done {
                        return Some((search.read_back(edits, diagonal, reach), steps));
                    }
                    if old_done {
                        highest = highest.min(diagonal - 1);
                    }
                    if new_done {
                        lowest = lowest.max(diagonal + 1);
                    }
                    cell = reach as u32;
                }
                search.cells.push(cell);
                row.len += 1;
                diagonal += 2;
                below += 1;
            }
            search.rows.push(row);
        }
        // Not reached: as many edits as there are lines remove all of the old and add all of the new.
        None
    }

    /// How far the path on a diagonal gets over equal lines, from `reach` old lines on.
    fn slide(&self, reach: usize, diagonal: i64) -> usize {
        let at = (reach as i64 - diagonal).max(0) as usize;
        let (old, new) = (self.old.get(reach..), self.new.get(at..));
        let pairs = old.unwrap_or_default().iter().zip(new.unwrap_or_default());
        reach + pairs.take_while(|(left, right)| left == right).count()
    }

    /// The edit that leads to a diagonal with this many edits: where it arrives and whether it adds a line.
    fn step(&self, edits: i64, diagonal: i64) -> Option<(usize, bool)> {
        let last = self.rows.get(usize::try_from(edits - 1).ok()?)?;
        self.choose(last, last.place(diagonal - 1), diagonal)
    }

    /// Chooses between the removal that comes from the diagonal below, at `below` in the row before, and the addition
    /// that comes from the one above. The one from further along the old text wins, and a removal wins a tie.
    fn choose(&self, last: &Row, below: i64, diagonal: i64) -> Option<(usize, bool)> {
        let cell = |place: i64| {
            let place = usize::try_from(place)
                .ok()
                .filter(|place| *place < last.len)?;
            self.cells
                .get(last.first + place)
                .filter(|cell| **cell != NOWHERE)
                .map(|cell| *cell as usize)
        };
        let removal = cell(below).filter(|reach| *reach < self.old.len());
        let addition = cell(below + 1).filter(|reach| {
            let line = *reach as i64 - 1 - diagonal;
            0 <= line && line < self.new.len() as i64
        });
        match (removal, addition) {
            (None, None) => None,
            (Some(removal), Some(addition)) if removal < addition => Some((addition, true)),
            (None, Some(addition)) => Some((addition, true)),
            (Some(removal), _) => Some((removal + 1, false)),
        }
    }

    /// Follows the way back from its end, and returns its parts from the start.
    fn read_back(&self, mut edits: i64, mut diagonal: i64, mut reach: usize) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut push = |kind, start, len| match parts.last_mut() {
            _ if len == 0 => {}
            Some(later) if later.kind == kind => {
                later.start = start;
                later.len += len;
            }
            _ => parts.push(Part { kind, start, len }),
        };
        while let Some((arrival, adds)) = self.step(edits, diagonal).filter(|_| edits > 0) {
            push(PartKind::Equal, arrival, reach - arrival);
            if adds {
                push(
                    PartKind::Added,
                    (arrival as i64 - diagonal - 1).max(0) as usize,
                    1,
                );
                diagonal += 1;
                reach = arrival;
            } else {
                push(PartKind::Removed, arrival - 1, 1);
                diagonal -= 1;
                reach = arrival - 1;
            }
            edits -= 1;
        }
        push(PartKind::Equal, 0, reach);
        parts.reverse();
        parts
    }
}

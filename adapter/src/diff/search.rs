//! The search for the shortest script, with the choices of npm's `diff` 8.

use super::script::{Effort, Part, PartKind};

/// Lines with their marks, as many of both.
#[derive(Clone, Copy)]
pub(super) struct Marked<'a> {
    lines: &'a [&'a str],
    marks: &'a [u32],
}

impl<'a> Marked<'a> {
    /// `marks` holds one for each line; equal lines have equal ones.
    pub(super) fn of(lines: &'a [&'a str], marks: &'a [u32]) -> Self {
        Self { lines, marks }
    }

    fn len(self) -> usize {
        self.lines.len().min(self.marks.len())
    }
}

/// Myers' greedy search, forward only.
///
/// Row `d` holds, for each diagonal `k` (old lines consumed less new lines consumed), how far into the old text `d`
/// single-line edits can reach. All rows are kept, and the way is read back from them.
///
/// A path that met the end of a text stays there, so diagonals beyond it are not visited again. That is why each cell
/// that a row takes from the row before has a line left for its edit: one at the end of the old text is the row's last,
/// and the next row, which ends before it, takes an addition from it at most; one at the end of the new text lies below
/// the next row's first, which takes a removal from it at most.
pub(super) struct Search<'a> {
    old: Marked<'a>,
    new: Marked<'a>,
    rows: Vec<Row>,
}

/// What so many edits reach on diagonals `lowest, lowest + 2, …`: every cell of a row has one parity.
struct Row {
    lowest: i64,
    /// The cells, with [`NOWHERE`] before the first and after the last, so that each pair of neighbours is what the
    /// next row chooses between on the diagonal that lies between them.
    cells: Vec<i32>,
}

impl Row {
    fn begin(lowest: i64, len: usize) -> Self {
        let mut cells = Vec::with_capacity(len + 2);
        cells.push(NOWHERE);
        Self { lowest, cells }
    }

    /// Where the pair stands between which the next row chooses on this diagonal.
    fn pair(&self, diagonal: i64) -> usize {
        usize::try_from((diagonal + 1 - self.lowest) / 2).unwrap_or(0)
    }
}

/// A diagonal that the row before did not visit.
const NOWHERE: i32 = -1;

/// Where in the old text a path is once it came to a diagonal by a single edit: a removal from the diagonal below or an
/// addition from the one above. The way from further along wins, and a removal wins a tie.
fn arrival(removal: i32, addition: i32) -> i32 {
    addition.max(removal + 1)
}

/// Whether it came by the addition.
fn adds(removal: i32, addition: i32) -> bool {
    removal < addition
}

impl<'a> Search<'a> {
    /// The parts of the script and the steps taken by now, of which so many were `spent` before, or `None` where they are
    /// more than `effort` allows.
    pub(super) fn run(
        texts: [Marked<'a>; 2],
        spent: u64,
        effort: &Effort<'_>,
    ) -> Option<(Vec<Part>, u64)> {
        let [old, new] = texts;
        let mut search = Search {
            old,
            new,
            rows: Vec::new(),
        };
        // Cells hold numbers of lines.
        i32::try_from(old.len()).ok()?;
        let prefix = search.slide(0, 0).0;
        let mut steps = spent + prefix as u64;
        let mut next_look = 0_u64;
        if prefix == old.len() && prefix == new.len() {
            return Some((search.read_back(0, 0, prefix), steps));
        }
        let mut last = Row::begin(0, 1);
        last.cells.extend([prefix as i32, NOWHERE]);

        let (mut lowest, mut highest) = (i64::MIN, i64::MAX);
        for edits in 1..=(old.len() + new.len()) as i64 {
            let mut row = Row::begin(lowest.max(-edits), last.cells.len());
            let mut diagonal = row.lowest;
            steps += Effort::ROW;
            let pairs = last.cells.get(last.pair(diagonal)..).unwrap_or_default();
            for pair in pairs.windows(2) {
                if diagonal > highest {
                    break;
                }
                steps += 1;
                if steps >= next_look {
                    if steps > effort.steps || (effort.expired)() {
                        return None;
                    }
                    next_look = steps + Effort::LOOK_EVERY;
                }
                let start = arrival(pair[0], pair[1]) as usize;
                let (reach, at_an_end) = search.slide(start, diagonal);
                steps += (reach - start) as u64;
                if at_an_end {
                    let old_done = reach >= old.len();
                    let new_done = reach as i64 - diagonal >= new.len() as i64;
                    if old_done && new_done {
                        search.rows.push(last);
                        return Some((search.read_back(edits, diagonal, reach), steps));
                    }
                    if old_done {
                        highest = highest.min(diagonal - 1);
                    }
                    if new_done {
                        lowest = lowest.max(diagonal + 1);
                    }
                }
                row.cells.push(reach as i32);
                diagonal += 2;
            }
            row.cells.push(NOWHERE);
            search.rows.push(std::mem::replace(&mut last, row));
        }
        // Not reached: as many edits as there are lines remove all of the old and add all of the new.
        None
    }

    /// How far the path on a diagonal gets over equal lines, from `start` old lines on, and whether a text ends there.
    fn slide(&self, start: usize, diagonal: i64) -> (usize, bool) {
        let mut reach = start;
        let mut at = (start as i64 - diagonal) as usize;
        while let (Some(old), Some(new)) = (self.old.marks.get(reach), self.new.marks.get(at)) {
            if old != new || self.old.lines.get(reach) != self.new.lines.get(at) {
                return (reach, false);
            }
            reach += 1;
            at += 1;
        }
        (reach, true)
    }

    /// The edit that leads to a diagonal with this many edits: where it arrives, and whether it adds a line.
    fn step(&self, edits: i64, diagonal: i64) -> Option<(usize, bool)> {
        let last = self.rows.get(usize::try_from(edits - 1).ok()?)?;
        let pair = last.cells.get(last.pair(diagonal)..)?;
        let [removal, addition, ..] = *pair else {
            return None;
        };
        Some((arrival(removal, addition) as usize, adds(removal, addition)))
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

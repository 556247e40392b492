//! Which lines two texts share: Myers' greedy walk, with ties resolved as the `diff` package (npm, 8.0) resolves them.
//!
//! `similar` finds scripts of the same length but aligns runs of equal lines differently, and what the model and the
//! client read depends on the alignment. Hence a walk of our own.

use std::rc::Rc;

/// Edits after which two texts count as entirely different. It bounds the work, which grows with the square of them.
const MAX_EDITS: i64 = 5_000;

/// What happened to a run of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Kept,
    Added,
    Removed,
}

/// Neighbouring lines with the same fate, each with its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run<'a> {
    pub(super) change: Change,
    pub(super) lines: Vec<&'a str>,
}

/// The runs that turn `old` into `new`, in order.
pub(super) fn runs<'a>(old: &'a str, new: &'a str) -> Vec<Run<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let steps = walk(&old, &new, MAX_EDITS).unwrap_or_else(|| all_different(&old, &new));
    let (mut at_old, mut at_new) = (0, 0);
    let mut runs = Vec::with_capacity(steps.len());
    for (change, count) in steps {
        let lines = match change {
            Change::Removed => &old[at_old..at_old + count],
            Change::Added | Change::Kept => &new[at_new..at_new + count],
        };
        at_old += if change == Change::Added { 0 } else { count };
        at_new += if change == Change::Removed { 0 } else { count };
        runs.push(Run {
            change,
            lines: lines.to_vec(),
        });
    }
    runs
}

/// Everything goes and everything comes.
fn all_different(old: &[&str], new: &[&str]) -> Vec<(Change, usize)> {
    let all = [(Change::Removed, old.len()), (Change::Added, new.len())];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// A path through the edit graph: how far it came in the old text, and the runs it is made of.
#[derive(Clone)]
struct Path {
    /// Old lines behind it.
    old: i64,
    last: Option<Rc<Link>>,
}

/// The last run of a path, and the way to the ones before. Paths share what they have in common.
struct Link {
    change: Change,
    count: usize,
    before: Option<Rc<Link>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // One after the other: a long chain dropped from inside itself would exhaust the stack.
        let mut next = self.before.take();
        while let Some(link) = next {
            next = Rc::into_inner(link).and_then(|mut link| link.before.take());
        }
    }
}

impl Path {
    /// This path with one more changed line.
    fn with(&self, change: Change) -> Self {
        let (count, before) = match &self.last {
            Some(last) if last.change == change => (last.count + 1, last.before.clone()),
            _ => (1, self.last.clone()),
        };
        let old = self.old + i64::from(change == Change::Removed);
        Self {
            old,
            last: Some(Rc::new(Link {
                change,
                count,
                before,
            })),
        }
    }

    /// Follows the lines that both texts share from here on this diagonal; returns the new lines behind it then.
    fn slide(&mut self, old: &[&str], new: &[&str], diagonal: i64) -> i64 {
        let index = |at: i64| usize::try_from(at).unwrap_or(usize::MAX);
        let mut count = 0;
        let mut at_new = self.old - diagonal;
        while let (Some(left), Some(right)) = (old.get(index(self.old)), new.get(index(at_new))) {
            if left != right {
                break;
            }
            self.old += 1;
            at_new += 1;
            count += 1;
        }
        if count > 0 {
            self.last = Some(Rc::new(Link {
                change: Change::Kept,
                count,
                before: self.last.take(),
            }));
        }
        at_new
    }

    fn runs(&self) -> Vec<(Change, usize)> {
        let mut runs = Vec::new();
        let mut next = self.last.as_ref();
        while let Some(link) = next {
            runs.push((link.change, link.count));
            next = link.before.as_ref();
        }
        runs.reverse();
        runs
    }
}

/// The furthest path on each diagonal, `old - new`.
struct Front {
    paths: Vec<Option<Path>>,
    middle: i64,
}

impl Front {
    fn slot(&mut self, diagonal: i64) -> Option<&mut Option<Path>> {
        let index = usize::try_from(diagonal + self.middle).ok()?;
        self.paths.get_mut(index)
    }

    fn get(&mut self, diagonal: i64) -> Option<Path> {
        self.slot(diagonal)?.clone()
    }

    fn set(&mut self, diagonal: i64, path: Option<Path>) {
        if let Some(slot) = self.slot(diagonal) {
            *slot = path;
        }
    }
}

/// The shortest way from `old` to `new`, or nothing if it is longer than the limit.
///
/// Of two ways to reach a diagonal the one further in the old text wins, a removal when they are level. A diagonal that
/// reached the edge of the graph stops its neighbours beyond from being tried.
fn walk(old: &[&str], new: &[&str], limit: i64) -> Option<Vec<(Change, usize)>> {
    let length = |lines: &[&str]| i64::try_from(lines.len()).unwrap_or(i64::MAX / 4);
    let (old_length, new_length) = (length(old), length(new));
    let max_edits = (old_length + new_length).min(limit);
    let middle = max_edits + 1;
    let slots = usize::try_from(2 * middle + 1).ok()?;
    let mut front = Front {
        paths: vec![None; slots],
        middle,
    };

    let mut path = Path { old: 0, last: None };
    let at_new = path.slide(old, new, 0);
    if path.old >= old_length && at_new >= new_length {
        return Some(path.runs());
    }
    front.set(0, Some(path));
    let (mut lowest, mut highest) = (i64::MIN, i64::MAX);
    for edits in 1..=max_edits {
        let mut diagonal = lowest.max(-edits);
        while diagonal <= highest.min(edits) {
            let removing = front.get(diagonal - 1);
            front.set(diagonal - 1, None);
            let adding = front.get(diagonal + 1);
            let removing = removing.filter(|path| path.old < old_length);
            let adding = adding.filter(|path| (0..new_length).contains(&(path.old - diagonal - 1)));
            let next = match (removing, adding) {
                (None, None) => None,
                (Some(removing), Some(adding)) if removing.old >= adding.old => {
                    Some(removing.with(Change::Removed))
                }
                (Some(removing), None) => Some(removing.with(Change::Removed)),
                (_, Some(adding)) => Some(adding.with(Change::Added)),
            };
            let Some(mut path) = next else {
                front.set(diagonal, None);
                diagonal += 2;
                continue;
            };
            let at_new = path.slide(old, new, diagonal);
            let (is_old_done, is_new_done) = (path.old >= old_length, at_new >= new_length);
            if is_old_done && is_new_done {
                return Some(path.runs());
            }
            front.set(diagonal, Some(path));
            if is_old_done {
                highest = highest.min(diagonal - 1);
            }
            if is_new_done {
                lowest = lowest.max(diagonal + 1);
            }
            diagonal += 2;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> Vec<String> {
        let sign = |change| match change {
            Change::Kept => ' ',
            Change::Added => '+',
            Change::Removed => '-',
        };
        runs(old, new)
            .iter()
            .map(|run| format!("{}{}", sign(run.change), run.lines.concat()))
            .collect()
    }

    #[test]
    fn equal_texts_are_one_run() {
        assert_eq!(shown("a\nb", "a\nb"), [" a\nb"]);
        assert!(shown("", "").is_empty());
    }

    #[test]
    fn a_missing_newline_makes_another_line() {
        assert_eq!(shown("a\nb", "a\nb\n"), [" a\n", "-b", "+b\n"]);
    }

    #[test]
    fn texts_too_far_apart_are_given_up() {
        let (old, new) = (["a", "b", "c"], ["x", "b", "y"]);
        assert!(walk(&old, &new, 4).is_some());
        assert_eq!(walk(&old, &new, 3), None);
        assert_eq!(
            all_different(&old, &new),
            [(Change::Removed, 3), (Change::Added, 3)]
        );
        assert_eq!(all_different(&[], &new), [(Change::Added, 3)]);
    }

    #[test]
    fn a_long_chain_of_runs_does_not_exhaust_the_stack() {
        let mut last = None;
        for _ in 0..1_000_000 {
            last = Some(Rc::new(Link {
                change: Change::Kept,
                count: 1,
                before: last,
            }));
        }
        let path = Path { old: 0, last };
        assert_eq!(path.runs().len(), 1_000_000);
    }
}

//! The adapter's diffs against Pi's own functions, text by text (E2, E5): `pi-bench diffs`.
//!
//! Pairs come from a seeded generator and from a git history. Each goes through the adapter and, live, through the
//! functions that the real Pi exports; a pair on which the two say something else is made small before it is shown.

mod generate;
mod history;
mod pi;
mod shrink;

use serde::{Deserialize, Serialize};

pub use generate::Generator;
pub use history::History;
pub use pi::{Lost, PiDiffs, Timed};
pub use shrink::shrink;

/// Two texts of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// What the patch's header calls the file.
    pub path: String,
    /// The text before.
    pub old: String,
    /// The text after.
    pub new: String,
}

/// What is shown of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// The numbered diff.
    pub diff: String,
    /// The unified patch.
    pub patch: String,
    /// Line of the new text, from 1; absent where nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_changed_line: Option<u64>,
}

impl Shown {
    /// What the adapter shows of a pair, without a bound on the work.
    #[must_use]
    pub fn by_adapter(pair: &Pair) -> Self {
        let shown = adapter::diff::diff(&pair.old, &pair.new);
        Self {
            diff: shown.diff,
            patch: adapter::diff::patch(&pair.path, &pair.old, &pair.new),
            first_changed_line: shown.first_changed_line.map(|line| line as u64),
        }
    }
}

/// A pair of which Pi and the adapter show something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The pair.
    pub pair: Pair,
    /// What Pi shows.
    pub pi: Shown,
    /// What the adapter shows.
    pub adapter: Shown,
}

/// How many of some pairs were equal.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    /// Pairs of which both show the same.
    pub equal: usize,
    /// All pairs.
    pub total: usize,
    /// The first few that are not equal, made small.
    pub differences: Vec<Difference>,
}

/// How many differences are made small and kept. One fault makes thousands.
const KEPT: usize = 3;

/// Compares pairs one after another. `told` hears of each, and ends the comparison by answering false.
///
/// # Errors
/// When Pi's side ended or does not answer as it should.
pub fn compare(
    pairs: impl IntoIterator<Item = Pair>,
    pi: &mut PiDiffs,
    mut told: impl FnMut() -> bool,
) -> Result<Tally, Lost> {
    let mut tally = Tally::default();
    for pair in pairs {
        tally.total += 1;
        if Shown::by_adapter(&pair) == pi.ask(&pair)? {
            tally.equal += 1;
        } else if tally.differences.len() < KEPT {
            let pair = shrink(&pair, |pair| {
                Ok::<_, Lost>(Shown::by_adapter(pair) != pi.ask(pair)?)
            })?;
            tally.differences.push(Difference {
                pi: pi.ask(&pair)?,
                adapter: Shown::by_adapter(&pair),
                pair,
            });
        }
        if !told() {
            break;
        }
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use adapter::diff::{Effort, PartKind, Script};
    use similar::{Algorithm, DiffOp, capture_diff_slices};

    use super::*;

    /// The lines that a script keeps, as runs of (old, new, length).
    type Kept = Vec<(usize, usize, usize)>;

    fn ours(pair: &Pair) -> Kept {
        let script = Script::between(&pair.old, &pair.new, &Effort::UNBOUNDED).expect("unbounded");
        let mut new = 0;
        let mut kept = Vec::new();
        for part in script.parts() {
            if part.kind == PartKind::Equal {
                kept.push((part.start, new, part.len));
            }
            if part.kind != PartKind::Removed {
                new += part.len;
            }
        }
        kept
    }

    fn similars(pair: &Pair) -> Kept {
        let [old, new] =
            [&pair.old, &pair.new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        let kept = |op: &DiffOp| match *op {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => Some((old_index, new_index, len)),
            _ => None,
        };
        ops.iter().filter_map(kept).collect()
    }

    #[test]
    fn e2_the_crate_similar_often_keeps_other_lines_than_pi() {
        let pair = Pair {
            path: "p".to_owned(),
            old: "a\nb\n".to_owned(),
            new: "b\na\n".to_owned(),
        };
        assert_eq!(
            (ours(&pair), similars(&pair)),
            (vec![(1, 0, 1)], vec![(0, 1, 1)])
        );
        let differ = |pair: &Pair| ours(pair) != similars(pair);
        let count = Generator::new(1).take(1_000).filter(differ).count();
        // `adapter::diff` tells this number.
        assert_eq!(count, 338);
    }
}

//! A smaller pair that shows the same fault.

use super::Pair;

/// How often a pair is tried at most; each try is a question to Pi.
const TRIES: usize = 2_000;

/// Takes lines away from either text for as long as `fails` says that the rest still does, in ever smaller bites.
///
/// # Errors
/// What `fails` answers.
pub fn shrink<E>(pair: &Pair, mut fails: impl FnMut(&Pair) -> Result<bool, E>) -> Result<Pair, E> {
    let mut best = pair.clone();
    let mut tries = 0;
    loop {
        let mut smaller = false;
        for side in [Side::Old, Side::New] {
            let mut bite = lines(side.of(&best)).len();
            while bite > 0 {
                let mut at = 0;
                while at < lines(side.of(&best)).len() {
                    let kept = lines(side.of(&best));
                    let rest = [&kept[..at], &kept[(at + bite).min(kept.len())..]].concat();
                    let mut candidate = best.clone();
                    *side.of_mut(&mut candidate) = rest.concat();
                    tries += 1;
                    if tries > TRIES {
                        return Ok(best);
                    }
                    if fails(&candidate)? {
                        best = candidate;
                        smaller = true;
                    } else {
                        at += bite;
                    }
                }
                bite /= 2;
            }
        }
        if !smaller {
            return Ok(best);
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[derive(Clone, Copy)]
enum Side {
    Old,
    New,
}

impl Side {
    fn of(self, pair: &Pair) -> &str {
        match self {
            Self::Old => &pair.old,
            Self::New => &pair.new,
        }
    }

    fn of_mut(self, pair: &mut Pair) -> &mut String {
        match self {
            Self::Old => &mut pair.old,
            Self::New => &mut pair.new,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn only_what_the_fault_needs_is_left() {
        let text = |bad: &str| {
            let mut lines: Vec<String> = (0..100).map(|line| format!("{line}\n")).collect();
            lines[61] = bad.to_owned();
            lines.concat()
        };
        let pair = Pair {
            path: "p".to_owned(),
            old: text("x\n"),
            new: text("y\n"),
        };
        let small = shrink(&pair, |pair| {
            Ok::<_, Infallible>(pair.old.contains("x\n") && pair.new.contains("y\n"))
        });
        let Ok(small) = small;
        assert_eq!((small.old.as_str(), small.new.as_str()), ("x\n", "y\n"));
    }

    #[test]
    fn a_fault_that_never_goes_away_ends_in_nothing() {
        let pair = Pair {
            path: "p".to_owned(),
            old: "a\n".repeat(10_000),
            new: String::new(),
        };
        let Ok(small) = shrink(&pair, |_| Ok::<_, Infallible>(true));
        assert_eq!(small.old, "");
    }
}

//! The pairs of texts by which the speed of diffs is told, the same on each run.

/// What the diff work on a pair has to come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A diff, much sooner than by Pi's own functions.
    Faster,
    /// A diff within the time of a call.
    Shown,
    /// A note within the time of a call.
    Note,
}

/// A pair of texts.
#[derive(Clone, Debug)]
pub struct Input {
    /// What it is, as Criterion names it.
    pub name: &'static str,
    /// What it has to come to.
    pub aim: Aim,
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
}

/// A small edit of a small and of a large file, many edits of a large one; then what takes longest: nothing left as it
/// was, about as many lines deleted as are still shown, and more of them, which are not.
#[must_use]
pub fn inputs() -> [Input; 6] {
    let input = |name, aim, before: &[String], after: Vec<String>| Input {
        name,
        aim,
        before: before.concat(),
        after: after.concat(),
    };
    let (small, large, other) = (source(63_000), source(650_000), source(160_000));
    let all = other.iter().map(|line| format!("// {line}")).collect();
    let short: Vec<String> = (0..140_000).map(|number| format!("{number}\n")).collect();
    let shorter = vec!["x\n".to_owned(); 500_000];
    [
        input("63 KB with 3 edits", Aim::Faster, &small, edited(&small, 3)),
        input(
            "650 KB with 20 edits",
            Aim::Faster,
            &large,
            edited(&large, 20),
        ),
        input(
            "650 KB with 1000 edits",
            Aim::Faster,
            &large,
            edited(&large, 1_000),
        ),
        input("160 KB with every line changed", Aim::Note, &other, all),
        input("140000 lines deleted", Aim::Shown, &short, Vec::new()),
        input("500000 lines deleted", Aim::Note, &shorter, Vec::new()),
    ]
}

/// Lines of about the look of source code, most of them unlike all others.
fn source(bytes: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut length = 0;
    for number in 0.. {
        let line = match number % 9 {
            0 => format!("fn step_{number}(input: &[u32]) -> u32 {{\n"),
            7 => "}\n".to_owned(),
            8 => "\n".to_owned(),
            place => format!(
                "    let value_{place} = input[{}].wrapping_mul({number}) ^ 0x{:04x};\n",
                number % 97,
                number * 7_919 % 65_536
            ),
        };
        length += line.len();
        lines.push(line);
        if length >= bytes {
            break;
        }
    }
    lines
}

/// So many edits at equal distances: a line replaced, one added, one removed, in turn.
fn edited(lines: &[String], edits: usize) -> Vec<String> {
    let mut edited = Vec::new();
    let mut next = 0;
    for (number, line) in lines.iter().enumerate() {
        if next < edits && number == (2 * next + 1) * lines.len() / (2 * edits) {
            if next % 3 != 2 {
                edited.push(format!("    // edit {next}\n"));
            }
            if next % 3 == 1 {
                edited.push(line.clone());
            }
            next += 1;
        } else {
            edited.push(line.clone());
        }
    }
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inputs_are_what_they_are_called() {
        let sizes = inputs().map(|input| input.before.len() / 1_000);
        assert_eq!(sizes, [63, 650, 650, 160, 868, 1_000]);
        let edits = |input: &Input| {
            let changed = |part: &&&str| part.contains("// edit");
            input
                .after
                .lines()
                .collect::<Vec<_>>()
                .iter()
                .filter(changed)
                .count()
        };
        let [few, some, many, all, ..] = inputs();
        // A third of the edits removes a line and leaves no mark.
        assert_eq!((edits(&few), edits(&some), edits(&many)), (2, 14, 667));
        let changed = all.before.lines().zip(all.after.lines());
        assert!(changed.into_iter().all(|(before, after)| before != after));
    }
}

//! Long texts, cut: a trace holds lines of any length, and a report is there to be read. The JSON form has them whole.

/// The longest line that is shown whole, in characters.
const MOST: usize = 500;

/// How much stands before the place in which a line differs, in characters.
const BEFORE: usize = 80;

/// A text cut to so many characters; control characters that would act on a terminal are shown as what they are.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let mut shown = visible(text.chars().take(most));
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// A text cut to [`MOST`] characters, with its length where it was.
pub(super) fn line(text: &str) -> String {
    from(text, 0)
}

/// The lines of a unified diff. A long one is shown around the place where it differs from its counterpart on the other
/// side: its beginning is what the two have in common.
pub(super) fn diff(text: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(first) = lines.next() {
        if !first.starts_with(['-', '+']) {
            shown.push(line(first));
            continue;
        }
        let mut block = vec![first];
        while let Some(next) = lines.next_if(|next| next.starts_with(['-', '+'])) {
            block.push(next);
        }
        let side = |sign| {
            let side = block.iter().filter(move |line| line.starts_with(sign));
            side.copied().collect::<Vec<_>>()
        };
        let (removed, added) = (side('-'), side('+'));
        let (mut minus, mut plus) = (0, 0);
        for changed in block {
            let (other, at) = if changed.starts_with('-') {
                (&added, &mut minus)
            } else {
                (&removed, &mut plus)
            };
            let common = other.get(*at).map_or(0, |other| common(changed, other));
            *at += 1;
            shown.push(from(changed, common.saturating_sub(BEFORE)));
        }
    }
    shown
}

/// How many characters two lines have in common at their beginnings, their signs left aside.
fn common(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars()).skip(1);
    1 + pairs.take_while(|(one, other)| one == other).count()
}

/// A line from some character on; its sign stays. Whole where it is short.
fn from(text: &str, start: usize) -> String {
    let length = text.chars().count();
    if length <= MOST {
        return visible(text.chars());
    }
    let start = start.min(length - MOST);
    let sign = text.chars().take(1).chain(" …".chars());
    let skipped = if start > 2 {
        sign.collect()
    } else {
        String::new()
    };
    let start = if skipped.is_empty() { 0 } else { start };
    let rest = text.chars().skip(start).take(MOST);
    let end = if start + MOST < length { "…" } else { "" };
    format!("{skipped}{}{end} ({length} characters)", visible(rest))
}

/// Control characters as what they are.
fn visible(text: impl Iterator<Item = char>) -> String {
    text.flat_map(|c| {
        if c.is_control() {
            c.escape_default().collect::<Vec<_>>()
        } else {
            vec![c]
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_whole_and_a_long_one_tells_its_length() {
        assert_eq!(line("a\u{1b}b"), "a\\u{1b}b");
        let long = line(&"x".repeat(9000));
        assert_eq!(long, format!("{}… (9000 characters)", "x".repeat(MOST)));
        assert_eq!(shortened("abcd", 3), "abc…");
        assert_eq!(shortened("abc", 3), "abc");
    }

    #[test]
    fn a_long_difference_is_shown_where_it_is() {
        let (head, tail) = ("h".repeat(5000), "t".repeat(5000));
        let text = format!("  same\n- {head}one{tail}\n- short\n+ {head}two{tail}\n+ brief\n");
        let shown = diff(&text);
        assert_eq!(
            [&shown[0], &shown[2], &shown[4]],
            ["  same", "- short", "+ brief"]
        );
        let around = |sign: &str, word: &str| {
            let (before, behind) = ("h".repeat(BEFORE), "t".repeat(MOST - BEFORE - 3));
            format!("{sign} …{before}{word}{behind}… (10005 characters)")
        };
        assert_eq!(
            [&shown[1], &shown[3]],
            [&around("-", "one"), &around("+", "two")]
        );
        let at_the_end = diff(&format!("- {head}a\n+ {head}b"));
        assert!(
            at_the_end[0].ends_with("ha (5003 characters)"),
            "{at_the_end:?}"
        );
        let alone = diff(&format!("+ {head}"));
        assert!(alone[0].starts_with("+ hhh"), "{alone:?}");
    }
}

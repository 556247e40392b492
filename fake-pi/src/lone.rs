//! Half a surrogate pair in JSON text: JavaScript strings hold it, Rust strings do not.

use std::borrow::Cow;

/// The JSON text with U+FFFD in the place of each `\uXXXX` escape that is half of a pair without its other half.
///
/// It is what becomes of such a half when a JavaScript program writes it out as UTF-8, to a file or a pipe. In a string of
/// its own it is kept there and lost here: a case that depends on the difference cannot be played.
#[must_use]
pub fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let Some(unit) = escaped_unit(&text[at..]) else {
            // The character behind the backslash is escaped, be it another backslash.
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let low = |unit| (0xdc00..0xe000).contains(&unit);
        let second = escaped_unit(&text[at + 6..]);
        if (0xd800..0xdc00).contains(&unit) && second.is_some_and(low) {
            at += 12;
        } else {
            if (0xd800..0xe000).contains(&unit) {
                out.push_str(&text[kept..at]);
                out.push(char::REPLACEMENT_CHARACTER);
                kept = at + 6;
            }
            at += 6;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// The number of a `\uXXXX` escape that the text begins with.
fn escaped_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_without_their_other_half_are_replaced() {
        for (text, whole) in [
            (r#""plain \n \\ é""#, r#""plain \n \\ é""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud800b""#, "\"a\u{fffd}b\""),
            (r#""\ude00\ud83d""#, "\"\u{fffd}\u{fffd}\""),
            (
                r#""\ud800\ud83d\ude00\uD800""#,
                "\"\u{fffd}\\ud83d\\ude00\u{fffd}\"",
            ),
            (r#""\\ud800 \u00e9 \u12""#, r#""\\ud800 \u00e9 \u12""#),
            ("\\", "\\"),
            ("\\é\\udfff", "\\é\u{fffd}"),
        ] {
            assert_eq!(without_lone_surrogates(text), whole, "{text}");
        }
    }
}

//! Texts as long as JavaScript takes them to be, in UTF-16 units, and cut by that measure. A character is never halved.

/// How long a text is.
pub(crate) fn units(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The beginning of a text, at most so many units of it.
pub(crate) fn head(text: &str, most: usize) -> &str {
    &text[..fitting(text.chars(), most)]
}

/// The end of a text, at most so many units of it.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    &text[text.len() - fitting(text.chars().rev(), most)..]
}

/// The bytes of the characters that fit before one does not.
fn fitting(characters: impl Iterator<Item = char>, most: usize) -> usize {
    let taken = characters.scan(0, |taken, character| {
        *taken += character.len_utf16();
        (*taken <= most).then_some(character.len_utf8())
    });
    taken.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_is_halved_on_either_side() {
        assert_eq!((head("a😀b", 2), head("a😀b", 3)), ("a", "a😀"));
        assert_eq!((tail("a😀b", 2), tail("a😀b", 3)), ("b", "😀b"));
        assert_eq!((head("ä", 0), tail("ä", 0)), ("", ""));
        assert_eq!((head("ä", 9), tail("ä", 9)), ("ä", "ä"));
        assert_eq!(units("aä😀"), 4);
    }
}

//! Text from outside, made safe to stand in one line of a log, a notification or a sentence.

/// Turns `text` into one line of at most `max` characters: what controls a terminal, breaks a line or reorders text
/// becomes a space, and what is too long ends in an ellipsis.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let reorders = |letter| matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut letters = text.chars().map(|letter| {
        if letter.is_control() || reorders(letter) {
            ' '
        } else {
            letter
        }
    });
    let mut line: String = letters.by_ref().take(max).collect();
    if letters.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o03_control_characters_and_length_are_bounded() {
        assert_eq!(
            one_line("a\u{1b}[31m\r\nb\u{202e}\u{9b}c", 40),
            "a [31m  b  c"
        );
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("abcd", 4), "abcd");
    }
}

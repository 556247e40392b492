//! The words of a text or a name, as they are compared in a search.

use unicode_normalization::UnicodeNormalization;

/// Words that say nothing of a tool.
const IDLE: [&str; 19] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on",
    "or", "that", "the", "this",
];
const IDLE_TOO: [&str; 2] = ["to", "with"];

/// The words of a text: identifiers are taken apart, idle words left out, plurals made singular.
///
/// Words are what stands between other signs; scripts that are written without spaces, which Pi takes apart by the
/// language's rules, stay whole.
pub(super) fn words(text: &str) -> Vec<String> {
    let text: Vec<char> = text.nfc().collect();
    let mut spaced = String::new();
    for (index, &character) in text.iter().enumerate() {
        if starts_word(&text, index) {
            spaced.push(' ');
        }
        spaced.push(if is_part(character) { character } else { ' ' });
    }
    spaced
        .to_lowercase()
        .split(' ')
        .filter(|word| !word.is_empty() && !IDLE.contains(word) && !IDLE_TOO.contains(word))
        .map(singular)
        .collect()
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || unicode_normalization::char::is_combining_mark(character)
}

/// Whether a word of an identifier begins here: `searchTools`, `MCPServer`.
fn starts_word(text: &[char], index: usize) -> bool {
    let at = |index: usize| text.get(index).copied().unwrap_or(' ');
    let Some(before) = index.checked_sub(1).map(at) else {
        return false;
    };
    if !at(index).is_ascii_uppercase() {
        return false;
    }
    before.is_ascii_lowercase()
        || before.is_ascii_digit()
        || (before.is_ascii_uppercase() && at(index + 1).is_ascii_lowercase())
}

/// A word without the ending of a plural.
fn singular(word: &str) -> String {
    let plain = word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    let cut = |count: usize| word[..word.len() - count].to_owned();
    if !plain {
        word.to_owned()
    } else if word.len() > 4 && ends(&["ies"]) {
        format!("{}y", cut(3))
    } else if word.len() > 4 && ends(&["ches", "shes", "sses", "xes", "zes"]) {
        cut(2)
    } else if word.len() > 3 && ends(&["s"]) && !ends(&["ss"]) {
        cut(1)
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn identifiers_are_taken_apart_and_plurals_made_singular() {
        assert_eq!(
            words("mcp__my_server__searchTools"),
            ["mcp", "my", "server", "search", "tool"]
        );
        assert_eq!(
            words("MCPServer of the matches"),
            ["mcp", "server", "match"]
        );
        assert_eq!(
            words("queries, classes and access"),
            ["query", "class", "access"]
        );
        assert_eq!(words("über-Größe"), ["über", "größe"]);
    }
}

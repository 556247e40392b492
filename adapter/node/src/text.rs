//! Reading the JSON text that JavaScript hands in.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads facts from the text that `JSON.stringify` made of them.
///
/// # Errors
/// What is wrong with the text, bounded. JavaScript then tries once more with a simplified copy of the facts, which is
/// how input nested deeper than the parser follows (128 levels, so that it cannot exhaust the stack) is still read.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(&well_formed(text)).map_err(|error| {
        format!(
            "facts not readable at {}:{}: {:?}",
            error.line(),
            error.column(),
            error.classify()
        )
    })
}

/// Puts U+FFFD in place of every escaped lone surrogate.
///
/// JavaScript strings may hold half of a pair, `JSON.stringify` writes it as an escape, and no Rust string can hold
/// it. One such character must not cost the whole call (O11).
#[must_use]
pub fn well_formed(text: &str) -> Cow<'_, str> {
    // `JSON.stringify` escapes surrogates only where they stand alone, so that nearly every text leaves here.
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        let Some(unit) = unit_at(bytes, at) else {
            at += 2;
            continue;
        };
        let pair = is_high(unit) && unit_at(bytes, at + 6).is_some_and(is_low);
        if pair {
            at += 12;
            continue;
        }
        if is_high(unit) || is_low(unit) {
            out.push_str(&text[copied..at]);
            out.push('\u{fffd}');
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The UTF-16 unit of a `\uXXXX` escape that starts here.
fn unit_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

//! The form of Pi's session ids.

/// The length of a UUID, in bytes.
pub const LENGTH: usize = 36;

/// Whether `text` begins with a UUID in its usual form.
pub fn begins(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= LENGTH
        && bytes[..LENGTH]
            .iter()
            .enumerate()
            .all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
            })
}

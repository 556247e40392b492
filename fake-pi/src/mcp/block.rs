//! One content block of a result, as the model reads it (pi-host.md 4.8).

use serde_json::{Value, json};

use super::result::ResultOptions;
use crate::tools::output_file;
use crate::tools::truncation::size_text;

/// A text block.
pub(super) fn text(text: impl Into<Value>) -> Value {
    json!({"type": "text", "text": text.into()})
}

/// Converts one block of `server`'s result. The error is JavaScript's own text for a block that is no object.
pub(super) fn convert(
    server: &str,
    block: &Value,
    options: &ResultOptions,
) -> Result<Value, String> {
    if block.is_null() {
        return Err("Cannot read properties of null (reading 'type')".into());
    }
    Ok(match block.get("type").and_then(Value::as_str) {
        Some("text") => pick(block, "text", &["text"]),
        Some("image") => pick(block, "image", &["data", "mimeType"]),
        Some("audio") => text(format!("[audio {} omitted]", shown(block.get("mimeType")))),
        Some("resource_link") => text(link(server, block, options)),
        Some("resource") => {
            let resource = block
                .get("resource")
                .filter(|resource| resource.is_object());
            let resource = resource.ok_or_else(|| no_resource(block.get("resource")))?;
            embedded(resource, options)
        }
        _ => text(format!(
            "[unsupported MCP content {}]",
            shown(block.get("type"))
        )),
    })
}

/// A link: its address, title, kind and description.
fn link(server: &str, block: &Value, options: &ResultOptions) -> String {
    let kind = block
        .get("mimeType")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned);
    let size = block
        .get("size")
        .and_then(Value::as_u64)
        .map(|size| size_text(usize::try_from(size).unwrap_or(usize::MAX)));
    let facts: Vec<String> = kind.into_iter().chain(size).collect();
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join(", "))
    };
    let description = block
        .get("description")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty());
    let description = description
        .map(|text| format!(": {text}"))
        .unwrap_or_default();
    let read = if options.has_readable_resources {
        format!(". Read it with read_mcp_resource (server \"{server}\")")
    } else {
        String::new()
    };
    let title = block
        .get("title")
        .filter(|title| !title.is_null())
        .or_else(|| block.get("name"));
    format!(
        "[Resource {} \"{}\"{facts}{description}{read}]",
        shown(block.get("uri")),
        shown(title)
    )
}

/// An embedded resource: a text, an image, or a binary that is kept in a file.
fn embedded(resource: &Value, options: &ResultOptions) -> Value {
    let kind = resource.get("mimeType").and_then(Value::as_str);
    let Some(blob) = resource.get("blob") else {
        return match resource.get("text") {
            Some(content) => text(content.clone()),
            None => text(format!(
                "[binary resource {} ({}) omitted]",
                shown(resource.get("uri")),
                kind.unwrap_or("unknown type")
            )),
        };
    };
    if kind.is_some_and(|kind| kind.starts_with("image/")) {
        return match resource.get("text") {
            Some(content) => text(content.clone()),
            None => json!({"type": "image", "data": blob, "mimeType": kind}),
        };
    }
    let data = from_base64(blob.as_str().unwrap_or_default());
    if kind.is_some_and(is_text_kind) {
        return text(String::from_utf8_lossy(&data));
    }
    let uri = shown(resource.get("uri"));
    let facts = format!(
        "{}, {}",
        kind.unwrap_or("unknown type"),
        size_text(data.len())
    );
    match output_file::save(&options.temp_dir, "pi-mcp", &extension_of(&uri), &data) {
        Ok(path) => text(format!("[Binary resource {uri} ({facts}) saved to {path}]")),
        Err(reason) => text(format!(
            "[Binary resource {uri} ({facts}) could not be saved: {reason}]"
        )),
    }
}

/// A block of this kind with these fields, as far as they are there.
fn pick(block: &Value, kind: &str, fields: &[&str]) -> Value {
    let mut picked = json!({"type": kind});
    for field in fields {
        if let Some(value) = block.get(*field) {
            picked[*field] = value.clone();
        }
    }
    picked
}

/// A value inside a JavaScript template string.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "undefined".into(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(_)) => "[object Object]".into(),
        Some(other) => other.to_string(),
    }
}

/// JavaScript's complaint about a `resource` block without its resource.
fn no_resource(found: Option<&Value>) -> String {
    format!(
        "Cannot use 'in' operator to search for 'blob' in {}",
        shown(found)
    )
}

/// Whether blobs of this type are shown as text.
fn is_text_kind(kind: &str) -> bool {
    let kind = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    kind.starts_with("text/")
        || kind == "application/json"
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

/// The extension that an address ends in, else `.bin`.
fn extension_of(uri: &str) -> String {
    let path = if uri.contains(':') {
        uri.split(['?', '#']).next().unwrap_or_default()
    } else {
        uri
    };
    let found = path.rsplit_once('.').map(|(_, extension)| extension);
    let is_extension = |text: &&str| {
        (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    found
        .filter(is_extension)
        .map_or_else(|| ".bin".to_owned(), |extension| format!(".{extension}"))
}

/// Decodes base64 as Node does: what is no digit is skipped, the URL alphabet counts too, padding ends it.
fn from_base64(text: &str) -> Vec<u8> {
    let mut data = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().take_while(|byte| *byte != b'=') {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            data.push((bits >> count & 0xff) as u8);
            bits &= (1 << count) - 1;
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_leniently() {
        assert_eq!(from_base64("aGVsbG8="), b"hello");
        assert_eq!(from_base64("aGVs\nbG8"), b"hello");
        assert_eq!(from_base64("-_8"), [0xfb, 0xff]);
        assert_eq!(from_base64("!"), b"");
    }

    #[test]
    fn extensions_come_from_the_path() {
        assert_eq!(extension_of("file:///a/b.tar.gz?x=.zip"), ".gz");
        assert_eq!(extension_of("x:y"), ".bin");
        assert_eq!(extension_of("a.verylongextension"), ".bin");
    }
}

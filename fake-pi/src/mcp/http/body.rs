//! What a response is by its head, and its body as text.

use futures::StreamExt;
use http::header::CONTENT_TYPE;

use super::port::{HttpBody, HttpResponse};
use crate::mcp::failure::{Cause, Failure};
use crate::utf16::units;

/// Characters (UTF-16 units) of a body that an error shows.
const ERROR_UNITS: usize = 500;

/// The type of a response's content, without its parameters.
pub(super) fn kind(response: &HttpResponse) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}

/// A body as text, and whether it was longer than `most` bytes and so is cut.
pub(super) async fn text(mut body: HttpBody, most: usize) -> Result<(String, bool), Failure> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|_| Failure {
            text: "terminated".into(),
            cause: Cause::Network,
        })?;
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), true));
        }
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), false))
}

/// A text within the length that an error shows.
pub(super) fn shortened(text: &str) -> String {
    if units(text) <= ERROR_UNITS {
        return text.to_owned();
    }
    // Here half a character counts, and shows as U+FFFD.
    let kept: Vec<u16> = text.encode_utf16().take(ERROR_UNITS - 3).collect();
    format!("{}...", String::from_utf16_lossy(&kept))
}

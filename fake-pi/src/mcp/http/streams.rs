//! Answers that stream, and the server's own stream: what comes on them, and how they are taken up again.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, sleep};

use super::port::HttpBody;
use super::session::{MOST_BYTES, Shared};
use super::sse::{Cursor, SseEvent, SseParser};
use crate::mcp::failure::{Cause, Failure};
use crate::mcp::frame::{self, Incoming};

/// The delay before a stream is opened again when the server names none; it doubles, up to the longest.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// How often in a row that is tried.
const MOST_TRIES: u32 = 5;

/// Follows the stream that answers one request, and takes it up again where it broke off if the server gave its events
/// ids. Without an answer in the end only this request fails.
pub(super) async fn follow_answer(shared: Arc<Shared>, body: HttpBody, id: i64) {
    let mut cursor = Cursor::default();
    let mut answered = false;
    let mut failure: Option<Failure> = None;
    let mut stream = Some(body);
    let mut tries = 0;
    loop {
        if let Some(body) = stream.take() {
            failure = consume(&shared, body, &mut cursor, |message| {
                answered |= matches!(message, Incoming::Answer { id: Some(of), .. } if *of == id);
            })
            .await
            .err();
        }
        if answered {
            return;
        }
        if failure.as_ref().is_some_and(|failure| !may_pass(failure)) {
            break;
        }
        let Some(last) = cursor.last_id.clone().filter(|_| tries < MOST_TRIES) else {
            break;
        };
        if std::mem::take(&mut cursor.received) {
            tries = 0;
        }
        sleep(delay(tries, &cursor)).await;
        tries += 1;
        match shared.open_stream(Some(&last)).await {
            Ok(opened) => stream = opened,
            Err(error) => {
                let ends = !may_pass(&error);
                failure = Some(error);
                if ends {
                    break;
                }
            }
        }
    }
    let reason = failure.map_or("stream ended without a response".into(), |failure| {
        failure.text
    });
    shared.fail(
        id,
        Failure::new(format!("MCP response stream failed: {reason}")),
    );
}

/// Keeps the server's own stream open, if it has one.
pub(super) async fn follow_server(shared: Arc<Shared>) {
    let mut cursor = Cursor::default();
    let mut tries = 0;
    loop {
        match shared.open_stream(cursor.last_id.as_deref()).await {
            Ok(None) => return,
            Ok(Some(body)) => {
                let opened = Instant::now();
                let consumed = consume(&shared, body, &mut cursor, |_| {}).await;
                match consumed {
                    // A stream that stood for a while was healthy, even if nothing came.
                    Ok(()) if cursor.received || opened.elapsed() > LONGEST_DELAY => tries = 0,
                    Err(failure) if !may_pass(&failure) => return,
                    Ok(()) | Err(_) => {}
                }
            }
            Err(failure) if !may_pass(&failure) => return,
            Err(_) => {}
        }
        cursor.received = false;
        if tries >= MOST_TRIES {
            return;
        }
        sleep(delay(tries, &cursor)).await;
        tries += 1;
    }
}

/// Takes the events of a stream until it ends.
async fn consume(
    shared: &Shared,
    mut body: HttpBody,
    cursor: &mut Cursor,
    mut seen: impl FnMut(&Incoming),
) -> Result<(), Failure> {
    let mut parser = SseParser::default();
    loop {
        let piece = body.next().await;
        let (events, is_end) = match piece {
            Some(Ok(bytes)) => (parser.push(&bytes, cursor), false),
            Some(Err(_)) => {
                return Err(Failure {
                    text: "terminated".into(),
                    cause: Cause::Network,
                });
            }
            None => (parser.end(cursor), true),
        };
        for SseEvent { kind, data } in events {
            if data.trim().is_empty() || kind.is_some_and(|kind| kind != "message") {
                continue;
            }
            if let Some(message) = frame::parse(data.as_bytes()) {
                seen(&message);
                // Parsed just now.
                let _ = shared.arrive(data.into_bytes());
            }
        }
        if parser.held() > MOST_BYTES {
            return Err(format!("MCP SSE event exceeds {MOST_BYTES} bytes").into());
        }
        if is_end {
            return Ok(());
        }
    }
}

/// Whether a stream is worth another try.
fn may_pass(failure: &Failure) -> bool {
    match failure.cause {
        Cause::Network => true,
        Cause::Status(status) => matches!(status, 408 | 429) || status >= 500,
        Cause::Other | Cause::UnknownMethod | Cause::Unauthorized | Cause::SessionExpired => false,
    }
}

fn delay(tries: u32, cursor: &Cursor) -> Duration {
    match cursor.retry_ms {
        Some(milliseconds) => Duration::from_millis(milliseconds),
        None => (FIRST_DELAY * 2_u32.saturating_pow(tries)).min(LONGEST_DELAY),
    }
}

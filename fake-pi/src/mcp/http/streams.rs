//! What comes on streams, and when one that ended is opened again: the answer to a request, and what a server says unasked.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, sleep};

use super::port::HttpBody;
use super::session::{MOST_BYTES, Shared};
use super::sse::{Bookmark, SseParser};
use crate::mcp::failure::{Cause, Failure};
use crate::mcp::frame::{self, Incoming};

/// A pause that the server does not set begins with this and doubles, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Pauses that lead to nothing before a stream is given up.
const MOST_PAUSES: u32 = 5;

/// What a stream is there for.
enum Purpose {
    /// To bring the answer to the request with this id.
    Answer(i64),
    /// To bring whatever the server has to say.
    Talk,
}

/// One reader, over all the streams that it is given one after the other.
struct Reader {
    purpose: Purpose,
    bookmark: Bookmark,
    /// Whether the awaited answer was among what came.
    satisfied: bool,
    /// Pauses since the reader last got somewhere.
    pauses: u32,
}

impl Reader {
    fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            bookmark: Bookmark::default(),
            satisfied: false,
            pauses: 0,
        }
    }

    /// Reads a stream to its end and hands over the messages on it.
    async fn read(&mut self, shared: &Shared, mut body: HttpBody) -> Result<(), Failure> {
        let mut parser = SseParser::default();
        let mut open = true;
        while open {
            let events = match body.next().await.transpose() {
                Ok(Some(bytes)) => parser.push(&bytes, &mut self.bookmark),
                Ok(None) => {
                    open = false;
                    parser.end(&mut self.bookmark)
                }
                Err(_) => {
                    return Err(Failure {
                        text: "terminated".into(),
                        cause: Cause::Network,
                    });
                }
            };
            for event in events {
                if matches!(event.kind.as_deref(), None | Some("message")) {
                    self.hand_over(shared, event.data);
                }
            }
            if parser.held() > MOST_BYTES {
                return Err(format!("MCP SSE event exceeds {MOST_BYTES} bytes").into());
            }
        }
        Ok(())
    }

    /// Passes one event on, unless it is no message.
    fn hand_over(&mut self, shared: &Shared, data: String) {
        let Some(message) = frame::parse(data.as_bytes()) else {
            return;
        };
        if let (Purpose::Answer(awaited), Incoming::Answer { id: Some(id), .. }) =
            (&self.purpose, &message)
        {
            self.satisfied |= id == awaited;
        }
        // It was parsed a moment ago.
        let _ = shared.arrive(data.into_bytes());
    }

    /// How long to stay away from a server whose stream ended after `stood`, with a failure or without; none when it is not
    /// asked again.
    fn pause(&mut self, failure: Option<&Failure>, stood: Duration) -> Option<Duration> {
        if failure.is_some_and(is_final) {
            return None;
        }
        let moved = std::mem::take(&mut self.bookmark.moved);
        let used_up = self.pauses >= MOST_PAUSES;
        let (goes_on, got_somewhere) = match self.purpose {
            // The rest is found by an id alone. What comes after the last pause earns no more of them.
            Purpose::Answer(_) => (self.bookmark.id.is_some() && !used_up, moved),
            // Silence is no fault of a server that has nothing to say.
            Purpose::Talk => {
                let did_well = failure.is_none() && (moved || stood > LONGEST_PAUSE);
                (did_well || !used_up, did_well)
            }
        };
        if got_somewhere {
            self.pauses = 0;
        }
        let doubled = FIRST_PAUSE * 2_u32.saturating_pow(self.pauses);
        self.pauses += 1;
        let wish = self.bookmark.away_ms.map(Duration::from_millis);
        goes_on.then(|| wish.unwrap_or(doubled.min(LONGEST_PAUSE)))
    }
}

/// Whether no later try could end otherwise.
fn is_final(failure: &Failure) -> bool {
    match failure.cause {
        Cause::Network | Cause::Status(408 | 429 | 500..) => false,
        Cause::Status(_)
        | Cause::Other
        | Cause::UnknownMethod
        | Cause::Unauthorized
        | Cause::SessionExpired => true,
    }
}

/// Reads on, over as many streams as it takes, until the answer to a request is there; fails that request alone when it
/// does not come.
pub(super) async fn await_answer(shared: Arc<Shared>, body: HttpBody, id: i64) {
    let mut reader = Reader::new(Purpose::Answer(id));
    let mut failure = reader.read(&shared, body).await.err();
    while !reader.satisfied {
        let Some(pause) = reader.pause(failure.as_ref(), Duration::ZERO) else {
            let reason = failure.map_or("stream ended without a response".into(), |failure| {
                failure.text
            });
            let text = format!("MCP response stream failed: {reason}");
            return shared.fail(id, Failure::new(text));
        };
        sleep(pause).await;
        match shared.open_stream(reader.bookmark.id.as_deref()).await {
            Ok(Some(body)) => failure = reader.read(&shared, body).await.err(),
            // Nothing new is known.
            Ok(None) => {}
            Err(refused) => failure = Some(refused),
        }
    }
}

/// Listens to what the server says unasked, if it does that, for as long as it can be reached.
pub(super) async fn keep_open(shared: Arc<Shared>) {
    let mut reader = Reader::new(Purpose::Talk);
    loop {
        let opened = shared.open_stream(reader.bookmark.id.as_deref()).await;
        let since = Instant::now();
        let failure = match opened {
            Ok(Some(body)) => reader.read(&shared, body).await.err(),
            Ok(None) => return,
            Err(refused) => Some(refused),
        };
        let Some(pause) = reader.pause(failure.as_ref(), since.elapsed()) else {
            return;
        };
        sleep(pause).await;
    }
}

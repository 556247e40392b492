//! One request and how it ends: an answer, the end of the connection, an abort, or a timeout (pi-host.md 4.4).

use std::collections::BTreeSet;
use std::time::Duration;

use rmcp::model::{ClientRequest, CustomRequest, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::listing::{self, Listing, McpTool};
use super::wire::ProgressSink;

/// Pages of a tool list that are asked for at most.
const MAX_PAGES: usize = 1000;

/// The reason that an abort gives: JavaScript's own for a signal without one (pi-host.md 9).
const ABORT_REASON: &str = "AbortError: This operation was aborted";

/// What a request reads when the connection ends.
pub(super) const CLOSED: &str = "MCP connection closed";

/// One request, before it is sent.
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) params: Option<Value>,
    pub(super) abort: Option<CancellationToken>,
}

/// Sends requests over a connection whose handshake is done.
pub(super) struct Exchange {
    /// The running service of `rmcp`.
    pub(super) peer: Peer<RoleClient>,
    /// Fires when the stream ended or the connection was closed.
    pub(super) closed: CancellationToken,
    /// Time that one request may take.
    pub(super) timeout: Duration,
}

impl Exchange {
    /// Sends a request and waits for its end, whichever it is. The error is Pi's text.
    pub(super) async fn request(
        &self,
        request: Request,
        on_progress: Option<&(dyn Fn(Value) + Sync)>,
    ) -> Result<Value, Failure> {
        if self.closed.is_cancelled() {
            return Err("MCP client is closed".into());
        }
        let abort = request.abort.unwrap_or_default();
        if abort.is_cancelled() {
            return Err("MCP request aborted".into());
        }
        let mut custom = CustomRequest::new(request.method, request.params);
        // The sender is kept here too, so that the channel never ends while we wait.
        let (sender, mut progress) = unbounded_channel();
        if on_progress.is_some() {
            custom.extensions.insert(ProgressSink(sender.clone()));
        }
        let options = PeerRequestOptions::no_options();
        let sent = self
            .peer
            .send_cancellable_request(ClientRequest::CustomRequest(custom), options)
            .await;
        let mut handle = sent.map_err(|_| CLOSED)?;
        let limit = self.timeout;
        let mut deadline = deadline_after(limit);
        let (error, reason) = loop {
            tokio::select! {
                biased;
                // Progress that came before the answer is shown before it.
                Some(news) = progress.recv() => {
                    deadline = deadline_after(limit);
                    if let Some(on_progress) = on_progress {
                        on_progress(news);
                    }
                }
                answer = &mut handle.rx => return match answer {
                    Ok(Ok(ServerResult::CustomResult(result))) => Ok(result.0),
                    Ok(Err(ServiceError::McpError(error))) => Err(Failure::of(error)),
                    Ok(Ok(_) | Err(_)) | Err(_) => Err(CLOSED.into()),
                },
                () = abort.cancelled() => break ("MCP request aborted".to_owned(), ABORT_REASON),
                () = until(deadline) => break (timed_out(limit), "Request timed out"),
            }
        };
        drop(sender);
        // If the server is gone by now it needs no word.
        let _ = handle.cancel(Some(reason.to_owned())).await;
        Err(error.into())
    }

    /// The whole tool list.
    pub(super) async fn list_tools(&self) -> Result<Vec<McpTool>, Failure> {
        let entries = self.list(Listing::Tools, None).await?;
        Ok(entries.into_iter().map(McpTool::of).collect())
    }

    /// A whole list, page after page.
    pub(super) async fn list(
        &self,
        listing: Listing,
        abort: Option<CancellationToken>,
    ) -> Result<Vec<Map<String, Value>>, Failure> {
        let method = listing.method();
        let mut items = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let params = cursor.as_ref().map(|cursor| json!({"cursor": cursor}));
            let request = Request {
                method,
                params,
                abort: abort.clone(),
            };
            let page = listing::page(listing, self.request(request, None).await?)?;
            items.extend(page.items);
            let Some(next) = page.next_cursor else {
                return Ok(items);
            };
            if !cursors.insert(next.clone()) {
                return Err(format!("MCP {method} returned duplicate cursor: {next}").into());
            }
            cursor = Some(next);
        }
        Err(format!("MCP {method} exceeded {MAX_PAGES} pages").into())
    }
}

/// The text of a request that took too long.
pub(super) fn timed_out(limit: Duration) -> String {
    format!(
        "MCP request timed out after {}ms",
        limit.as_secs_f64() * 1000.0
    )
}

fn deadline_after(limit: Duration) -> Option<Instant> {
    if limit == Duration::MAX {
        None
    } else {
        Instant::now().checked_add(limit)
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

pub(super) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        value = future => Some(value),
        () = until(deadline_after(limit)) => None,
    }
}

//! The way to a server over HTTP, as the wire uses it.

use futures::future::BoxFuture;
use http::header::HeaderValue;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::session::HttpSession;
use crate::extension::lock;
use crate::mcp::channel::{Arrived, Channel, Frame};
use crate::mcp::exchange::CLOSED;
use crate::mcp::failure::Failure;

/// The way to a server over HTTP.
pub(in crate::mcp) struct HttpChannel {
    session: HttpSession,
    incoming: UnboundedReceiver<Arrived>,
}

impl HttpChannel {
    pub(super) fn new(session: HttpSession, incoming: UnboundedReceiver<Arrived>) -> Self {
        Self { session, incoming }
    }
}

impl Channel for HttpChannel {
    fn send(&mut self, frame: Frame) -> BoxFuture<'static, Result<(), Failure>> {
        let shared = self.session.shared.clone();
        if shared.life.is_cancelled() {
            return Box::pin(std::future::ready(Err(CLOSED.into())));
        }
        let (sent, done) = oneshot::channel();
        let request = frame.request;
        // Only the handshake waits for a receipt.
        let waits = frame.method.as_deref() == Some("notifications/initialized");
        let posting = shared.clone();
        shared.spawn(async move {
            let posted = posting.post(frame).await;
            if let (Some(id), Err(failure)) = (request, &posted) {
                posting.fail(id, failure.clone());
            }
            // Whoever does not wait is gone.
            let _ = sent.send(posted);
        });
        if !waits {
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move { done.await.unwrap_or_else(|_| Err(CLOSED.into())) })
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<Arrived>> {
        let life = self.session.shared.life.clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                () = life.cancelled() => None,
                arrived = self.incoming.recv() => arrived,
            }
        })
    }

    fn agreed(&mut self, version: &str) {
        lock(&self.session.shared.agreed).protocol = HeaderValue::from_str(version).ok();
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(self.session.close())
    }
}

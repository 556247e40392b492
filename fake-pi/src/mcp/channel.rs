//! How frames travel between Pi and a server: over a pipe here, one by one over HTTP in `http`.

use std::future::ready;

use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::exchange::CLOSED;
use super::failure::Failure;
use super::frame::Lines;
use super::launch::Duplex;

/// Bytes taken from a pipe at once.
const CHUNK: usize = 8 * 1024;

/// A frame on its way to the server: its bytes, with the line end, and what a transport may want to know of it.
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// The id, for a request that is answered.
    pub(super) request: Option<i64>,
    /// The method; none for an answer.
    pub(super) method: Option<String>,
}

/// What comes from a server.
#[derive(Debug)]
pub(super) enum Arrived {
    /// Messages that came together, in order.
    Messages(Vec<Vec<u8>>),
    /// A request that this transport could not bring to an answer.
    Failed {
        /// Its id.
        id: i64,
        /// Why.
        failure: Failure,
    },
}

/// A way to a server and back.
pub(super) trait Channel: Send {
    /// Sends a frame; its place in the order is fixed by the call. The future tells when it has left, as far as Pi waits
    /// for that, and why it could not.
    fn send(&mut self, frame: Frame) -> BoxFuture<'static, Result<(), Failure>>;

    /// What comes next; none at the end. Dropping the future loses nothing.
    fn receive(&mut self) -> BoxFuture<'_, Option<Arrived>>;

    /// Takes note of the protocol version that was agreed on.
    fn agreed(&mut self, _version: &str) {}

    /// Ends the way there.
    fn close(&mut self) -> BoxFuture<'_, ()>;
}

/// A server's standard input and output.
pub(super) struct Pipe {
    reader: ReadHalf<Box<dyn Duplex>>,
    lines: Lines,
    out: Option<UnboundedSender<Vec<u8>>>,
}

impl Pipe {
    pub(super) fn new(stream: Box<dyn Duplex>) -> Self {
        let (reader, half) = tokio::io::split(stream);
        let (out, frames) = unbounded_channel();
        tokio::spawn(write(half, frames));
        Self {
            reader,
            lines: Lines::default(),
            out: Some(out),
        }
    }
}

impl Channel for Pipe {
    fn send(&mut self, frame: Frame) -> BoxFuture<'static, Result<(), Failure>> {
        let sent = self.out.as_ref().map(|out| out.send(frame.bytes));
        Box::pin(ready(match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(CLOSED.into()),
        }))
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<Arrived>> {
        Box::pin(async move {
            loop {
                let whole: Vec<Vec<u8>> = std::iter::from_fn(|| self.lines.next()).collect();
                if !whole.is_empty() {
                    return Some(Arrived::Messages(whole));
                }
                let mut chunk = [0; CHUNK];
                match self.reader.read(&mut chunk).await {
                    Ok(read @ 1..) => self.lines.push(&chunk[..read]),
                    Ok(0) | Err(_) => return None,
                }
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        // The writer closes the server's input once the queue is empty. A server that reads nothing must not hold us.
        self.out = None;
        Box::pin(ready(()))
    }
}

/// Writes queued frames in order, then closes the server's input.
async fn write(mut half: WriteHalf<Box<dyn Duplex>>, mut frames: UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if half.write_all(&frame).await.is_err() || half.flush().await.is_err() {
            break;
        }
    }
    // A stream that cannot be closed is gone already.
    let _ = half.shutdown().await;
}

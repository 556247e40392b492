//! The network as a port: one request out, one response in, whose body comes in pieces.

use futures::future::BoxFuture;
use futures::stream::BoxStream;

/// A request with its whole body.
pub type HttpRequest = http::Request<Vec<u8>>;

/// The pieces of a body; an error is a connection that broke.
pub type HttpBody = BoxStream<'static, Result<Vec<u8>, String>>;

/// A response whose body is still to come.
pub type HttpResponse = http::Response<HttpBody>;

/// Performs requests.
pub trait HttpPort: Send + Sync {
    /// Performs one. The error tells that no response came; its text is for nobody, since Pi says `fetch failed`.
    fn fetch(&self, request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, String>>;
}

/// A network without anybody in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHttp;

impl HttpPort for NoHttp {
    fn fetch(&self, _request: HttpRequest) -> BoxFuture<'static, Result<HttpResponse, String>> {
        Box::pin(std::future::ready(Err("nobody listens".into())))
    }
}

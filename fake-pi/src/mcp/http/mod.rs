//! A server over streamable HTTP (read in Pi 1.6.0 and seen on it; the cases `mcp/http-…` compare both).
//!
//! | file | holds |
//! |---|---|
//! | `port` | the port behind which the network lies |
//! | `session` | one MCP session: what each request carries, what comes of it, its end |
//! | `channel` | the way to the server that the client uses |
//! | `body` | bodies of responses |
//! | `streams` | answers that stream, and the server's own stream |
//! | `sse` | server-sent events |
//!
//! Signing in (OAuth) is not modelled: no credentials are stored, so a server that wants some gets none, and the person
//! reads what they read on the real Pi before they signed in. Redirects are not followed.

mod body;
mod channel;
mod port;
mod session;
mod sse;
mod streams;

pub use port::{HttpBody, HttpPort, HttpRequest, HttpResponse, NoHttp};
pub use session::HttpSession;

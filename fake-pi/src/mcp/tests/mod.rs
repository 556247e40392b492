//! The client against a scripted server: raw JSON lines over a pipe in memory, on a paused clock.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where its script is not kept"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "JSON literals read better without a borrow"
)]

mod calls;
mod child;
mod conversion;
mod environment;
mod handshake;
mod http;
mod peer;
mod registration;

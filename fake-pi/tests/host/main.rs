//! The whole host, held against what pi-host.md observed, section by section.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where its script is not kept"
)]

mod abort;
mod agent_loop;
mod connector;
mod handlers;
mod messages;
mod patches;
mod queues;
mod records;
mod registration;
mod replacement;
mod support;

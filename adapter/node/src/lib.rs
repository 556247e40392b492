//! The adapter as a Node addon: it converts, and decides nothing.
//!
//! JavaScript builds one [`bridge::Adapter`] per run of the extension's factory and calls one method for each of Pi's
//! events. Facts and answers cross the border as JSON text, for two reasons. One string is one N-API call, where an
//! object costs one for each of its members. And what JSON cannot say (a cycle, a big integer, a getter that throws)
//! then fails in JavaScript, where it is an exception that can be caught, not in here.
//!
//! No panic and no rejection leaves the addon (F1, portal.md D3), and nothing is written to a terminal (F3).

mod abort;
mod bridge;
mod facts;
mod guard;
mod host;
mod patch;
mod text;

use napi_derive::napi;

/// The number that the TypeScript beside the addon compares with its own before it builds anything.
///
/// A loaded addon stays for the life of a process while TypeScript is read anew on each load, so new glue can meet an
/// old addon (portal.md D4). Raise it with every change of a method, an argument or the meaning of a text.
#[napi]
pub const ABI: u32 = 2;

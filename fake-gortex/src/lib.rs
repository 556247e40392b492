//! A scripted Gortex, in process or as a program: what the daemon and the hook answer is written in a [`Script`], and
//! what they were asked is written to a [`JournalSink`].
//!
//! Supports:
//! - `gortex mcp` as [`Daemon::serve`], over any byte stream: handshake, the 21-tool surface (or the scripted one, and
//!   the `GORTEX_TOOLS` grammar), `tools/call` with overlapping delays, edits that really happen on disk;
//! - `gortex hook` as [`hook`]: one envelope in, one decision out, scripted or that of a posture;
//! - misbehaviour on demand: late, silent, failing, dying before or in the middle of a call, cut or foreign frames,
//!   storms of `list_changed`, tools that come and go, hooks that hang, babble or fail;
//! - any other MCP server on the same terms ([`Daemon::named`]; the program by the name it is called by): capabilities,
//!   instructions, entries of tools, pages, resources, progress, requests to the client;
//! - all of it on the clock of tokio only, so that a paused clock makes them exact.
//!
//! Rejects:
//! - a script with a key it does not know ([`ScriptError`], with the key's line);
//! - a path outside the repository, a device or a pipe where a file is meant, a file above 16 MiB;
//! - being a graph: `search` looks for fixed text, every tool but `edit`, `read` and `search` answers a canned line.

pub mod cli;
mod daemon;
mod hook;
mod journal;
mod matching;
mod posture;
mod script;
mod state;
mod surface;
mod work;

pub use daemon::{Daemon, Launch};
pub use hook::{HookOutcome, hook};
pub use journal::{FileJournal, JournalEntry, JournalSink, MemoryJournal, Source};
pub use script::{
    Becomes, CallRule, DaemonScript, Decision, FileChange, HookRule, HookScript, LaterChange,
    Progress, RequestRule, RpcError, Script, ScriptError,
};
pub use state::State;
pub use surface::TOOLS;

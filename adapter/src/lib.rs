//! The Gortex extension for Pi, as a core that knows no host.
//!
//! An [`Instance`] is one run of the extension's factory. A host (the Node addon, the simulated Pi) builds it with an
//! [`Environment`], the [`Ports`] through which it reaches the world and its [`Caps`], then calls one method for each
//! of Pi's events. Every method fails open: it answers nothing rather than an error.
//!
//! `tokio::time` is the only clock in here, and the only process that is ever started is a hook child
//! ([`child::ChildHook`]), which a host may replace.

mod briefing;
mod caps;
pub mod child;
pub mod config;
pub mod diff;
pub mod edits;
mod environment;
mod facts;
pub mod hook;
mod instance;
pub mod line;
pub mod log;
mod ports;
mod registration;
pub mod texts;

pub use caps::Caps;
pub use edits::WriteTable;
pub use environment::Environment;
pub use facts::{
    Block, CommandFact, HiddenMessage, ResultPatch, SessionFacts, ToolCallFacts, ToolFact,
    ToolResultFacts, TurnFacts, UserBashFacts,
};
pub use instance::Instance;
pub use ports::{
    HookAsk, HookCommand, HookEnd, HookPort, HookReport, Host, InlineWork, Level, Log, Ports,
    ReadyHook, ThreadWork, Work,
};
pub use registration::Registration;

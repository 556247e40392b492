//! Instances against a fake host and a fake hook, in virtual time.

mod abort;
mod briefing;
mod configuration;
mod diffs;
mod hook;
mod hostile;
mod interleavings;
mod names;
mod readiness;
mod warm;
mod warm_let_go;
mod whole;
mod world;
mod writers;

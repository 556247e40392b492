//! Laid out; see ARCHITECTURE.md.
pub mod setup;

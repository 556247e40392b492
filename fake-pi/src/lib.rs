//! Pi's extension host, rebuilt in virtual time; see ARCHITECTURE.md.

pub mod tool;

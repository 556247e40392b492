//! Pi's extension host, rebuilt in virtual time; see ARCHITECTURE.md.

pub mod mcp;
pub mod tool;
pub mod tools;

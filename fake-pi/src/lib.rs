//! Laid out; see ARCHITECTURE.md.

//! The hook bridge: envelope, translation, decision.

//! What the extensions of an instance registered: servers, and the tools of a session.

pub(crate) mod servers;
pub(crate) mod tools;

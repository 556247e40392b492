//! Nothing is left behind: not by a hook child, whatever it does, and not by an instance, however it ends (H4, H5, H9).
//!
//! With real children, on the real clock; nothing here sleeps. What is counted belongs to the whole process, so each
//! test needs one of its own, which nextest gives it.

mod census;
mod child;
#[path = "../child/children.rs"]
mod children;
mod lifeline;
#[path = "../child/question.rs"]
mod question;
mod runs;
mod sessions;
mod threads;

//! The rules that the adapter is held to, and which cases and tests hold it to them.
//!
//! | file | holds |
//! |---|---|
//! | `table` | every rule and every field failure by id, with a title of our own |
//! | `cited` | which tests cite which ids |
//! | `coverage` | rules, cases and tests joined |

mod cited;
mod coverage;
mod table;

pub use cited::{CitedTest, cited_tests};
pub use coverage::{Coverage, coverage};
pub use table::{RULES, Rule, is_known};

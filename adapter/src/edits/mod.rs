//! Files that calls write: which they are, who else writes them, and what changed (E1-E6).

mod arguments;
mod file;
mod identity;
mod outcome;
mod paths;
mod watch;
mod writes;

pub use arguments::{Writes, named_writes};
pub use file::{FileText, read_regular};
pub use outcome::{Entry, merge_details};
pub use watch::Watch;
pub use writes::{Claim, Owner, WriteTable};

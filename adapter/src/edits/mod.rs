//! Files that calls write: which they are, who else writes them, and what changed (E1-E6).

mod arguments;
#[cfg(test)]
mod explored;
mod file;
mod identity;
mod outcome;
mod paths;
mod place;
mod scope;
mod watch;
mod writes;

pub use arguments::{NamedFiles, Writes, named_writes, writes_by_name};
pub use file::{FileText, LeftOut, read_regular};
pub use outcome::{Budget, Entry, merge_details};
pub use watch::Watch;
pub use writes::{Claim, Owner, WriteTable};

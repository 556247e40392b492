//! Cases for the Gortex extension of Pi, and what plays them: data flows from a case file through the runner, a host,
//! the trace and the judge to a report.

pub mod case;
pub mod cli;
pub mod diffs;
pub mod hosts;
mod interrupt;
pub mod judge;
pub mod matrix;
pub mod mutation;
pub mod report;
pub mod rules;
pub mod setup;
pub mod suite;
pub mod trace;

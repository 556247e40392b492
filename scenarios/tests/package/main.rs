//! The package as a Pi user gets it: types, archives, panics, the terminal, and what it costs. All on the real Pi.

mod archives;
mod costs;
mod diffs;
mod gate;
mod panics;
mod terminal;
mod typescript;
mod unloadable;
mod world;

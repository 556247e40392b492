//! The addon as Node loads it.

use std::fs;
use std::path::PathBuf;

use scenarios::setup;

use crate::Outcome;

/// Builds the addon as it is packed for users, and puts it where Node takes it for one. Says on stderr that it builds.
///
/// # Errors
/// Where it cannot be built or copied.
pub fn addon() -> Outcome<PathBuf> {
    let progress = setup::on_stderr();
    let built = setup::packed_addon(&*progress)?;
    let addon = built.with_extension("node");
    fs::copy(built, &addon)?;
    Ok(addon)
}

//! Files that keep what the model was not shown in full.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Tries to find a free name.
const MAX_TRIES: u32 = 1000;

/// Keeps `data` in a new file `<prefix>-<16 hex digits><extension>` that only the user may read; returns its path.
///
/// The digits are Pi's chance; here they come from the data, so that two runs name the same file.
pub(crate) fn save(
    folder: &Path,
    prefix: &str,
    extension: &str,
    data: &[u8],
) -> Result<String, String> {
    for attempt in 0..MAX_TRIES {
        let digest = Sha256::new()
            .chain_update(data)
            .chain_update(attempt.to_be_bytes())
            .finalize();
        let digits: String = digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = folder.join(format!("{prefix}-{digits}{extension}"));
        // Never through a link that somebody else placed there.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(mut file) => {
                file.write_all(data).map_err(|error| error.to_string())?;
                return Ok(path.to_string_lossy().into_owned());
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err("no free name for the file".into())
}

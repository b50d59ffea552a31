//! The right to write into a folder of results.

use crate::Failure;
use std::fs::{File, TryLockError};
use std::path::Path;

/// The right to write into a folder of results, which one run or sweep has at a time. It lasts until the
/// value is dropped, or the process ends.
#[derive(Debug)]
pub struct Claim {
    /// The folder, open and locked.
    _folder: File,
}

impl Claim {
    /// Locks a folder. Where the file system has no locks, the folder is claimed without one.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the folder cannot be opened, or if another process has it.
    pub fn of(folder: &Path) -> Result<Claim, Failure> {
        let file = File::open(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let message = format!("another run or sweep is writing into {}", folder.display());
            return Err(Failure::usage(message, "name another folder for `--out`, or wait until it is over"));
        }
        Ok(Claim { _folder: file })
    }
}

//! The files of events that go on with a saved run: its trace, captures and samples.
//!
//! A save has a record of these files: the wishes of the user, the length and the hash of each file at the
//! cut, and what their writers remember. Everything before the cut is on the disk before the save is. So a
//! save is never ahead of its files, not even after a power cut.

use crate::result_file::ResultFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The files of events of a run at a cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputsAtCut {
    /// The wishes of the user, in the form of the crate that writes the files. Paths are absolute.
    pub wishes: Value,
    /// The files. Those that do not go on, such as pipes, are left out.
    pub files: Vec<FileAtCut>,
    /// The memory of the files' writers, in their own form.
    pub memory: Value,
}

impl OutputsAtCut {
    /// Returns the record of the file at an absolute path.
    pub fn file(&self, path: &Path) -> Option<&FileAtCut> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// A file at a cut: its beginning, which has all events before the cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAtCut {
    /// The absolute path that the file has once it is whole.
    pub path: PathBuf,
    /// The length of the beginning, in bytes.
    pub bytes: u64,
    /// The hash of the beginning, by XXH3 (128 bits), in hexadecimal digits.
    pub hash: String,
}

/// The files of events of a run that is saved.
pub trait KeepOutputs: Sync {
    /// Brings everything before the cut to the disk, where it stays even if the process is killed. Returns
    /// the record of the files.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn keep(&self) -> io::Result<OutputsAtCut>;
}

/// Brings everything that was written into a file to the disk, and adds the file to a record. A file that
/// does not go on is only written.
///
/// # Errors
///
/// Those of writing.
pub fn keep_file(file: &mut ResultFile, files: &mut Vec<FileAtCut>) -> io::Result<()> {
    io::Write::flush(file)?;
    files.extend(file.keep()?);
    Ok(())
}

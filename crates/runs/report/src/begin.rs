//! The beginning of a file of events: new, or where a saved run left it.

use crate::result_file::ResultFile;
use parades_session::Failure;
use parades_session::saved::outputs::OutputsAtCut;
use std::path::{Path, absolute};
use std::sync::Arc;

/// The beginning of the files of one kind.
#[derive(Clone, Debug)]
pub(crate) enum Begin {
    /// They are new.
    New,
    /// They are new, and go on with the saves of the run.
    ForSaves,
    /// They are those of a saved run.
    GoingOn(Arc<OutputsAtCut>),
}

impl Begin {
    /// Begins a file. `option` names the option that asks for it.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the file cannot be written, or if it is not that of the saved run.
    pub(crate) fn file(&self, path: &Path, option: &str) -> Result<ResultFile, Failure> {
        match self {
            Begin::New => ResultFile::create(path),
            Begin::ForSaves => ResultFile::create_to_go_on(path),
            Begin::GoingOn(at) => {
                let file = absolute(path).ok().and_then(|path| at.file(&path));
                let unknown = || {
                    let message = format!("the saved run has no record of {}", path.display());
                    Failure::usage(message, format!("write the rest elsewhere with `{option}`"))
                };
                ResultFile::go_on(path, file.ok_or_else(unknown)?, option)
            }
        }
    }

    /// True if the files are those of a saved run.
    pub(crate) fn is_going_on(&self) -> bool {
        matches!(self, Begin::GoingOn(_))
    }
}

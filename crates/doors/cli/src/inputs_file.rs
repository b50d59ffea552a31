//! The inputs of a sweep, on the way to the processes that execute its runs.

use parades_config::inputs::{self, Input};
use parades_session::Failure;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// The most bytes of all inputs of a sweep together.
const INPUTS_BYTES_MAX: u64 = 64 << 30;

/// A temporary file with the contents of all inputs. It exists until the value is dropped.
pub(crate) struct InputsFile {
    /// The path under which other processes open the file.
    pub(crate) path: String,
    /// The file. Where the system allows it, the file has no name, so that nothing is left of a killed sweep.
    _file: Kept,
}

enum Kept {
    Nameless(File),
    Named(NamedTempFile),
}

impl InputsFile {
    /// Writes the inputs that this process holds.
    pub(crate) fn write() -> Result<InputsFile, Failure> {
        Self::written().map_err(|error| {
            Failure::simulation(format!(
                "a temporary file for the inputs of the sweep cannot be written: {error}; make room in {}",
                std::env::temp_dir().display()
            ))
        })
    }

    fn written() -> io::Result<InputsFile> {
        let (path, kept) = nameless().map_or_else(named, Ok)?;
        let mut file = match &kept {
            Kept::Nameless(file) => file,
            Kept::Named(file) => file.as_file(),
        };
        let bytes = postcard::to_allocvec(&inputs::held()).map_err(io::Error::other)?;
        file.write_all(&bytes)?;
        Ok(InputsFile { path, _file: kept })
    }
}

/// Makes a file without a name, which other processes find by its descriptor in this process.
#[cfg(target_os = "linux")]
fn nameless() -> Option<(String, Kept)> {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile().ok()?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Path::new(&path).exists().then_some((path, Kept::Nameless(file)))
}

#[cfg(not(target_os = "linux"))]
fn nameless() -> Option<(String, Kept)> {
    None
}

fn named() -> io::Result<(String, Kept)> {
    let file = NamedTempFile::new()?;
    let path = file.path().to_str().ok_or_else(|| io::Error::other("its name is not text"))?.to_owned();
    Ok((path, Kept::Named(file)))
}

/// Reads the inputs that a sweep has written, and holds them.
pub(crate) fn hold(path: &Path) -> Result<(), Failure> {
    let read = || -> io::Result<Vec<Input>> {
        postcard::from_bytes(&inputs::read_whole(path, INPUTS_BYTES_MAX)?).map_err(io::Error::other)
    };
    let inputs =
        read().map_err(|error| Failure::simulation(format!("the inputs of the sweep cannot be read: {error}")))?;
    inputs::hold(inputs);
    Ok(())
}

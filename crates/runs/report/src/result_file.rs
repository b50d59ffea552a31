//! Files that are written beside their place, and moved there when they are whole.

use parades_session::Failure;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Checks that [`write_whole`] will be able to write a file.
///
/// # Errors
///
/// [`Failure::Input`] if it will not.
pub fn can_be_written(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display()), "name a file"));
    }
    remove_remains(path);
    let probe = aside(path);
    fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(|error| Failure::cannot_write(path, &error))
}

/// Returns the place where a file is written before it is moved to its own place.
pub(crate) fn aside(path: &Path) -> PathBuf {
    path.with_added_extension(format!("parades-{}", std::process::id()))
}

/// Removes what killed processes wrote aside for this path.
fn remove_remains(path: &Path) {
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}.parades-", name.to_string_lossy());
    let is_remains = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().and_then(|name| name.strip_prefix(&prefix)?.parse().ok()).is_some_and(is_gone)
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_remains).for_each(|entry| {
        let _ = fs::remove_file(entry.path());
    });
}

/// True if this process has certainly ended.
fn is_gone(process: u32) -> bool {
    Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{process}")).exists()
}

/// Writes a file aside and moves it to its place when it is whole.
///
/// # Errors
///
/// [`Failure::Simulation`] if the file cannot be written; then nothing is left.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>) -> Result<(), Failure> {
    remove_remains(path);
    let aside = aside(path);
    let written = || {
        let mut file = BufWriter::new(fs::File::create(&aside)?);
        write(&mut file)?;
        file.into_inner()?.sync_data()?;
        fs::rename(&aside, path)
    };
    written().map_err(|error| {
        let _ = fs::remove_file(&aside);
        Failure::written_late(path, &error)
    })
}

/// Returns an error of writing that names the file.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
}

/// Returns the absolute path of a file, which is the same however the path is spelt. The file may not exist
/// yet.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    let in_folder = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

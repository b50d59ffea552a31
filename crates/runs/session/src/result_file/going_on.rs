//! Files that go on with a saved run.
//!
//! While such a file is written, it stands beside its place under a name that ends in [`UNFINISHED`], and
//! stays there if the process is killed. A save has the length and the hash of its beginning. So the file can
//! be recognised, whether it is unfinished or at its place.

use super::{Beside, PART, Place, ResultFile, Temporary, beside, identity, is_at, is_locked, place};
use crate::Failure;
use crate::saved::outputs::FileAtCut;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::Path;
use twox_hash::XxHash3_128;

/// The ending of a file that a saved run has not finished.
pub const UNFINISHED: &str = "unfinished";

/// The length of the pieces in which a file is read.
const PIECE_BYTES: usize = 1 << 20;

/// The facts about a file that a save records.
pub(super) struct Written {
    /// The number of bytes written so far.
    bytes: u64,
    /// The hash of these bytes.
    hash: XxHash3_128,
    /// True if the file goes on beyond these bytes. The first write removes the rest.
    has_rest: bool,
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").field("bytes", &self.bytes).field("has_rest", &self.has_rest).finish_non_exhaustive()
    }
}

impl Written {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.write(bytes);
    }

    /// Removes the rest of the file, if it has one.
    pub(super) fn remove_rest(&mut self, file: &File) -> io::Result<()> {
        if self.has_rest {
            file.set_len(self.bytes)?;
            self.has_rest = false;
        }
        Ok(())
    }
}

impl ResultFile {
    /// Begins a file that goes on with the saves of its run. Otherwise as [`ResultFile::create`].
    ///
    /// # Errors
    ///
    /// As [`ResultFile::create`].
    pub fn create_to_go_on(path: &Path) -> Result<ResultFile, Failure> {
        let file = ResultFile::create_beside(path, |target| beside(target, UNFINISHED))?;
        let written = file.beside.is_some().then(|| Written { bytes: 0, hash: XxHash3_128::new(), has_rest: false });
        Ok(ResultFile { written, ..file })
    }

    /// True if the file goes on with the saves of its run. Devices and pipes do not.
    pub fn goes_on(&self) -> bool {
        self.written.is_some()
    }

    /// Goes on with the file of a saved run, which stands unfinished beside its place or is there already. A
    /// file at its place stays as it is until [`ResultFile::finish`]. An unfinished file stays as it is until
    /// the first write. `option` names the option that asks for the file.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if neither of them is the file of the saved run, or if it cannot be written.
    pub fn go_on(path: &Path, at: &FileAtCut, option: &str) -> Result<ResultFile, Failure> {
        let cannot = |error: io::Error| Failure::cannot_write(path, &error);
        let refused = |message: String| {
            Failure::usage(message, format!("restore the file, or write the rest elsewhere with `{option}`"))
        };
        let Place::File(target) = place(path).map_err(cannot)? else {
            return Err(refused(format!("{} is no file any more", path.display())));
        };
        let unfinished = beside(&target, UNFINISHED);
        if identity(&unfinished).is_some_and(|unfinished| identity(&target) == Some(unfinished)) {
            // The process was killed between the two steps in which it gave the file its name.
            fs::remove_file(&unfinished).map_err(cannot)?;
        }
        let check = |file: &File, path: &Path| {
            let length = file.metadata().map_err(cannot)?.len();
            let name = path.display();
            if length < at.bytes {
                return Err(refused(format!("{name} has {length} bytes, and had {} when the run was saved", at.bytes)));
            }
            let hash = hash_of(file, at.bytes).map_err(cannot)?;
            let is_right = format!("{:032x}", hash.finish_128()) == at.hash;
            let wrong = || format!("{name} is not the file of the saved run: its first {} bytes differ", at.bytes);
            let written = Written { bytes: at.bytes, hash, has_rest: length > at.bytes };
            if is_right { Ok(written) } else { Err(refused(wrong())) }
        };
        let (part, file, written) = if unfinished.exists() {
            let file = lock(path, &unfinished)?;
            let written = check(&file, &unfinished)?;
            (Temporary::kept(unfinished), file, written)
        } else {
            let finished = match File::open(&target) {
                Ok(finished) => finished,
                // Nothing had been written, so nothing is missing.
                Err(error) if error.kind() == io::ErrorKind::NotFound && at.bytes == 0 => {
                    return ResultFile::create_to_go_on(path);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let message = format!("neither {} nor {} is there", unfinished.display(), target.display());
                    return Err(refused(message));
                }
                Err(error) => return Err(cannot(error)),
            };
            if at.bytes == 0 && finished.metadata().map_err(cannot)?.len() > 0 {
                // Nothing tells it from a file of the user.
                return Err(refused(format!("{} was empty when the run was saved", target.display())));
            }
            if is_locked(&finished) {
                return Err(in_use(path));
            }
            let written = check(&finished, &target)?;
            let (part, file) = copy(&finished, &target, at.bytes, &unfinished).map_err(cannot)?;
            (part, file, Written { has_rest: false, ..written })
        };
        (&file).seek(SeekFrom::Start(at.bytes)).map_err(cannot)?;
        let beside = Some(Beside { target, part });
        Ok(ResultFile { path: path.to_owned(), beside, to: Some(BufWriter::new(file)), written: Some(written) })
    }

    /// Brings everything that was written to the disk, and lets the file stay there if the process ends
    /// before [`ResultFile::finish`]. The file must have been flushed. Returns the record of the file, if it
    /// goes on.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn keep(&self) -> io::Result<Option<FileAtCut>> {
        let (Some(written), Some(Beside { target, part }), Some(to)) = (&self.written, &self.beside, &self.to) else {
            return Ok(None);
        };
        to.get_ref().sync_data().map_err(|error| self.named(&error))?;
        if part.keep() {
            sync_folder(target);
        }
        let path = std::path::absolute(&self.path)?;
        Ok(Some(FileAtCut { path, bytes: written.bytes, hash: format!("{:032x}", written.hash.finish_128()) }))
    }

    /// Returns the path of the file while it is written. `None` for devices and pipes.
    pub fn path_beside(&self) -> Option<&Path> {
        self.beside.as_ref().map(|beside| beside.part.path())
    }
}

/// Locks an unfinished file, as it is.
fn lock(path: &Path, unfinished: &Path) -> Result<File, Failure> {
    let cannot = |error: io::Error| Failure::cannot_write(unfinished, &error);
    let file = OpenOptions::new().read(true).write(true).open(unfinished).map_err(cannot)?;
    let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    // The process that had the lock before may have moved the file in the meantime.
    if is_taken || !is_at(&file, unfinished) { Err(in_use(path)) } else { Ok(file) }
}

pub(super) fn in_use(path: &Path) -> Failure {
    let message = format!("another process is writing {}", path.display());
    Failure::usage(message, "name another file, or wait until that process is over")
}

/// Copies the beginning of the file at a place into an unfinished file, which appears when it is whole.
fn copy(mut finished: &File, target: &Path, bytes: u64, unfinished: &Path) -> io::Result<(Temporary, File)> {
    let taken = || io::Error::other("another process is writing it");
    let (part, file) = Temporary::locked(beside(target, PART))?.ok_or_else(taken)?;
    finished.rewind()?;
    let copied = io::copy(&mut finished.take(bytes), &mut &file)?;
    if copied < bytes {
        return Err(io::Error::other("it became shorter while it was read"));
    }
    let _ = finished.metadata().and_then(|finished| file.set_permissions(finished.permissions()));
    Ok((part.renamed(unfinished)?, file))
}

/// Returns the hash of the first bytes of a file.
fn hash_of(mut file: &File, bytes: u64) -> io::Result<XxHash3_128> {
    let (mut hash, mut piece, mut left) = (XxHash3_128::new(), vec![0; PIECE_BYTES], bytes);
    file.rewind()?;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let read = file.read(&mut piece[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hash.write(&piece[..read]);
        left -= read as u64;
    }
    Ok(hash)
}

/// Brings the name of a new file to the disk, where the system can do that.
fn sync_folder(file: &Path) {
    if let Some(Ok(folder)) = file.parent().map(File::open) {
        let _ = folder.sync_all();
    }
}

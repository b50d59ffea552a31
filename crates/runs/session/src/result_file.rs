//! A file of results: whole under its own name, or not there.
//!
//! All files that a command writes are a [`ResultFile`]: traces, timelines, captures, charts, tables and
//! records. It is written beside its place, in a file whose name has the ending [`PART`], and moved to its
//! place when it is whole. So a full disk, a signal or a killed process leaves an earlier file as it was.
//!
//! The file beside the place is locked, so a place has one writer at a time. The system removes the lock when
//! the process ends. A killed process leaves the file beside the place; the next writer begins it again.
//!
//! Devices, pipes and standard output have no place to be moved to. They are written directly.
//!
//! Files of a run that is saved stay beside their places: see [`ResultFile::create_to_go_on`].

mod going_on;

use crate::Failure;
pub use going_on::UNFINISHED;
use going_on::{Written, in_use};
use parades_core::digest::Digest;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most files of one kind that a run writes at a time. A process can usually hold about a thousand files
/// open.
pub const FILES_MAX: usize = 800;

/// The ending of a file that is not whole yet.
pub const PART: &str = "parades-part";

/// The longest name of a file, in bytes, to which [`PART`] or [`UNFINISHED`] is added. Most file systems
/// allow 255 bytes.
const NAME_BYTES_MAX: usize = 240;

/// The most symbolic links that are followed to a file; Linux follows as many.
const LINKS_MAX: usize = 40;

/// A file of results. Dropping it before [`ResultFile::finish`] removes it, and leaves an earlier file of its
/// name as it was.
///
/// Errors of [`Write`] name the file.
#[derive(Debug)]
pub struct ResultFile {
    /// The path, as the user wrote it.
    path: PathBuf,
    /// The place, and the file beside it; `None` for devices and pipes.
    beside: Option<Beside>,
    /// The open file. Devices and pipes are opened by the first write, since the reader of a pipe takes its
    /// closing for the end.
    to: Option<BufWriter<File>>,
    /// The facts that saves of the run record, if the file goes on with them.
    written: Option<Written>,
}

#[derive(Debug)]
struct Beside {
    target: PathBuf,
    part: Temporary,
}

impl ResultFile {
    /// Begins a file. The file at its place, if there is one, stays as it is until [`ResultFile::finish`].
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if it cannot be written, or if another process writes it.
    pub fn create(path: &Path) -> Result<ResultFile, Failure> {
        ResultFile::create_beside(path, |target| beside(target, PART))
    }

    /// Begins a file that is written at a path which `part` makes from its place, in the same file system.
    /// Otherwise as [`ResultFile::create`].
    ///
    /// # Errors
    ///
    /// As [`ResultFile::create`].
    pub fn create_beside(path: &Path, part: impl FnOnce(&Path) -> PathBuf) -> Result<ResultFile, Failure> {
        let cannot = |error: io::Error| Failure::cannot_write(path, &error);
        if path.is_dir() {
            return Err(Failure::usage(format!("{} is a folder", path.display()), "name a file"));
        }
        let Place::File(target) = place(path).map_err(cannot)? else {
            return Ok(ResultFile { path: path.to_owned(), beside: None, to: None, written: None });
        };
        let earlier = match OpenOptions::new().append(true).open(&target) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(cannot(error)),
        };
        if earlier.as_ref().is_some_and(is_locked) {
            return Err(in_use(path));
        }
        let (part, file) = Temporary::locked(part(&target)).map_err(cannot)?.ok_or_else(|| in_use(path))?;
        if let Some(earlier) = earlier {
            // The new file has the permissions of the one that it replaces. Some file systems have none.
            let _ = earlier.metadata().and_then(|earlier| file.set_permissions(earlier.permissions()));
        }
        let beside = Some(Beside { target, part });
        Ok(ResultFile { path: path.to_owned(), beside, to: Some(BufWriter::new(file)), written: None })
    }

    /// Returns the path, as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Completes the file: moves it to its place.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if that fails. Then an earlier file is as it was.
    pub fn finish(mut self) -> Result<(), Failure> {
        let mut finish = || {
            self.open()?.flush()?;
            let Some(Beside { target, part }) = self.beside.take() else { return Ok(()) };
            self.open()?.get_ref().sync_data()?;
            let is_in_use = File::open(&target).is_ok_and(|earlier| is_locked(&earlier));
            if is_in_use {
                return Err(io::Error::other("another process is writing it"));
            }
            part.move_to(&target)
        };
        let finished = finish();
        finished.map_err(|error| Failure::written_late(&self.path, &error))
    }

    /// Completes the file under another name in its folder.
    ///
    /// # Errors
    ///
    /// As [`ResultFile::finish`].
    pub(crate) fn finish_as(mut self, path: &Path) -> Result<(), Failure> {
        self.path = path.to_owned();
        if let Some(beside) = &mut self.beside {
            beside.target = path.to_owned();
        }
        self.finish()
    }

    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        let to = match &mut self.to {
            Some(to) => to,
            none => none.insert(BufWriter::new(open_special(&self.path)?)),
        };
        self.written.as_mut().map_or(Ok(()), |written| written.remove_rest(to.get_ref()))?;
        Ok(to)
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{} cannot be written: {error}", self.path.display()))
    }
}

impl Write for ResultFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.open().and_then(|to| to.write(bytes)).map_err(|error| self.named(&error))?;
        if let Some(written) = &mut self.written {
            written.add(&bytes[..count]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open().and_then(Write::flush).map_err(|error| self.named(&error))
    }
}

/// Writes a whole file.
///
/// # Errors
///
/// Those of [`ResultFile::create`] and [`ResultFile::finish`]; [`Failure::Simulation`] if `write` fails.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut ResultFile) -> io::Result<()>) -> Result<(), Failure> {
    let mut file = ResultFile::create(path)?;
    write(&mut file).map_err(|error| late(&error))?;
    file.finish()
}

/// Reports an error of writing a [`ResultFile`], which names the file.
pub fn late(error: &io::Error) -> Failure {
    Failure::simulation(format!("{error}; make room, or write elsewhere"))
}

/// Checks that outputs overwrite no input and not each other, by whatever names and links they are called.
/// Each file comes with the words for it.
///
/// # Errors
///
/// [`Failure::Input`] on the first output that does.
pub fn check_apart<'a>(
    inputs: impl IntoIterator<Item = (&'a str, PathBuf)>,
    outputs: impl IntoIterator<Item = (&'a str, PathBuf)>,
) -> Result<(), Failure> {
    let mut known: Vec<(&str, PathBuf)> = inputs.into_iter().collect();
    for (what, path) in outputs {
        // Devices and pipes keep nothing that could be lost.
        if !matches!(place(&path), Ok(Place::Special)) {
            if let Some((other, _)) = known.iter().find(|(_, known)| is_same_file(known, &path)) {
                let message = format!("{what} would write over {}, which {other} is", path.display());
                return Err(Failure::usage(message, "name another file"));
            }
            known.push((what, path));
        }
    }
    Ok(())
}

/// True if two paths lead to one file, or would if there were one.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let places = (place(a), place(b));
    let is_same_place = matches!(&places, (Ok(Place::File(a)), Ok(Place::File(b))) if a == b);
    a == b || is_same_place || identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// Returns the device and the number of a file, which hard links share.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// True if another process, or another open file of this one, has locked the file.
fn is_locked(file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock) => true,
        // The file system has no locks.
        Err(TryLockError::Error(_)) => false,
    }
}

/// The place that a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A file that is there or can be made, without symbolic links in its path.
    File(PathBuf),
    /// A device, a pipe, or a descriptor of a process.
    Special,
}

/// Returns the file that a path leads to, or would if there were one. `None` for a device or a pipe.
pub(crate) fn file_at(path: &Path) -> Option<PathBuf> {
    match place(path) {
        Ok(Place::File(place)) => Some(place),
        Ok(Place::Special) | Err(_) => None,
    }
}

/// Follows the symbolic links of a path. The file may not exist.
fn place(path: &Path) -> io::Result<Place> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize()?;
        // The link of a descriptor may name a file that is gone, and does not have its position.
        if folder.starts_with("/proc") {
            return Ok(Place::Special);
        }
        let whole = folder.join(name);
        match fs::read_link(&whole) {
            Ok(to) => path = folder.join(to),
            Err(_) if fs::metadata(&whole).is_ok_and(|found| !found.is_file() && !found.is_dir()) => {
                return Ok(Place::Special);
            }
            Err(_) => return Ok(Place::File(whole)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Opens a device or a pipe. Standard output and standard error are those of this process, with their
/// position, even if they are files.
fn open_special(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        if is_descriptor(path, 1) {
            return io::stdout().as_fd().try_clone_to_owned().map(File::from);
        }
        if is_descriptor(path, 2) {
            return io::stderr().as_fd().try_clone_to_owned().map(File::from);
        }
    }
    OpenOptions::new().append(true).open(path)
}

/// True if a path names a descriptor of this process: `/dev/stdout`, `/dev/fd/1`, `/proc/self/fd/1`.
#[cfg(unix)]
fn is_descriptor(path: &Path, number: u32) -> bool {
    let named = match path.to_str() {
        Some("/dev/stdout") => "/proc/self/fd/1".into(),
        Some("/dev/stderr") => "/proc/self/fd/2".into(),
        _ => path.to_owned(),
    };
    let own = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    let folder = named.parent().and_then(|folder| folder.canonicalize().ok());
    folder == Some(own) && named.file_name() == Path::new(&number.to_string()).file_name()
}

/// Returns the path of a file while it is written, with this ending.
fn beside(target: &Path, ending: &str) -> PathBuf {
    match target.file_name() {
        Some(name) if name.len() > NAME_BYTES_MAX => {
            let mut hash = Digest::default();
            hash.bytes(name.as_encoded_bytes());
            target.with_file_name(format!("{:016x}.{ending}", hash.value()))
        }
        _ => target.with_added_extension(ending),
    }
}

/// The temporary files and folders of this process. While the lock is held, none is made, moved or removed.
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn temporaries() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file or folder, which is removed when this value is dropped, or by [`remove_temporaries`].
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Makes a file or folder by `make`.
    pub fn made<T>(path: PathBuf, make: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<(Temporary, T)> {
        let mut all = temporaries();
        let made = make(&path)?;
        all.insert(path.clone());
        Ok((Temporary(path), made))
    }

    /// Makes an empty file and locks it. Returns `None` if another process has the lock.
    fn locked(path: PathBuf) -> io::Result<Option<(Temporary, File)>> {
        let mut all = temporaries();
        loop {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Ok(None);
            }
            // The process that had the lock before may have moved or removed the file in the meantime.
            if is_at(&file, &path) {
                file.set_len(0)?;
                all.insert(path.clone());
                return Ok(Some((Temporary(path), file)));
            }
        }
    }

    /// Returns a file that was there before this process, and stays unless it is moved.
    fn kept(path: PathBuf) -> Temporary {
        Temporary(path)
    }

    /// Lets the file stay, whatever becomes of this process. Returns true if it would have been removed
    /// before.
    fn keep(&self) -> bool {
        temporaries().remove(&self.0)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives the file another path, at which it is as temporary as before.
    fn renamed(self, path: &Path) -> io::Result<Temporary> {
        let mut all = temporaries();
        fs::rename(&self.0, path)?;
        all.remove(&self.0);
        all.insert(path.to_owned());
        drop(all);
        Ok(Temporary(path.to_owned()))
    }

    /// Moves the file or folder to its place.
    fn move_to(self, target: &Path) -> io::Result<()> {
        let mut all = temporaries();
        let moved = fs::rename(&self.0, target);
        if moved.is_ok() {
            all.remove(&self.0);
        }
        drop(all);
        moved
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut all = temporaries();
        if all.remove(&self.0) {
            remove(&self.0);
        }
    }
}

/// True if an open file is still the one at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|file| Some((file.dev(), file.ino())) == identity(path))
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Removes a file or a folder, if it is there.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Calls `act`, in which several files are moved. [`remove_temporaries`] waits for its end.
pub fn uninterrupted<T>(act: impl FnOnce() -> T) -> T {
    let _all = temporaries();
    act()
}

/// Removes the temporary files and folders of this process, which is about to exit. Other threads that make,
/// move or remove one wait from now on.
pub fn remove_temporaries() {
    let all = temporaries();
    all.iter().for_each(|path| remove(path));
    std::mem::forget(all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("parades-result-file-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of temporary files can be used");
        folder.canonicalize().expect("it is there")
    }

    #[test]
    fn a_file_appears_when_it_is_whole_and_has_one_writer() {
        let folder = folder("whole");
        let path = folder.join("a.txt");
        fs::write(&path, "before").expect("it can be written");
        let mut first = ResultFile::create(&path).expect("it can be written");
        first.write_all(b"after").expect("it can be written");
        let second = ResultFile::create(&folder.join("../").join(folder.file_name().expect("a name")).join("a.txt"));
        assert!(second.is_err_and(|error| error.to_string().starts_with("another process is writing ")));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "before");
        first.finish().expect("it can be moved");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "after");
        drop(ResultFile::create(&path).expect("it can be written"));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "after");
        assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1, "nothing is left");
        fs::remove_dir_all(folder).expect("it is this test's own");
    }

    #[test]
    #[cfg(unix)]
    fn a_place_is_known_behind_links() {
        let folder = folder("links");
        let path = folder.join("a.txt");
        fs::write(&path, "before").expect("it can be written");
        let (link, hard, other) = (folder.join("link"), folder.join("hard"), folder.join("b.txt"));
        std::os::unix::fs::symlink("a.txt", &link).expect("links can be made");
        fs::hard_link(&path, &hard).expect("links can be made");
        for output in [&path, &link, &hard] {
            let error = check_apart([("the input", path.clone())], [("--out", output.clone())]);
            assert!(error.is_err_and(|error| error.to_string().contains("which the input is")), "{output:?}");
        }
        assert!(check_apart([("the input", path.clone())], [("--out", other)]).is_ok());
        write_whole(&link, |to| to.write_all(b"after")).expect("it can be written");
        assert!(link.is_symlink() && fs::read_to_string(&path).expect("it is there") == "after");
        fs::remove_dir_all(folder).expect("it is this test's own");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_and_descriptors_are_written_where_they_are() {
        for path in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            assert_eq!(place(Path::new(path)).expect("Linux has it"), Place::Special, "{path}");
        }
        assert!(is_descriptor(Path::new("/dev/fd/1"), 1) && !is_descriptor(Path::new("/dev/null"), 1));
        write_whole(Path::new("/dev/null"), |to| to.write_all(b"x")).expect("it takes everything");
        let full = write_whole(Path::new("/dev/full"), |to| to.write_all(b"x")).expect_err("it takes nothing");
        assert!(full.to_string().starts_with("/dev/full cannot be written: No space left on device"), "{full}");
    }
}

//! Reading the files that a simulation is made from.
//!
//! All of them are read by [`read`]. By default that is all. A program that makes the same simulation several
//! times, maybe in several processes, may [`hold`] the contents: then each file is read once, and an edit of
//! the file in the meantime has no effect.

use crate::error::{ConfigError, Place};
use parades_core::digest::Digest;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The path of standard input, also in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// The contents of a file, as they were when the file was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The absolute path.
    pub path: PathBuf,
    /// The contents.
    pub bytes: Arc<[u8]>,
}

/// The inputs that this process holds.
struct Held {
    /// The contents by path.
    inputs: BTreeMap<PathBuf, Arc<[u8]>>,
    /// True if each file that is read is held from then on.
    holds_all: bool,
}

static HELD: Mutex<Held> = Mutex::new(Held { inputs: BTreeMap::new(), holds_all: false });

fn lock() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that was read, as the record of a run names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The absolute path.
    pub path: PathBuf,
    /// The length in bytes.
    pub bytes: u64,
    /// The hash of the contents, by [`Digest`]: files of other contents have other hashes, unless somebody
    /// made them for that.
    pub hash: u64,
}

/// The inputs that a thread holds and lists apart from its process.
#[derive(Clone, Default)]
struct Here {
    /// The contents that the thread holds, by path.
    held: BTreeMap<PathBuf, Arc<[u8]>>,
    /// The files that the thread has read inside of [`apart`], by path: length and hash.
    seen: Option<BTreeMap<PathBuf, (u64, u64)>>,
}

thread_local! {
    static HERE: RefCell<Here> = const { RefCell::new(Here { held: BTreeMap::new(), seen: None }) };
}

/// The length and the hash of each file that was read, by path.
static SEEN: Mutex<BTreeMap<PathBuf, (u64, u64)>> = Mutex::new(BTreeMap::new());

fn seen_files() -> MutexGuard<'static, BTreeMap<PathBuf, (u64, u64)>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the files that this process has read since the last [`forget_seen`], by path; inside of [`apart`],
/// those that were read there. A file that was read twice is as it was the last time.
pub fn seen() -> Vec<Seen> {
    let seen = HERE.with_borrow(|here| here.seen.clone()).unwrap_or_else(|| seen_files().clone());
    seen.iter().map(|(path, &(bytes, hash))| Seen { path: path.clone(), bytes, hash }).collect()
}

/// Begins a new list of the files that are read, for a run that reads its own.
pub fn forget_seen() {
    if HERE.with_borrow_mut(|here| here.seen.as_mut().map(BTreeMap::clear)).is_none() {
        seen_files().clear();
    }
}

/// Returns the hash by which [`seen`] names contents.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    digest.value()
}

/// Reads a file of at most `most` bytes. Of a longer file, reads `most + 1` bytes, which shows that it is too
/// long. Files without an end, such as devices, are read no further.
///
/// # Errors
///
/// If the file cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let bytes = read_unseen(path, most)?;
    if bytes.len() as u64 <= most {
        let (path, facts) = (absolute(path)?, (bytes.len() as u64, hash(&bytes)));
        HERE.with_borrow_mut(|here| match &mut here.seen {
            Some(seen) => seen.insert(path, facts),
            None => seen_files().insert(path, facts),
        });
    }
    Ok(bytes)
}

/// Reads a file of at most `bytes_max` bytes that is no input of a simulation, such as a result: it is not
/// among [`seen`], and not held.
///
/// # Errors
///
/// If the file cannot be read or is longer.
pub fn read_apart(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    no_longer_than(bytes_max, from_disk(path, bytes_max)?)
}

fn read_unseen(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let most_bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let cut = |bytes: &[u8]| bytes[..most_bytes.saturating_add(1).min(bytes.len())].to_vec();
    let (holds_here, is_apart) = HERE.with_borrow(|here| (!here.held.is_empty(), here.seen.is_some()));
    if holds_here {
        let key = absolute(path)?;
        if let Some(bytes) = HERE.with_borrow(|here| here.held.get(&key).cloned()) {
            return Ok(cut(&bytes));
        }
    }
    let held = || Ok::<_, io::Error>(lock().inputs.get(&absolute(path)?).cloned());
    // Standard input can be read only once, so its content is held in any case.
    let is_held_then = lock().holds_all || path == Path::new(STANDARD_INPUT);
    if !is_held_then && !is_apart && lock().inputs.is_empty() {
        return from_disk(path, most);
    }
    if let Some(bytes) = held()? {
        return Ok(cut(&bytes));
    }
    let bytes = from_disk(path, most)?;
    // No simulation is made from a file that is too long, and a device may have no end.
    if bytes.len() <= most_bytes {
        if is_held_then {
            lock().inputs.insert(absolute(path)?, bytes.as_slice().into());
        } else if is_apart {
            let path = absolute(path)?;
            HERE.with_borrow_mut(|here| here.held.insert(path, bytes.as_slice().into()));
        }
    }
    Ok(bytes)
}

/// Reads a text of at most `bytes_max` bytes, whatever the metadata of the file say.
///
/// ```
/// # use parades_config::read_text;
/// # #[cfg(target_os = "linux")] {
/// let error = read_text("/dev/zero".as_ref(), 1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "it is longer than 1 MiB");
/// # }
/// ```
///
/// # Errors
///
/// If the file cannot be read, is longer, or is not UTF-8.
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let bytes = read_whole(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Reads a file of at most `bytes_max` bytes.
///
/// # Errors
///
/// If the file cannot be read or is longer.
pub fn read_whole(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    no_longer_than(bytes_max, read(path, bytes_max)?)
}

fn no_longer_than(bytes_max: u64, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {} MiB", bytes_max >> 20)));
    }
    Ok(bytes)
}

/// Returns the error of a file that [`read_text`] or [`read_whole`] did not read.
///
/// ```
/// # use parades_config::inputs::{read_whole, unreadable};
/// # #[cfg(target_os = "linux")] {
/// let path = "/dev/zero".as_ref();
/// let error = unreadable(path, &read_whole(path, 1 << 20).unwrap_err()).to_string();
/// assert_eq!(error, "/dev/zero: the file is longer than 1 MiB; check that it is the file you meant");
/// # }
/// ```
pub fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    let (message, help) = match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let length = error.to_string();
            let length = length.strip_prefix("it is ").unwrap_or(&length);
            (format!("the file is {length}"), "check that it is the file you meant")
        }
        _ => (format!("the file cannot be read: {}", reason(error)), "check its name and permissions"),
    };
    ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()))
}

/// Returns the reason of an error of the system, without the system's number for it.
///
/// ```
/// # use parades_config::inputs::reason;
/// let error = std::fs::read("/nowhere/at-all").unwrap_err();
/// assert_eq!(reason(&error), "No such file or directory");
/// ```
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::IsADirectory => return "it is a folder".to_owned(),
        io::ErrorKind::NotADirectory => return "a part of its path is a file, not a folder".to_owned(),
        io::ErrorKind::AlreadyExists => return "there is a file of this name".to_owned(),
        _ => {}
    }
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

fn from_disk(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = most.saturating_add(1);
    if path == Path::new(STANDARD_INPUT) {
        io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    } else {
        File::open(path)?.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the absolute path, with no links in it if the file exists. [`STANDARD_INPUT`] stays as it is.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(path.to_owned());
    }
    path.canonicalize().or_else(|_| std::path::absolute(path))
}

/// Holds the contents of all files that are read from now on, in this process. `inputs` are held already:
/// another process has read them.
pub fn hold(inputs: impl IntoIterator<Item = Input>) {
    let mut held = lock();
    held.holds_all = true;
    held.inputs.extend(inputs.into_iter().map(|Input { path, bytes }| (path, bytes)));
}

/// Holds one file, which need not be on disk; inside of [`apart`], for this thread alone. Other files are
/// read as before.
///
/// ```
/// use parades_config::inputs::{Input, hold_one, read};
/// let path = std::path::absolute("no/such/folder/scenario.toml")?;
/// assert!(read(&path, 100).is_err());
/// hold_one(Input { path: path.clone(), bytes: b"scenario = \"phold\"".as_slice().into() });
/// assert_eq!(read(&path, 100)?, b"scenario = \"phold\"");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn hold_one(Input { path, bytes }: Input) {
    HERE.with_borrow_mut(|here| match here.seen {
        Some(_) => here.held.insert(path, bytes),
        None => lock().inputs.insert(path, bytes),
    });
}

/// Holds `inputs` for this thread while it calls `make`: another thread may hold other contents of the same
/// files.
pub fn holding<T>(inputs: impl IntoIterator<Item = Input>, make: impl FnOnce() -> T) -> T {
    with_here(inputs, |_| {}, make)
}

/// Calls `make` with inputs of its own: this thread holds `inputs` and each file that it reads meanwhile, and
/// [`seen`] has these files alone. So a program can make several simulations at once.
///
/// ```
/// use parades_config::inputs::{Input, apart, read, seen};
/// let path = std::path::absolute("no/such/folder/net.toml")?;
/// let input = Input { path: path.clone(), bytes: b"network = \"two nodes\"".as_slice().into() };
/// let (bytes, files) = apart([input], || (read(&path, 100), seen().len()));
/// assert_eq!((bytes?.len(), files), (21, 1));
/// assert!(read(&path, 100).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn apart<T>(inputs: impl IntoIterator<Item = Input>, make: impl FnOnce() -> T) -> T {
    with_here(inputs, |here| here.seen = Some(BTreeMap::new()), make)
}

/// Calls `make` while this thread holds `inputs` too, after `change`.
fn with_here<T>(
    inputs: impl IntoIterator<Item = Input>,
    change: impl FnOnce(&mut Here),
    make: impl FnOnce() -> T,
) -> T {
    /// Restores what the thread had before, after a panic too.
    struct Before(Here);
    impl Drop for Before {
        fn drop(&mut self) {
            HERE.set(std::mem::take(&mut self.0));
        }
    }
    let before = HERE.with_borrow(Here::clone);
    let mut here = before.clone();
    here.held.extend(inputs.into_iter().map(|Input { path, bytes }| (path, bytes)));
    change(&mut here);
    HERE.set(here);
    let _before = Before(before);
    make()
}

/// Returns the inputs that are held, those of this thread among them.
pub fn held() -> Vec<Input> {
    let mut held = lock().inputs.clone();
    HERE.with_borrow(|here| held.extend(here.held.iter().map(|(path, bytes)| (path.clone(), Arc::clone(bytes)))));
    held.into_iter().map(|(path, bytes)| Input { path, bytes }).collect()
}

/// Returns the paths of held inputs that are different on disk now, or no longer there.
pub fn changed() -> Vec<PathBuf> {
    let is_changed = |input: &Input| {
        from_disk(&input.path, input.bytes.len() as u64).map_or(true, |bytes| bytes[..] != input.bytes[..])
    };
    held().into_iter().filter(is_changed).map(|input| input.path).collect()
}

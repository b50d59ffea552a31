//! The journal of a sweep: a line for each finished run. A sweep that was killed continues from its journal.
//!
//! The first line, the header, identifies the sweep. It is written once the sweep may begin, so a sweep that
//! is refused leaves no journal, and a journal without runs is of no sweep. A run's line is appended when the
//! run ends. If the sweep is killed while it writes a line, the line is incomplete, and the next sweep drops
//! it. Each line ends with a hash of itself: a line that was altered is refused. A loss of power may lose the
//! runs of the last tenth of a second.
//!
//! The file is locked, so only one sweep at a time uses a journal. The system removes the lock when the
//! process ends.
//!
//! *Read next*: [`crate::drive`](mod@crate::drive).

use crate::outcome::Outcome;
use parades_config::{ConfigError, Place, inputs};
use parades_core::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The first field of the header: its name, and the version of the format.
const FORMAT: (&str, u64) = ("parades_journal", 2);

/// The end of a record: [`HASH_PREFIX`], sixteen hexadecimal digits of the hash, and [`HASH_SUFFIX`].
const HASH_PREFIX: &[u8] = b",\"check\":\"";
const HASH_SUFFIX: &[u8] = b"\"}";

/// The longest line that is read, in bytes. A file without ends of lines is no journal, and may have no end.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// The longest time before a record is written to the disk.
const SYNC_PERIOD: Duration = Duration::from_millis(100);

/// The fields of a header that identify the program rather than the sweep.
const PROGRAM_FIELDS: [&str; 2] = ["version", "commit"];

/// The header of a journal: everything that must be equal for its runs to be valid in another sweep.
///
/// Fields are compared one by one, and so are the fields of nested objects. `version` and `commit` identify
/// the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Header(pub Map<String, Value>);

/// A line of a journal: a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The values of the swept parameters.
    pub parameters: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// The outcome.
    pub outcome: Outcome,
}

/// An open journal. A thread writes it, so that runs need not wait for the disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// The file and its beginning. `None` once the sweep has begun.
    unbegun: Option<Unbegun>,
    /// The channel to the writer. `None` before the sweep begins, and after the journal was closed.
    records: Option<Sender<Record>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

/// A journal whose sweep has not begun.
#[derive(Debug)]
struct Unbegun {
    file: File,
    /// True if the file was created for this sweep.
    is_new: bool,
    /// The end of the last complete line; 0 if the header is to be written.
    end: u64,
    header: Header,
}

impl Journal {
    /// Opens the journal at `path`, or creates one. Returns its records in the order of the lines. The file
    /// stays as it is until [`Journal::begin`]. A file that was created and not begun is removed.
    ///
    /// # Errors
    ///
    /// If the file cannot be used, is not a journal, belongs to another sweep, has another format, or is in
    /// use.
    pub fn open(path: &Path, header: &Header) -> Result<(Journal, Vec<Record>), ConfigError> {
        let unusable = |error: &io::Error| {
            let reason = inputs::reason(error);
            wrong(path, &format!("cannot be used as a journal: {reason}"), "name a file that can be read and written")
        };
        // Opening a named pipe would block.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(wrong(path, "is not a file", "name one for the journal"));
        }
        let (file, is_new) = loop {
            let (file, is_new) = open_or_create(path).map_err(|error| unusable(&error))?;
            if !lock(&file) {
                return Err(wrong(path, "is in use by another sweep", "wait for it, or name another file or folder"));
            }
            // The sweep that had the lock before may have removed the file.
            if path.exists() {
                break (file, is_new);
            }
        };
        let (records, end) = match read(path, &file, Last::MayBeIncomplete)? {
            Some(Content { header: found, records, end }) if !records.is_empty() => {
                header.check(path, &found)?;
                (records, end)
            }
            _ => (Vec::new(), 0),
        };
        let unbegun = Some(Unbegun { file, is_new, end, header: header.clone() });
        Ok((Journal { path: path.to_owned(), unbegun, records: None, writer: None }, records))
    }

    /// Begins the sweep: writes the header, if there is none, and starts the writer.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or if the system starts no thread for the writer.
    pub fn begin(&mut self) -> io::Result<()> {
        let Some(Unbegun { mut file, end, header, .. }) = self.unbegun.take() else { return Ok(()) };
        prepare(&self.path, &mut file, end, &header)?;
        let (sender, receiver) = channel();
        self.writer = Some(std::thread::Builder::new().spawn(move || write(&mut file, &receiver))?);
        self.records = Some(sender);
        Ok(())
    }

    /// Reads the journal at `path`, which stays as it is. Returns `None` if its sweep was killed before the
    /// header was written.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not a journal, has another format, or was altered.
    pub fn read(path: &Path) -> Result<Option<(Header, Vec<Record>)>, ConfigError> {
        let file = File::open(path).map_err(|error| cannot_be_read(path, &error))?;
        let content = read(path, &file, Last::IsWhole)?;
        Ok(content.map(|Content { header, records, .. }| (header, records)))
    }

    /// Appends a record. The writer passes it to the system at once, and to the disk within `SYNC_PERIOD`.
    ///
    /// # Errors
    ///
    /// If this record or an earlier one could not be written.
    pub fn append(&mut self, record: Record) -> io::Result<()> {
        self.begin()?;
        match self.records.as_ref().map(|records| records.send(record)) {
            Some(Ok(())) => Ok(()),
            // The writer has failed: it ends early in no other case.
            Some(Err(_)) => self.finish(),
            None => Err(io::Error::other("it is finished")),
        }
    }

    /// Waits until all records are on the disk, and closes the journal.
    ///
    /// # Errors
    ///
    /// If a record could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.records = None;
        let written = self.writer.take().map(|writer| writer.join());
        written.map_or(Ok(()), |written| written.unwrap_or_else(|_| Err(io::Error::other("its writer panicked"))))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A caller who needs the error calls `finish`.
        let _ = self.finish();
        if self.unbegun.as_ref().is_some_and(|unbegun| unbegun.is_new) {
            // The file is still locked.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens a file, or creates it. Returns true beside it if it was created.
fn open_or_create(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    match options.clone().create_new(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((options.open(path)?, false)),
        Err(error) => Err(error),
    }
}

/// Truncates the file to `end`, the end of its last complete line. Writes the header if the file is empty.
fn prepare(path: &Path, file: &mut File, end: u64, header: &Header) -> io::Result<()> {
    file.set_len(end)?;
    if end == 0 {
        let mut fields = Map::from_iter([(FORMAT.0.to_owned(), Value::from(FORMAT.1))]);
        fields.extend(header.0.clone());
        file.write_all(format!("{}\n", Value::Object(fields)).as_bytes())?;
    }
    file.sync_data()?;
    sync_folder_of(path)
}

/// Writes records until the channel is closed.
///
/// Each record is passed to the system at once, so that it survives the end of this process. Every
/// [`SYNC_PERIOD`], the file is written to the disk, so that it survives a loss of power.
#[expect(clippy::disallowed_methods, reason = "the time of a write to the disk is not part of any result")]
fn write(file: &mut File, records: &Receiver<Record>) -> io::Result<()> {
    let mut unsynced_since: Option<Instant> = None;
    loop {
        let remaining = unsynced_since.map(|since| SYNC_PERIOD.saturating_sub(since.elapsed()));
        let record = match remaining {
            None => records.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
            Some(remaining) => records.recv_timeout(remaining),
        };
        match record {
            Ok(record) => {
                let mut line = with_hash(serde_json::to_vec(&record)?);
                line.push(b'\n');
                file.write_all(&line)?;
                unsynced_since.get_or_insert_with(Instant::now);
            }
            Err(RecvTimeoutError::Timeout) => {
                file.sync_data()?;
                unsynced_since = None;
            }
            Err(RecvTimeoutError::Disconnected) => return file.sync_data(),
        }
    }
}

/// The content of a journal.
struct Content {
    header: Header,
    records: Vec<Record>,
    /// The end of the last complete line.
    end: u64,
}

/// The meaning of a last line that has an end, but whose hash is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The line may be incomplete. The run is executed again.
    MayBeIncomplete,
    /// The line was altered.
    IsWhole,
}

/// Returns the content of a journal. `None` if the header is incomplete.
fn read(path: &Path, file: &File, last: Last) -> Result<Option<Content>, ConfigError> {
    let mut lines = Lines { reader: BufReader::new(file), line: Vec::new(), number: 0, end: 0 };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::FileTooLarge => not_a_journal(path),
        _ => cannot_be_read(path, &error),
    };
    if !lines.next().map_err(failed)? {
        // A sweep that was killed at its start leaves an incomplete header.
        let opening = format!("{{\"{}\":", FORMAT.0);
        let incomplete = opening.as_bytes().starts_with(&lines.line) || lines.line.starts_with(opening.as_bytes());
        return if incomplete { Ok(None) } else { Err(not_a_journal(path)) };
    }
    let header = read_header(path, &lines.line)?;
    let mut records = Vec::new();
    loop {
        let end = lines.end;
        if !lines.next().map_err(failed)? {
            return Ok(Some(Content { header, records, end }));
        }
        match without_hash(&lines.line).and_then(|record| serde_json::from_slice(&record).ok()) {
            Some(record) => records.push(record),
            // Only the last line can be incomplete.
            None if last == Last::MayBeIncomplete && lines.is_last().map_err(failed)? => {
                return Ok(Some(Content { header, records, end }));
            }
            None => {
                let message = format!("line {} is no run: the file was altered", lines.number);
                return Err(wrong(path, &message, "remove that line, or name another file or folder"));
            }
        }
    }
}

/// Returns the header in the first line of a journal, which must have this format.
fn read_header(path: &Path, line: &[u8]) -> Result<Header, ConfigError> {
    let Ok(Value::Object(mut found)) = serde_json::from_slice(line) else {
        return Err(not_a_journal(path));
    };
    match found.shift_remove(FORMAT.0) {
        Some(version) if version == FORMAT.1 => Ok(Header(found)),
        Some(version) => {
            let message = format!("is a journal of format {version}, and this program has format {}", FORMAT.1);
            Err(wrong(path, &message, "name another file or folder"))
        }
        None => Err(not_a_journal(path)),
    }
}

impl Header {
    /// Checks that the header `found` in the journal at `path` equals this one.
    ///
    /// # Errors
    ///
    /// If a field differs.
    pub fn check(&self, path: &Path, found: &Header) -> Result<(), ConfigError> {
        let Some((name, difference)) = difference(&found.0, &self.0) else { return Ok(()) };
        let message = format!("is the journal of another sweep: {difference}");
        let help = match PROGRAM_FIELDS.contains(&name) {
            true => "go on with the program that began it, or name another file or folder",
            false => "give the options that it began with, or name another file or folder",
        };
        Err(wrong(path, &message, help))
    }
}

/// Adds the hash to a record. The record ends with a brace; the hash becomes its last field.
fn with_hash(mut record: Vec<u8>) -> Vec<u8> {
    let hash = hash(&record);
    record.pop();
    record.extend(HASH_PREFIX);
    record.extend(format!("{hash:016x}").bytes());
    record.extend(HASH_SUFFIX);
    record
}

/// Returns the record that [`with_hash`] turned into this line. `None` if the hash does not match.
fn without_hash(line: &[u8]) -> Option<Vec<u8>> {
    let (record, digits) = line.strip_suffix(HASH_SUFFIX)?.split_last_chunk::<16>()?;
    let mut record = record.strip_suffix(HASH_PREFIX)?.to_vec();
    record.push(b'}');
    (format!("{:016x}", hash(&record)).as_bytes() == digits).then_some(record)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    digest.value()
}

fn cannot_be_read(path: &Path, error: &io::Error) -> ConfigError {
    wrong(path, &format!("cannot be read: {}", inputs::reason(error)), "name another file or folder")
}

fn not_a_journal(path: &Path) -> ConfigError {
    wrong(path, "is not the journal of a sweep", "name another file or folder")
}

/// Locks the file. Returns false if another process has the lock.
///
/// It waits up to a second, since a killed sweep may need a moment to end.
fn lock(file: &File) -> bool {
    let pauses = std::iter::repeat_n(Duration::from_millis(20), 50);
    pauses.into_iter().any(|pause| match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(pause);
            false
        }
        // The file system has no locks, so the journal is used without.
        Err(TryLockError::Error(_)) | Ok(()) => true,
    })
}

fn wrong(path: &Path, message: &str, help: &str) -> ConfigError {
    ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()))
}

/// Writes the folder of a new file to the disk, so that the file's name survives a loss of power.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every file system supports this.
    let _ = File::open(folder)?.sync_all();
    Ok(())
}

/// A reader of complete lines.
struct Lines<R> {
    reader: R,
    /// The line without its end. After the last complete line: the remaining bytes.
    line: Vec<u8>,
    /// The number of the line, from 1.
    number: usize,
    /// The offset of the line's end in the file.
    end: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line. Returns false if no complete line is left.
    fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let bytes = self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line)?;
        if bytes as u64 == LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            return Ok(false);
        }
        self.end += bytes as u64;
        Ok(true)
    }

    /// Returns true if nothing follows the line.
    fn is_last(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }
}

/// Returns the first field that differs between a journal's header and this sweep's header, and a sentence
/// about it.
pub fn difference<'a>(there: &'a Map<String, Value>, here: &'a Map<String, Value>) -> Option<(&'a str, String)> {
    let name = here.keys().chain(there.keys()).find(|name| there.get(*name) != here.get(*name))?;
    let text = |value: Option<&Value>| value.map_or("not given".to_owned(), |value| format!("`{value}`"));
    match (there.get(name), here.get(name)) {
        (Some(Value::Object(there)), Some(Value::Object(here))) => difference(there, here),
        (theirs, ours) => Some((name, format!("`{name}` is {} there and {} here", text(theirs), text(ours)))),
    }
}

//! The journal of a sweep: the runs that are over, a line each, so that a sweep that was killed goes on where it was.
//!
//! The first line says of which sweep the runs are. A run's line is appended when the run is over; where the sweep is killed in the middle of that, its last
//! line is torn, and is then dropped. Each ends with a hash of what is before it: what was altered since is refused, not believed. A loss of power may take the runs of the last tenth of a second. One sweep at a time has the journal: the file is locked,
//! and the system unlocks it when the process ends, however it does.
//!
//! *Read next*: [`crate::drive`](mod@crate::drive).

use crate::outcome::Outcome;
use parades_config::{ConfigError, Place};
use parades_core::digest::Digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The version of the format, in the field of this name.
const FORMAT: (&str, u64) = ("parades_journal", 2);

/// What a record ends with, before sixteen digits of its hash and [`CHECKED`].
const CHECK: &[u8] = b",\"check\":\"";
const CHECKED: &[u8] = b"\"}";

/// How long a record may wait to be put on the disk.
const SYNC_PERIOD: Duration = Duration::from_millis(100);

/// Fields of a header that are of the program, not of its options.
const PROGRAM: [&str; 2] = ["version", "commit"];

/// What a journal says of its sweep: whatever must be the same for its runs to be of use. Fields are compared one by one, and those of objects in
/// them. `version` and `commit` are taken for the program's.
#[derive(Clone, Debug, PartialEq)]
pub struct Header(pub Map<String, Value>);

/// A line of a journal: a run that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The values of the swept parameters.
    pub parameters: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// What it came to.
    pub outcome: Outcome,
}

/// An open journal. A thread of its own writes it, so that runs need not wait for the disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Who takes the records, until it is finished.
    records: Option<Sender<Record>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Journal {
    /// Opens the journal at `path` to go on with it, or begins one. The records in it are returned in their order.
    ///
    /// # Errors
    ///
    /// On a file that cannot be used, is no journal, is one of another sweep or of another version, or that a sweep has open.
    pub fn open(path: &Path, header: &Header) -> Result<(Journal, Vec<Record>), ConfigError> {
        let unusable = |error: &io::Error| {
            let text = error.to_string();
            let reason = text.split(" (os error").next().unwrap_or(&text).to_owned();
            wrong(path, &format!("cannot be used as a journal: {reason}"), "name a file that can be read and written")
        };
        // A pipe would be waited for.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            return Err(wrong(path, "is not a file", "name one for the journal"));
        }
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(|error| unusable(&error))?;
        if !is_mine(&file) {
            return Err(wrong(path, "is in use by another sweep", "wait for it, or name another file or folder"));
        }
        let (records, end) = read(path, &file, header)?;
        begin(path, &mut file, end, header).map_err(|error| unusable(&error))?;
        let (sender, receiver) = channel();
        let writer = std::thread::spawn(move || write(&mut file, &receiver));
        Ok((Journal { path: path.to_owned(), records: Some(sender), writer: Some(writer) }, records))
    }

    /// Appends a record. It is handed to the system at once, and to the disk within a tenth of a second.
    ///
    /// # Errors
    ///
    /// Where the file could not be written, now or before.
    pub fn append(&mut self, record: Record) -> io::Result<()> {
        match self.records.as_ref().map(|records| records.send(record)) {
            Some(Ok(())) => Ok(()),
            // The writer ends early where it fails.
            Some(Err(_)) => self.finish(),
            None => Err(io::Error::other("it is finished")),
        }
    }

    /// Waits until all records are on the disk, and closes the journal.
    ///
    /// # Errors
    ///
    /// Where the file could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.records = None;
        let written = self.writer.take().map(|writer| writer.join());
        written.map_or(Ok(()), |written| written.unwrap_or_else(|_| Err(io::Error::other("its writer panicked"))))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Who wants to know calls it.
        let _ = self.finish();
    }
}

/// Drops what is torn, and writes the header of a journal that has none.
fn begin(path: &Path, file: &mut File, end: u64, header: &Header) -> io::Result<()> {
    file.set_len(end)?;
    if end == 0 {
        let mut fields = Map::from_iter([(FORMAT.0.to_owned(), Value::from(FORMAT.1))]);
        fields.extend(header.0.clone());
        file.write_all(format!("{}\n", Value::Object(fields)).as_bytes())?;
    }
    file.sync_data()?;
    sync_folder_of(path)
}

/// Writes records until no more can come: each at once, so that it outlives this process, and now and then to the disk, so that it outlives a
/// loss of power.
#[expect(clippy::disallowed_methods, reason = "when the disk is waited for is no part of any result")]
fn write(file: &mut File, records: &Receiver<Record>) -> io::Result<()> {
    let mut unsynced_since: Option<Instant> = None;
    loop {
        let left = unsynced_since.map(|since| SYNC_PERIOD.saturating_sub(since.elapsed()));
        let record = match left {
            None => records.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Duration::ZERO) => Err(RecvTimeoutError::Timeout),
            Some(left) => records.recv_timeout(left),
        };
        match record {
            Ok(record) => {
                let mut line = with_check(serde_json::to_vec(&record)?);
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

/// The records, and where the last whole line ends.
fn read(path: &Path, file: &File, header: &Header) -> Result<(Vec<Record>, u64), ConfigError> {
    let mut lines = Lines { reader: BufReader::new(file), line: Vec::new(), number: 0, end: 0 };
    let failed = |error: io::Error| wrong(path, &format!("cannot be read: {error}"), "name another file or folder");
    if !lines.next().map_err(failed)? {
        // A journal killed at its birth has the beginning of a first line.
        let opening = format!("{{\"{}\":", FORMAT.0);
        let torn = opening.as_bytes().starts_with(&lines.line) || lines.line.starts_with(opening.as_bytes());
        return if torn { Ok((Vec::new(), 0)) } else { Err(not_a_journal(path)) };
    }
    let Ok(Value::Object(mut found)) = serde_json::from_slice(&lines.line) else {
        return Err(not_a_journal(path));
    };
    match found.shift_remove(FORMAT.0) {
        Some(version) if version == FORMAT.1 => {}
        Some(version) => {
            let message = format!("is a journal of format {version}, and this program has format {}", FORMAT.1);
            return Err(wrong(path, &message, "name another file or folder"));
        }
        None => return Err(not_a_journal(path)),
    }
    if let Some((name, difference)) = difference(&found, &header.0) {
        let message = format!("is the journal of another sweep: {difference}");
        let help = match PROGRAM.contains(&name) {
            true => "go on with the program that began it, or name another file or folder",
            false => "give the options that it began with, or name another file or folder",
        };
        return Err(wrong(path, &message, help));
    }
    let mut records = Vec::new();
    loop {
        let end = lines.end;
        if !lines.next().map_err(failed)? {
            return Ok((records, end));
        }
        match checked(&lines.line).and_then(|record| serde_json::from_slice(&record).ok()) {
            Some(record) => records.push(record),
            // Only what was written last can be torn.
            None if lines.is_last().map_err(failed)? => return Ok((records, end)),
            None => {
                let message = format!("line {} is no run: the file was altered", lines.number);
                return Err(wrong(path, &message, "remove that line, or name another file or folder"));
            }
        }
    }
}

/// A record, which ends with a brace, with its hash in it.
fn with_check(mut record: Vec<u8>) -> Vec<u8> {
    let hash = hash(&record);
    record.pop();
    record.extend(CHECK);
    record.extend(format!("{hash:016x}").bytes());
    record.extend(CHECKED);
    record
}

/// What [`with_check`] was given, if that is what became of it.
fn checked(line: &[u8]) -> Option<Vec<u8>> {
    let (record, digits) = line.strip_suffix(CHECKED)?.split_last_chunk::<16>()?;
    let mut record = record.strip_suffix(CHECK)?.to_vec();
    record.push(b'}');
    (format!("{:016x}", hash(&record)).as_bytes() == digits).then_some(record)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.bytes(bytes);
    digest.value()
}

fn not_a_journal(path: &Path) -> ConfigError {
    wrong(path, "is not the journal of a sweep", "name another file or folder")
}

/// Locks the file. A sweep that was killed may take a moment to be gone.
fn is_mine(file: &File) -> bool {
    let patience = std::iter::repeat_n(Duration::from_millis(20), 50);
    patience.into_iter().any(|pause| match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(pause);
            false
        }
        // A file system without locks: nothing to be done about it.
        Err(TryLockError::Error(_)) | Ok(()) => true,
    })
}

fn wrong(path: &Path, message: &str, help: &str) -> ConfigError {
    ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()))
}

/// Sees to it that a file that was just made is found after a loss of power, too.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not every file system can.
    let _ = File::open(folder)?.sync_all();
    Ok(())
}

/// Whole lines of a file.
struct Lines<R> {
    reader: R,
    /// The line, without its end. Where there was no whole one left: what there was.
    line: Vec<u8>,
    number: usize,
    /// Where the line ends in the file.
    end: u64,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line; `false` where no whole one is left.
    fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.number += 1;
        let bytes = self.reader.read_until(b'\n', &mut self.line)?;
        if self.line.pop_if(|last| *last == b'\n').is_none() {
            return Ok(false);
        }
        self.end += bytes as u64;
        Ok(true)
    }

    fn is_last(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }
}

/// The first field that differs between a journal's header and this sweep's.
fn difference<'a>(there: &'a Map<String, Value>, here: &'a Map<String, Value>) -> Option<(&'a str, String)> {
    let name = here.keys().chain(there.keys()).find(|name| there.get(*name) != here.get(*name))?;
    let text = |value: Option<&Value>| value.map_or("not given".to_owned(), |value| format!("`{value}`"));
    match (there.get(name), here.get(name)) {
        (Some(Value::Object(there)), Some(Value::Object(here))) => difference(there, here),
        (theirs, ours) => Some((name, format!("`{name}` is {} there and {} here", text(theirs), text(ours)))),
    }
}

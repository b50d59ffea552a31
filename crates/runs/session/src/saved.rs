//! Saved runs: files from which a run goes on, on any engine and with any number of threads.
//!
//! A file holds a run at a cut ([`parades_core::cut`]): at one virtual time, with everything before it
//! executed and nothing at it.
//!
//! | bytes | contents |
//! |---|---|
//! | [`MAGIC`] | the kind of the file, and the version of its form |
//! | 4 | the length of the head, as a number in little-endian order |
//! | length | the [`Head`], as JSON |
//! | any | the bytes of the cut, as a frame of LZ4 |
//! | 16 for each other part | the hash of the file of that part, as it stands at its end |
//! | 8, 16 | the length of the cut's bytes before compression, and their hash by XXH3 (128 bits) |
//! | 16 | the hash of everything before it |
//!
//! The bytes of a cut do not depend on the engine or threads that made it, so neither does their hash.
//!
//! *Parts.* Of a run of several processes, the file has the part of rank 0. The parts of the others are files
//! beside it ([`parts`]), of the same form with another kind and another head. Their names are those of the file,
//! the time, the rank and the hash. All parts together are read as one cut, which has the bytes of a cut that one
//! process makes once it is written again.
//!
//! *Replayed runs.* The states of some models cannot be written: processes as programs, protocols of other
//! crates. Their files have no bytes of a cut. Such a run goes on from its start, and at the time of the cut
//! its digest must be that of the head.

pub mod outputs;
mod parts;

use crate::branch::Branched;
use crate::recorded::RecordedInput;
use crate::result_file::{self, ResultFile};
use crate::run::Resumed;
use crate::{Failure, Request};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use outputs::{KeepOutputs, OutputsAtCut};
use parades_config::inputs::{self, Input};
use parades_config::quoted;
use parades_core::cut::{AtCut, AtRest, Cuts, Then};
use parades_core::time::{Delay, Time};
use parts::PartHead;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_128;

/// The first bytes of a saved run. A transfer as text would change the line's end.
pub const MAGIC: &[u8; 16] = b"parades save 1\r\n";
/// The length of the foot: length of the cut, its hash, and the hash of the file.
const FOOT_BYTES: usize = 8 + 16 + 16;
/// The longest head, in bytes. It has the scenario file, in which a network may be written out in full.
const HEAD_BYTES_MAX: usize = 1 << 28;
/// The longest file, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 40;

/// Facts on a saved run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of parades that saved it.
    pub version: String,
    /// The commit from which that program was built.
    pub commit: String,
    /// The scenario file whose run is the same, with seeds and end.
    pub scenario: String,
    /// The virtual time of the cut, in picoseconds.
    pub time_ps: u64,
    /// The number of events executed before it.
    pub events: u64,
    /// The number of logical processes.
    pub lps: u32,
    /// The digest of the run so far; `None` if digests were switched off.
    pub digest: Option<u64>,
    /// The reason why the run is replayed, if its states are not in the file.
    pub replayed: Option<String>,
    /// The engine that executed the run so far.
    pub engine: String,
    /// The files that the run read.
    pub inputs: Vec<RecordedInput>,
    /// The files of events that the run writes, and its folder of results.
    pub outputs: Option<OutputsAtCut>,
    /// The number of parts: of ranks that wrote one.
    pub ranks: u32,
    /// The beginning of the names of the other parts.
    pub stem: String,
    /// The names of the parts of the file that this one has replaced. They are removed once it is at its place.
    pub replaces: Vec<String>,
    /// The branches that led to this run, in the order of time.
    #[serde(default)]
    pub branches: Vec<Branched>,
}

impl Head {
    /// Returns the virtual time of the cut.
    pub fn time(&self) -> Time {
        Time::from_ps(self.time_ps)
    }

    /// Returns the names of the parts of the ranks from 1 on, given the hashes of their files.
    fn names_of_parts(&self, hashes: &[u128]) -> Vec<String> {
        let (stem, time) = (&self.stem, self.time());
        #[expect(clippy::cast_possible_truncation, reason = "a half of the hash tells files apart by their names")]
        let name = |(rank, hash): (u32, &u128)| format!("{stem}.{time}.{rank}.{:016x}", *hash as u64);
        (1..).zip(hashes).map(name).collect()
    }
}

/// A saved run, as it was read.
#[derive(Clone, Debug)]
pub struct Saved {
    pub(crate) path: PathBuf,
    /// Facts on the run.
    pub head: Head,
    /// The bytes of the cut. Empty if the run is replayed.
    pub(crate) cut: Vec<u8>,
    /// Notes for the user on the run that goes on, a sentence each.
    pub(crate) notes: Vec<String>,
    /// The hash of the file.
    pub(crate) file_hash: u128,
    /// True if the digest of the cut is known to be that of the head.
    pub(crate) is_checked: bool,
}

impl Saved {
    /// Reads a saved run. `bytes_max` bounds the bytes of its cut.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the file cannot be read, is no saved run, or is damaged.
    pub fn read(path: &Path, bytes_max: u64) -> Result<Saved, Failure> {
        let bytes = inputs::read_whole(path, FILE_BYTES_MAX).map_err(|error| inputs::unreadable(path, &error))?;
        let file_hash = XxHash3_128::oneshot(&bytes);
        let mut cut = Vec::new();
        let mut unpack = || {
            let (head, file) = Packed::of(&bytes, MAGIC)?;
            let head: Head = read_head(head)?;
            let hashes = file.hashes(&head)?;
            if head.replayed.is_none() {
                file.unpack(bytes_max, &mut cut)?;
            }
            Ok((head, hashes))
        };
        let (head, hashes) = unpack().map_err(|what: String| unusable(path, &what))?;
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        drop(bytes);
        for ((rank, name), hash) in (1..).zip(head.names_of_parts(&hashes)).zip(hashes) {
            let expected = PartHead { time_ps: head.time_ps, rank };
            read_part(path, &place.with_file_name(&name), &expected, hash, bytes_max, &mut cut)?;
        }
        Ok(Saved { path: path.to_owned(), head, cut, notes: Vec::new(), file_hash, is_checked: false })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the request that leads to the same run. Its scenario file is held, and need not be on disk.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if another version or commit saved the run.
    pub fn request(&self, version: &str, commit: &str) -> Result<Request, Failure> {
        let Head { version: theirs, commit: of, .. } = &self.head;
        if (theirs.as_str(), of.as_str()) != (version, commit) {
            let what =
                format!("was saved by version {theirs}, commit {of}, and this is version {version}, commit {commit}");
            return Err(Failure::usage(
                format!("{}: it {what}", self.path.display()),
                "resume it with the program that saved it",
            ));
        }
        let file = self.scenario_name();
        Ok(self.hold(&Request { digest: self.head.digest.is_some(), allows_idle: true, ..Request::of(file) }))
    }

    /// Holds the scenario file of the run, which need not be on disk. Returns the request, which names it.
    pub(crate) fn hold(&self, request: &Request) -> Request {
        inputs::hold([Input { path: self.scenario_file(), bytes: self.head.scenario.as_bytes().into() }]);
        request.clone()
    }

    /// Returns the path under which the scenario file of the run is held. There is no such file on disk.
    pub fn scenario_file(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone()).join("scenario.toml")
    }

    /// Returns the same path as a request names it.
    pub(crate) fn scenario_name(&self) -> String {
        self.scenario_file().display().to_string()
    }

    /// Returns the hash of the whole file, in hexadecimal digits. The file has the hashes of its parts.
    pub fn file_hash(&self) -> String {
        format!("{:032x}", self.file_hash)
    }

    /// Returns the record of the save in the results of the run that goes on from it.
    pub(crate) fn resumed(&self) -> Resumed {
        let file = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        Resumed { file, time: self.head.time() }
    }

    /// True if a path is that of this file, or of the scenario file that is held in its name.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        path.starts_with(self.resumed().file)
    }

    /// Returns a note on the files of events that the rest of the run writes.
    pub fn note_on_files(&self) -> String {
        let time = self.head.time();
        match self.head.replayed {
            None => format!("a trace, captures and samples begin at {time}, where the run goes on"),
            Some(_) => {
                format!("a trace begins at {time}, where the run goes on; captures and samples begin at its start")
            }
        }
    }

    /// Checks that the model which was made for this run is the one that was saved.
    pub(crate) fn check(&self, lps: u32, until: Time) -> Result<(), Failure> {
        // A run that went on from this file and was saved in it has read it as it was.
        let own = [self.scenario_file(), self.path.canonicalize().unwrap_or_else(|_| self.path.clone())];
        let seen = inputs::seen();
        let changed = self
            .head
            .inputs
            .iter()
            .filter(|input| !own.contains(&input.path))
            .find(|input| seen.iter().any(|seen| seen.path == input.path && seen.hash != input.hash));
        let wrong = |what: String, help: &str| Failure::usage(format!("{}: {what}", self.path.display()), help);
        if let Some(input) = changed {
            let what = format!("the file {} has changed since the run was saved", input.path.display());
            return Err(wrong(what, "restore the file, or start the run again"));
        }
        if until < self.head.time() {
            let what = format!("the run was saved at {}, and `--until` is {until}", self.head.time());
            return Err(wrong(what, "give a later end"));
        }
        if lps != self.head.lps {
            let what = format!("the run has {} logical processes, and its scenario has {lps}", self.head.lps);
            return Err(wrong(what, "start the run again"));
        }
        Ok(())
    }

    /// Returns the failure of a run that did not become the one that was saved.
    pub(crate) fn differs(&self) -> Failure {
        let how = if self.head.replayed.is_some() { "was executed again" } else { "was read" };
        Failure::simulation(format!(
            "{}: at {} the run that {how} does not have the digest of the run that was saved; \
             the program has changed since, the file was altered, or something outside the model influences it \
             (`compare` finds out)",
            self.path.display(),
            self.head.time()
        ))
    }

    /// Returns the error of bytes that the model does not understand.
    pub fn malformed(&self, what: &str) -> Failure {
        unusable(&self.path, what)
    }
}

fn unusable(path: &Path, what: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be resumed: {what}", path.display()),
        "use a file that `--save` wrote, or start again",
    )
}

/// Appends the bytes of a part to `cut`. `path` is the file of the run, `part` that of the part, and `hash` the
/// hash that it must have.
fn read_part(
    path: &Path,
    part: &Path,
    expected: &PartHead,
    hash: u128,
    bytes_max: u64,
    cut: &mut Vec<u8>,
) -> Result<(), Failure> {
    let name = part.file_name().unwrap_or_default().display();
    let bytes = inputs::read_whole(part, FILE_BYTES_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(
            format!("{}: its part {name}, which rank {} wrote, is not beside it", path.display(), expected.rank),
            "copy it there, from the machine of that rank, or start the run again",
        ),
        _ => inputs::unreadable(part, &error).into(),
    })?;
    let mut unpack = || {
        let (head, file) = Packed::of(&bytes, parts::MAGIC)?;
        if read_head::<PartHead>(head)? != *expected || bytes[bytes.len() - 16..] != hash.to_le_bytes() {
            return Err("it is a part of another run".into());
        }
        file.unpack(bytes_max, cut)
    };
    unpack().map_err(|what: String| unusable(&path.with_file_name(name.to_string()), &what))
}

fn read_head<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("its head is wrong: {error}"))
}

/// A file without its kind, its head and its last hash.
struct Packed<'a> {
    /// The compressed part, and the hashes of other parts.
    body: &'a [u8],
    /// The length and the hash of the cut.
    foot: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Returns the head of a file, and the rest; or the fault of the file.
    fn of(bytes: &'a [u8], magic: &[u8]) -> Result<(&'a [u8], Packed<'a>), String> {
        let rest = bytes.strip_prefix(magic).ok_or("it is no saved run of this version")?;
        let (rest, foot) = rest.split_last_chunk::<FOOT_BYTES>().ok_or("it ends too early")?;
        let (whole, hash) = bytes.split_at(bytes.len() - 16);
        if XxHash3_128::oneshot(whole).to_le_bytes() != hash {
            return Err("it is damaged, or not whole".into());
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or("it ends too early")?;
        let length = u32::from_le_bytes(*length) as usize;
        let (head, body) = rest.split_at_checked(length).ok_or("its head is longer than the file")?;
        Ok((head, Packed { body, foot: &foot[..FOOT_BYTES - 16] }))
    }

    /// Returns the hashes of the other parts, which stand at the end of the body.
    fn hashes(&self, head: &Head) -> Result<Vec<u128>, String> {
        let others = (head.ranks as usize).saturating_sub(1);
        let begin = self.body.len().checked_sub(others.saturating_mul(16)).ok_or("it ends too early")?;
        let (hashes, _) = self.body[begin..].as_chunks::<16>();
        Ok(hashes.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect())
    }

    /// Appends the bytes of the cut to `cut`, which then has at most `bytes_max` bytes.
    fn unpack(&self, bytes_max: u64, cut: &mut Vec<u8>) -> Result<(), String> {
        let (length, hash) = self.foot.split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("these are eight bytes"));
        let (begin, needed) = (cut.len(), (cut.len() as u64).saturating_add(length));
        if needed > bytes_max {
            return Err(format!("it needs {needed} bytes of memory, above the limit of {bytes_max}"));
        }
        let read = FrameDecoder::new(self.body).take(length + 1).read_to_end(cut);
        read.map_err(|error| format!("its compressed part is wrong: {error}"))?;
        if cut.len() as u64 != needed || XxHash3_128::oneshot(&cut[begin..]).to_le_bytes() != hash {
            return Err("its compressed part is not what was saved".into());
        }
        Ok(())
    }
}

/// Returns the names of the parts of the saved run at `place`, and of those that it has replaced and that are
/// still there. None if there is no saved run.
fn parts_at(place: &Path) -> Vec<String> {
    // A pipe would wait for a writer.
    if !std::fs::metadata(place).is_ok_and(|found| found.is_file()) {
        return Vec::new();
    }
    let names = || {
        let mut file = File::open(place)?;
        let mut begin = [0; 20];
        file.read_exact(&mut begin)?;
        let (magic, length) = begin.split_at(16);
        let length = u32::from_le_bytes(length.try_into().expect("these are four bytes")) as usize;
        if magic != MAGIC || length > HEAD_BYTES_MAX {
            return Ok(Vec::new());
        }
        let mut head = vec![0; length];
        file.read_exact(&mut head)?;
        let head: Head = serde_json::from_slice(&head)?;
        let mut hashes = vec![0; 16 * (head.ranks as usize).saturating_sub(1)];
        file.seek(SeekFrom::End(-i64::try_from(hashes.len() + FOOT_BYTES).unwrap_or(i64::MAX)))?;
        file.read_exact(&mut hashes)?;
        let hashes: Vec<u128> = hashes.as_chunks::<16>().0.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect();
        let is_there = |name: &&String| place.with_file_name(name).exists();
        let left = head.replaces.iter().filter(is_there).cloned();
        Ok(head.names_of_parts(&hashes).into_iter().chain(left).collect())
    };
    names().unwrap_or_else(|_: io::Error| Vec::new())
}

/// Adds everything that is written to a hash.
struct Hashing<W> {
    to: W,
    hash: XxHash3_128,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A file that is being written, of which the foot is missing.
struct Writing<W> {
    to: Hashing<W>,
    /// The length and the hash of the cut.
    cut: (u64, u128),
}

impl<W: Write> Writing<W> {
    /// Writes the kind, the head, and this rank's part of a run at rest, if there is one to write.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    fn begin(magic: &[u8], head: &impl Serialize, run: Option<&mut AtRest<'_, '_>>, to: W) -> io::Result<Writing<W>> {
        let mut to = Hashing { to, hash: XxHash3_128::new() };
        let text = serde_json::to_vec(head).map_err(io::Error::other)?;
        let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= HEAD_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the scenario file is too long"))?;
        to.write_all(magic)?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&text)?;
        let (mut bytes, mut hash) = (0, XxHash3_128::new());
        if let Some(run) = run {
            let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max4MB);
            let mut frame = FrameEncoder::with_frame_info(info, &mut to);
            let mut written = Ok(());
            run.write_in_pieces(&mut |piece| {
                if written.is_ok() {
                    bytes += piece.len() as u64;
                    hash.write(piece);
                    written = frame.write_all(piece);
                }
            });
            written?;
            frame.finish().map_err(io::Error::from)?;
        }
        Ok(Writing { to, cut: (bytes, hash.finish_128()) })
    }

    /// Writes the foot, with the hashes of the other parts. Returns the hash of the file.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    fn finish(self, parts: &[u128]) -> io::Result<(W, u128)> {
        let Writing { mut to, cut: (bytes, hash) } = self;
        parts.iter().try_for_each(|part| to.write_all(&part.to_le_bytes()))?;
        to.write_all(&bytes.to_le_bytes())?;
        to.write_all(&hash.to_le_bytes())?;
        let whole = to.hash.finish_128();
        to.to.write_all(&whole.to_le_bytes())?;
        Ok((to.to, whole))
    }
}

/// The user's wish for saved runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saving {
    /// The file.
    pub file: PathBuf,
    /// The version of parades, which alone can resume the run.
    pub version: &'static str,
    /// The commit from which this program was built.
    pub commit: &'static str,
    /// True if the run is saved at its end, or where it is stopped.
    pub at_end: bool,
    /// The wall time after which the run is saved each time.
    pub every: Option<std::time::Duration>,
    /// The virtual time after which the run is saved each time.
    pub every_virtual: Option<Delay>,
}

/// What the cuts of a run have found out.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The time of the last save.
    pub(crate) saved: Option<Time>,
    /// True if the run is not the one that was saved.
    pub(crate) differs: bool,
}

/// Saves a run at its cuts; and, of a run that goes on from a file, checks the digest first.
pub(crate) struct Saver<'a> {
    /// The user's wish, and the head of the files; it gets time, events and digest from each cut.
    pub(crate) saving: Option<(Saving, Head)>,
    /// The files of events that the run writes. Rank 0 has them.
    pub(crate) outputs: Option<&'a dyn KeepOutputs>,
    /// The end of the run.
    pub(crate) until: Time,
    /// The time and the digest of the run that is gone on with, until they are checked.
    pub(crate) resumed: Option<(Time, Option<u64>)>,
    pub(crate) found: Arc<Mutex<Found>>,
}

pub(crate) fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cuts of a run, as rank 0 tells the other ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The file, whether the run is saved at its end, the virtual time of each save, and the head.
    saving: Option<(PathBuf, bool, Option<Delay>, Head)>,
    until: Time,
    resumed: Option<(Time, Option<u64>)>,
}

impl Told {
    /// Returns the cuts of a rank that was told of them.
    pub(crate) fn into_cuts(self) -> Cuts<'static> {
        let saving = self.saving.map(|(file, at_end, every_virtual, head)| {
            (Saving { file, version: "", commit: "", at_end, every: None, every_virtual }, head)
        });
        let Told { until, resumed, .. } = self;
        Saver { saving, outputs: None, until, resumed, found: Arc::default() }.into_cuts()
    }

    /// True if the run is saved.
    pub(crate) fn saves(&self) -> bool {
        self.saving.is_some()
    }
}

impl<'a> Saver<'a> {
    /// Returns what the other ranks must be told.
    pub(crate) fn told(&self) -> Told {
        let saving = self.saving.as_ref().map(|(saving, head)| {
            let Saving { file, at_end, every_virtual, .. } = saving;
            // Rank 0 alone writes the head.
            let Head { digest, replayed, .. } = head.clone();
            (file.clone(), *at_end, *every_virtual, Head { digest, replayed, ..Head::default() })
        });
        Told { saving, until: self.until, resumed: self.resumed }
    }

    /// Returns the cuts at which the run is saved and checked.
    pub(crate) fn into_cuts(self) -> Cuts<'a> {
        let begin = self.resumed.map(|(time, _)| time);
        let next = begin.unwrap_or_else(|| self.next_after(Time::ZERO));
        Cuts { next, at_end: self.saving.as_ref().is_some_and(|(saving, _)| saving.at_end), act: Box::new(self) }
    }

    /// Returns the first time after `time` at which the user wants a cut.
    fn next_after(&self, time: Time) -> Time {
        let every = self.saving.as_ref().and_then(|(saving, _)| saving.every_virtual).map_or(0, Delay::as_ps);
        let cuts_before = time.as_ps().checked_div(every);
        cuts_before.and_then(|cuts| (cuts + 1).checked_mul(every)).map_or(Time::MAX, Time::from_ps)
    }
}

impl AtCut for Saver<'_> {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        if let Some((time, digest)) = self.resumed.take() {
            if digest.is_some_and(|digest| digest != run.digest()) {
                lock(&self.found).differs = true;
                return Then::End;
            }
            if time < self.until {
                return Then::Continue(self.next_after(time));
            }
        }
        if let Some((saving, head)) = &mut self.saving {
            (head.time_ps, head.events) = (run.time.as_ps(), run.events);
            head.digest = head.digest.map(|_| run.digest());
            let saved = parts::save(&saving.file, self.outputs, head, run);
            let mut found = lock(&self.found);
            match saved {
                Ok(()) => found.saved = Some(run.time),
                Err(why) => found.notes.push(format!("the run could not be saved at {}: {why}", run.time)),
            }
        }
        Then::Continue(self.next_after(run.time))
    }
}

/// Checks a wish for saved runs before the run: the file can be written, and the model can be saved at all.
/// Returns a note if the run will be replayed.
pub(crate) fn check(saving: &Saving, why_not_saved: Option<&str>, ranks: u64) -> Result<Option<String>, Failure> {
    drop(ResultFile::create(&saving.file)?);
    if ranks > 1 && result_file::file_at(&saving.file).is_none() {
        let message =
            format!("{} is no file, and a run of several processes is saved into files", saving.file.display());
        return Err(Failure::usage(message, "name a file"));
    }
    Ok(why_not_saved.map(|why| {
        format!(
            "{} will have no states, since {why}: `resume` executes the run again to the time at which it was saved",
            quoted(&saving.file.display().to_string())
        )
    }))
}

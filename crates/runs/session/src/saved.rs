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
//! | 16 | the seal |
//! | 16 | the hash of everything before it |
//!
//! The bytes of a cut do not depend on the engine or threads that made it, so neither does their hash.
//!
//! *Parts.* Of a run of several processes, the file has the part of rank 0. The parts of the others are files
//! beside it (`saved/parts.rs`), of the same form with another kind and another head. Their names are those of the
//! file, the time, the rank and the hash. All parts together are read as one cut, which has the bytes of a
//! cut that one process makes once it is written again.
//!
//! *The seal* is the hash of the head and of the cut's bytes. The other hashes find accidents; the seal also
//! binds the facts of the head, such as scenario and seeds, to the states. When a run of one process goes on,
//! its cut is written again, and must have the hash of the file: so a state that was read is what was saved.
//!
//! *Replayed runs.* The states of some models cannot be written: processes as programs, protocols of other
//! crates. Their files have no bytes of a cut. Such a run goes on from its start, and at the time of the cut
//! its digest must be that of the head.

pub mod outputs;
mod parts;

use crate::branch::Branched;
use crate::condition::Condition;
use crate::recorded::RecordedInput;
use crate::request::quote;
use crate::result_file::{self, ResultFile};
use crate::run::Resumed;
use crate::{Failure, Plan, Request};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use outputs::{KeepOutputs, OutputsAtCut};
use parades_catalog::program_name;
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
/// The length of the foot: length of the cut, its hash, the seal, and the hash of the file.
const FOOT_BYTES: usize = 8 + 16 + 16 + 16;
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
    /// The names of the parts of the file that this one has replaced. They are removed once it is at its
    /// place.
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
    /// The hash of the cut's bytes. `None` if the run is replayed, or was saved in several parts.
    pub(crate) cut_hash: Option<u128>,
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
            let hash = if head.replayed.is_none() { Some(file.unpack(bytes_max, &mut cut)?) } else { None };
            file.check_seal(&cut)?;
            Ok((head, hashes, hash))
        };
        let (head, hashes, hash) = unpack().map_err(|what: String| unusable(path, &what))?;
        let cut_hash = hash.filter(|_| hashes.is_empty());
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        drop(bytes);
        for ((rank, name), hash) in (1..).zip(head.names_of_parts(&hashes)).zip(hashes) {
            let expected = PartHead { time_ps: head.time_ps, rank };
            read_part(path, &place.with_file_name(&name), &expected, hash, bytes_max, &mut cut)?;
        }
        Ok(Saved { path: path.to_owned(), head, cut, notes: Vec::new(), cut_hash, file_hash, is_checked: false })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes of the cut. There are none if the run is replayed.
    pub fn cut(&self) -> &[u8] {
        &self.cut
    }

    /// Returns the hash of the cut's bytes, which is the same whoever made the cut; `None` if the run is
    /// replayed, or was saved in several parts.
    pub fn cut_hash(&self) -> Option<u128> {
        self.cut_hash
    }

    /// Returns what the run must be at the cut.
    pub(crate) fn expected(&self) -> Expected {
        Expected { time: self.head.time(), digest: self.head.digest, hash: self.cut_hash }
    }

    /// Returns the command that goes on with this run by `plan`.
    pub(crate) fn command(&self, plan: &Plan) -> String {
        let file = quote(&self.path.display().to_string());
        let until = plan.request.until.map_or_else(String::new, |until| format!(" --until {until}"));
        format!("{} resume {file}{until} --engine {}", program_name(), plan.engine())
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
            "{}: at {} the run that {how} is not the run that was saved; \
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

/// Appends the bytes of a part to `cut`. `path` is the file of the run, `part` that of the part, and `hash`
/// the hash that it must have.
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
        let begin = cut.len();
        file.unpack(bytes_max, cut)?;
        file.check_seal(&cut[begin..])
    };
    unpack().map_err(|what: String| unusable(&path.with_file_name(name.to_string()), &what))
}

fn read_head<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("its head is wrong: {error}"))
}

/// A file without its kind and its last hash.
struct Packed<'a> {
    head: &'a [u8],
    /// The compressed part, and the hashes of other parts.
    body: &'a [u8],
    /// The length and the hash of the cut, and the seal.
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
        Ok((head, Packed { head, body, foot: &foot[..FOOT_BYTES - 16] }))
    }

    /// Returns the hashes of the other parts, which stand at the end of the body.
    fn hashes(&self, head: &Head) -> Result<Vec<u128>, String> {
        let others = (head.ranks as usize).saturating_sub(1);
        let begin = self.body.len().checked_sub(others.saturating_mul(16)).ok_or("it ends too early")?;
        let (hashes, _) = self.body[begin..].as_chunks::<16>();
        Ok(hashes.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect())
    }

    /// Checks that head and cut belong together.
    fn check_seal(&self, cut: &[u8]) -> Result<(), String> {
        let mut seal = XxHash3_128::new();
        seal.write(self.head);
        seal.write(cut);
        match seal.finish_128().to_le_bytes() == self.foot[24..] {
            true => Ok(()),
            false => Err("it was changed after it was saved: its seal is not that of its head and its states".into()),
        }
    }

    /// Appends the bytes of the cut to `cut`, which then has at most `bytes_max` bytes. Returns their hash.
    fn unpack(&self, bytes_max: u64, cut: &mut Vec<u8>) -> Result<u128, String> {
        let (length, hash) = self.foot[..24].split_at(8);
        let length = u64::from_le_bytes(length.try_into().expect("these are eight bytes"));
        let (begin, needed) = (cut.len(), (cut.len() as u64).saturating_add(length));
        if needed > bytes_max {
            return Err(format!("it needs {needed} bytes of memory, above the limit of {bytes_max}"));
        }
        let read = FrameDecoder::new(self.body).take(length + 1).read_to_end(cut);
        read.map_err(|error| format!("its compressed part is wrong: {error}"))?;
        let found = XxHash3_128::oneshot(&cut[begin..]);
        if cut.len() as u64 != needed || found.to_le_bytes() != hash {
            return Err("its compressed part is not what was saved".into());
        }
        Ok(found)
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

/// A function that passes the bytes of a cut to another one, in pieces.
type Pieces<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Returns the hash of the bytes of a run's cut, as the file has it.
///
/// # Panics
///
/// If the model's runs cannot be saved.
pub fn hash_of(run: &mut AtRest<'_, '_>) -> u128 {
    let mut hash = XxHash3_128::new();
    run.write_in_pieces(&mut |piece| hash.write(piece));
    hash.finish_128()
}

/// Writes a run of one process. `cut` passes on the bytes of its cut; a replayed run has none.
///
/// # Errors
///
/// Those of `to`.
pub fn write(head: &Head, cut: &mut Pieces<'_>, to: impl Write) -> io::Result<()> {
    let cut = head.replayed.is_none().then_some(cut);
    Writing::begin(MAGIC, head, cut, to)?.finish(&[]).map(drop)
}

/// A file that is being written, of which the foot is missing.
struct Writing<W> {
    to: Hashing<W>,
    /// The length and the hash of the cut.
    cut: (u64, u128),
    seal: u128,
}

impl<W: Write> Writing<W> {
    /// Writes the kind, the head, and the bytes of a part of a cut, if there is one.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    fn begin(magic: &[u8], head: &impl Serialize, cut: Option<&mut Pieces<'_>>, to: W) -> io::Result<Writing<W>> {
        let mut to = Hashing { to, hash: XxHash3_128::new() };
        let text = serde_json::to_vec(head).map_err(io::Error::other)?;
        let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= HEAD_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the scenario file is too long"))?;
        to.write_all(magic)?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&text)?;
        let (mut bytes, mut hash, mut seal) = (0, XxHash3_128::new(), XxHash3_128::new());
        seal.write(&text);
        if let Some(cut) = cut {
            let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max4MB);
            let mut frame = FrameEncoder::with_frame_info(info, &mut to);
            let mut written = Ok(());
            cut(&mut |piece| {
                if written.is_ok() {
                    bytes += piece.len() as u64;
                    hash.write(piece);
                    seal.write(piece);
                    written = frame.write_all(piece);
                }
            });
            written?;
            frame.finish().map_err(io::Error::from)?;
        }
        Ok(Writing { to, cut: (bytes, hash.finish_128()), seal: seal.finish_128() })
    }

    /// Writes the foot, with the hashes of the other parts. Returns the hash of the file.
    ///
    /// # Errors
    ///
    /// Those of `to`.
    fn finish(self, parts: &[u128]) -> io::Result<(W, u128)> {
        let Writing { mut to, cut: (bytes, hash), seal } = self;
        parts.iter().try_for_each(|part| to.write_all(&part.to_le_bytes()))?;
        to.write_all(&bytes.to_le_bytes())?;
        to.write_all(&hash.to_le_bytes())?;
        to.write_all(&seal.to_le_bytes())?;
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
    /// A condition on a metric ([`Condition::of`]). From the first cut on at which it is true, the file stays
    /// as it is: it has the run before that.
    pub when: Option<String>,
    /// True if the file stays as it is where the run fails: also where the memory limit ends the run, and
    /// where the model says that its results are incomplete.
    pub before_failure: bool,
}

impl Saving {
    /// Checks that a wish to keep the last of several saves comes with several saves.
    pub(crate) fn check_period(&self) -> Result<(), Failure> {
        if self.keeps_earlier() && self.every.is_none() && self.every_virtual.is_none() {
            let option = if self.when.is_some() { "--save-when" } else { "--save-before-failure" };
            let message = format!("`{option}` keeps the last of several saves, and the run is saved once");
            return Err(Failure::usage(message, "add `--save-every-virtual T` or `--save-every T`"));
        }
        Ok(())
    }

    /// Returns true if the last save before something happens may be kept.
    fn keeps_earlier(&self) -> bool {
        self.when.is_some() || self.before_failure
    }

    /// Returns a sentence on the save that is left where the run has failed, if there is anything to say.
    pub(crate) fn left(&self, found: &Found) -> Option<String> {
        let file = quote(&self.file.display().to_string());
        match found.saved {
            Some(time) => Some(format!("it is saved at {time}: `{} resume {file}` goes on from there", program_name())),
            None => self.before_failure.then(|| "it failed before it was saved".to_owned()),
        }
    }
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
    /// True if the memory limit ends the run.
    pub(crate) is_out_of_memory: bool,
    /// The time from which on the last save is kept, and the reason why, as the beginning of a sentence.
    pub(crate) kept: Option<(Time, String)>,
}

/// What a run that goes on must be at its cut.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Expected {
    pub(crate) time: Time,
    digest: Option<u64>,
    /// The hash of the cut's bytes. Only a run of one process has it.
    hash: Option<u128>,
}

impl Expected {
    /// Returns true if a run at rest is the one that was saved: it has the same digest, and its cut has the
    /// same bytes.
    fn is(&self, run: &mut AtRest<'_, '_>) -> bool {
        let is_whole = run.ranks() == 1;
        self.digest.is_none_or(|digest| digest == run.digest())
            && self.hash.filter(|_| is_whole).is_none_or(|hash| hash == hash_of(run))
    }
}

/// Saves a run at its cuts; and, of a run that goes on from a file, checks the digest first.
pub(crate) struct Saver<'a> {
    /// The user's wish, and the head of the files; it gets time, events and digest from each cut.
    pub(crate) saving: Option<(Saving, Head)>,
    /// The files of events that the run writes. Rank 0 has them.
    pub(crate) outputs: Option<&'a dyn KeepOutputs>,
    /// The end of the run.
    pub(crate) until: Time,
    /// What the run that goes on must be, until that is checked.
    pub(crate) resumed: Option<Expected>,
    /// The condition of the wish. Rank 0 has it.
    pub(crate) condition: Option<Condition>,
    pub(crate) found: Arc<Mutex<Found>>,
}

pub(crate) fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cuts of a run, as rank 0 tells the other ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    saving: Option<ToldSaving>,
    until: Time,
    resumed: Option<Expected>,
}

/// The user's wish for saved runs, as far as the other ranks must know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ToldSaving {
    file: PathBuf,
    at_end: bool,
    every_virtual: Option<Delay>,
    when: Option<String>,
    before_failure: bool,
    head: Head,
}

impl Told {
    /// Returns the cuts of a rank that was told of them.
    pub(crate) fn into_cuts(self) -> Cuts<'static> {
        let saving = self.saving.map(|told| {
            let ToldSaving { file, at_end, every_virtual, when, before_failure, head } = told;
            (Saving { file, version: "", commit: "", at_end, every: None, every_virtual, when, before_failure }, head)
        });
        let Told { until, resumed, .. } = self;
        Saver { saving, outputs: None, until, resumed, condition: None, found: Arc::default() }.into_cuts()
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
            let Saving { file, at_end, every_virtual, when, before_failure, .. } = saving.clone();
            // Rank 0 alone writes the head.
            let Head { digest, replayed, .. } = head.clone();
            let head = Head { digest, replayed, ..Head::default() };
            ToldSaving { file, at_end, every_virtual, when, before_failure, head }
        });
        Told { saving, until: self.until, resumed: self.resumed }
    }

    /// Returns the cuts at which the run is saved and checked.
    pub(crate) fn into_cuts(self) -> Cuts<'a> {
        let begin = self.resumed.map(|expected| expected.time);
        let next = begin.unwrap_or_else(|| self.next_after(Time::ZERO));
        Cuts { next, at_end: self.saving.as_ref().is_some_and(|(saving, _)| saving.at_end), act: Box::new(self) }
    }

    /// Returns the first time after `time` at which the user wants a cut.
    fn next_after(&self, time: Time) -> Time {
        let every = self.saving.as_ref().and_then(|(saving, _)| saving.every_virtual).map_or(0, Delay::as_ps);
        let cuts_before = time.as_ps().checked_div(every);
        cuts_before.and_then(|cuts| (cuts + 1).checked_mul(every)).map_or(Time::MAX, Time::from_ps)
    }

    /// Returns true if the last save is kept, from this cut on or from an earlier one. All ranks agree.
    fn keeps(&self, run: &mut AtRest<'_, '_>) -> bool {
        let Some((saving, _)) = self.saving.as_ref().filter(|(saving, _)| saving.keeps_earlier()) else { return false };
        if lock(&self.found).kept.is_none() {
            let if_ended = saving.when.is_some().then(|| run.metrics_if_ended());
            let so_far = saving.before_failure.then(|| run.all_metrics());
            let true_condition =
                self.condition.as_ref().zip(if_ended).filter(|(condition, metrics)| condition.holds(metrics));
            let is_out_of_memory = lock(&self.found).is_out_of_memory;
            let why = match (true_condition, so_far) {
                (Some((condition, _)), _) => Some(format!("`{condition}` is true")),
                (None, Some(_)) if is_out_of_memory => Some("the memory limit is reached".to_owned()),
                (None, Some(metrics)) => metrics.incomplete().map(|_| "the results are incomplete".to_owned()),
                (None, None) => None,
            };
            // One rank's reason is that of all.
            let all = parts::agree(run, Ok(&why)).unwrap_or_default();
            lock(&self.found).kept = all.into_iter().flatten().next().map(|why| (run.time, why));
        }
        lock(&self.found).kept.is_some()
    }
}

impl AtCut for Saver<'_> {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        if let Some(expected) = self.resumed.take() {
            if !expected.is(run) {
                lock(&self.found).differs = true;
                return Then::End;
            }
            if expected.time < self.until {
                self.keeps(run);
                return Then::Continue(self.next_after(expected.time));
            }
        }
        if !self.keeps(run)
            && let Some((saving, head)) = &mut self.saving
        {
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

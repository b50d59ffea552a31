//! Saved runs: files from which a run goes on, on any engine and with any number of threads.
//!
//! A file holds a run at a cut ([`parades_core::cut`]): at one virtual time, with everything before it
//! executed and nothing at it.
//!
//! | bytes | contents |
//! |---|---|
//! | [`MAGIC`] | the kind of the file, and the version of its form |
//! | 4 | the length of the head, as a number in little-endian order |
//! | length | the [`Head`], as JSON, with the seal |
//! | any | the bytes of the cut, as a frame of LZ4 |
//! | 8, 16 | the length of the cut's bytes before compression, and their hash by XXH3 (128 bits) |
//! | 16 | the hash of everything before it |
//!
//! The bytes of a cut do not depend on the engine, threads or processes that made it, so neither does their
//! hash.
//!
//! *The seal* is the hash of the rest of the head and of the cut's bytes. The other hashes find accidents; the
//! seal also binds the facts of the head, such as scenario and seeds, to the states. When a run goes on, its
//! cut is written again, and must have the hash of the file: so a state that was read is what was saved.
//!
//! *Replayed runs.* The states of some models cannot be written: processes as programs, protocols of other
//! crates. Their files have no bytes of a cut. Such a run goes on from its start, and at the time of the cut
//! its digest must be that of the head.

use crate::condition::Condition;
use crate::recorded::RecordedInput;
use crate::request::quote;
use crate::result_file::{self, ResultFile};
use crate::{Failure, Plan, Request};
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use parades_catalog::program_name;
use parades_config::inputs::{self, Input};
use parades_config::quoted;
use parades_core::cut::{AtCut, AtRest, Cuts, Then};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The hash of the other fields and of the bytes of the cut, by XXH3 (128 bits), in hexadecimal digits.
    pub seal: String,
}

impl Head {
    /// Returns the virtual time of the cut.
    pub fn time(&self) -> Time {
        Time::from_ps(self.time_ps)
    }
}

/// A saved run, as it was read.
#[derive(Clone, Debug)]
pub struct Saved {
    path: PathBuf,
    /// Facts on the run.
    pub head: Head,
    /// The bytes of the cut. Empty if the run is replayed.
    pub(crate) cut: Vec<u8>,
    /// The hash of these bytes; `None` if the run is replayed.
    pub(crate) hash: Option<u128>,
}

impl Saved {
    /// Reads a saved run. `bytes_max` bounds the bytes of its cut.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the file cannot be read, is no saved run, or is damaged.
    pub fn read(path: &Path, bytes_max: u64) -> Result<Saved, Failure> {
        let bytes = inputs::read_whole(path, FILE_BYTES_MAX).map_err(|error| inputs::unreadable(path, &error))?;
        let (mut head, cut, hash) = parse(&bytes, bytes_max).map_err(|what| unusable(path, &what))?;
        let found = std::mem::take(&mut head.seal);
        head.seal = seal(&mut head, &mut |sink| sink(&cut)).map_err(|error| unusable(path, &error.to_string()))?;
        if found != head.seal {
            return Err(unusable(
                path,
                "it was changed after it was saved: its seal is not that of its head and its states",
            ));
        }
        Ok(Saved { path: path.to_owned(), head, cut, hash })
    }

    /// Returns the bytes of the cut. There are none if the run is replayed.
    pub fn cut(&self) -> &[u8] {
        &self.cut
    }

    /// Returns the hash of the cut's bytes, which is the same whoever made the cut; `None` if the run is
    /// replayed.
    pub fn hash(&self) -> Option<u128> {
        self.hash
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
        let file = self.place().join("scenario.toml");
        inputs::hold([Input { path: file.clone(), bytes: self.head.scenario.as_bytes().into() }]);
        let digest = self.head.digest.is_some();
        Ok(Request { digest, allows_idle: true, ..Request::of(file.display().to_string()) })
    }

    /// Returns the command that goes on with this run by `plan`.
    pub(crate) fn command(&self, plan: &Plan) -> String {
        let file = quote(&self.path.display().to_string());
        let until = plan.request.until.map_or_else(String::new, |until| format!(" --until {until}"));
        format!("{} resume {file}{until} --engine {}", program_name(), plan.engine())
    }

    fn place(&self) -> PathBuf {
        std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    /// Returns true if a file that was read is this one, or the scenario in it. Neither is an input of the
    /// run: the next save may go to the same place.
    pub(crate) fn has(&self, file: &Path) -> bool {
        [Some(self.place()), self.path.canonicalize().ok()].iter().flatten().any(|place| file.starts_with(place))
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
        let seen = inputs::seen();
        let changed = self
            .head
            .inputs
            .iter()
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

    /// Returns true if a run at rest is the one that was saved: it has the same digest, and its cut has the
    /// same bytes.
    fn is_same(&self, run: &mut AtRest<'_, '_>) -> bool {
        self.head.digest.is_none_or(|digest| digest == run.digest())
            && self.hash.is_none_or(|hash| hash == hash_of(run))
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
    pub(crate) fn malformed(&self, what: &str) -> Failure {
        unusable(&self.path, what)
    }
}

fn unusable(path: &Path, what: &str) -> Failure {
    Failure::usage(
        format!("{} cannot be resumed: {what}", path.display()),
        "use a file that `--save` wrote, or start again",
    )
}

/// Returns the head of a file, the bytes of the cut and their hash, or the fault of the file.
fn parse(bytes: &[u8], bytes_max: u64) -> Result<(Head, Vec<u8>, Option<u128>), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no saved run of this version")?;
    let (rest, foot) = rest.split_last_chunk::<FOOT_BYTES>().ok_or("it ends too early")?;
    let (whole, hash) = bytes.split_at(bytes.len() - 16);
    if XxHash3_128::oneshot(whole).to_le_bytes() != hash {
        return Err("it is damaged, or not whole".into());
    }
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("it ends too early")?;
    let length = u32::from_le_bytes(*length) as usize;
    let (head, frame) = rest.split_at_checked(length).ok_or("its head is longer than the file")?;
    let head: Head = serde_json::from_slice(head).map_err(|error| format!("its head is wrong: {error}"))?;
    let cut_bytes = u64::from_le_bytes(foot[..8].try_into().expect("these are eight bytes"));
    if head.replayed.is_some() {
        return Ok((head, Vec::new(), None));
    }
    if cut_bytes > bytes_max {
        return Err(format!("it needs {cut_bytes} bytes of memory, above the limit of {bytes_max}"));
    }
    let mut cut = Vec::new();
    let read = FrameDecoder::new(frame).take(cut_bytes + 1).read_to_end(&mut cut);
    read.map_err(|error| format!("its compressed part is wrong: {error}"))?;
    let hash = XxHash3_128::oneshot(&cut);
    if cut.len() as u64 != cut_bytes || hash.to_le_bytes() != foot[8..24] {
        return Err("its compressed part is not what was saved".into());
    }
    Ok((head, cut, Some(hash)))
}

/// A function that passes the bytes of a cut to another one, in pieces.
type Pieces<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Returns the seal of a head and a cut. The head's own is left empty.
fn seal(head: &mut Head, cut: &mut Pieces<'_>) -> io::Result<String> {
    head.seal.clear();
    let mut to = Hashing { to: io::sink(), hash: XxHash3_128::new() };
    serde_json::to_writer(&mut to, head)?;
    if head.replayed.is_none() {
        cut(&mut |piece| to.hash.write(piece));
    }
    Ok(format!("{:032x}", to.hash.finish_128()))
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

/// Writes a run, and seals its head. `cut` passes on the bytes of the cut; it is called twice, as the head
/// comes first. Returns the hash of these bytes.
///
/// # Errors
///
/// Those of `to`.
pub fn write(head: &mut Head, cut: &mut Pieces<'_>, to: impl Write) -> io::Result<u128> {
    head.seal = seal(head, cut)?;
    let mut to = Hashing { to, hash: XxHash3_128::new() };
    let text = serde_json::to_vec(head).map_err(io::Error::other)?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= HEAD_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("the scenario file is too long"))?;
    to.write_all(MAGIC)?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&text)?;
    let (mut bytes, mut hash) = (0, XxHash3_128::new());
    if head.replayed.is_none() {
        let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max4MB);
        let mut frame = FrameEncoder::with_frame_info(info, &mut to);
        let mut written = Ok(());
        cut(&mut |piece| {
            if written.is_ok() {
                bytes += piece.len() as u64;
                hash.write(piece);
                written = frame.write_all(piece);
            }
        });
        written?;
        frame.finish().map_err(io::Error::other)?;
    }
    let hash = hash.finish_128();
    to.write_all(&bytes.to_le_bytes())?;
    to.write_all(&hash.to_le_bytes())?;
    let whole = to.hash.finish_128();
    to.to.write_all(&whole.to_le_bytes())?;
    Ok(hash)
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
        let keeps = self.when.is_some() || self.before_failure;
        if keeps && self.every.is_none() && self.every_virtual.is_none() {
            let option = if self.when.is_some() { "--save-when" } else { "--save-before-failure" };
            let message = format!("`{option}` keeps the last of several saves, and the run is saved once");
            return Err(Failure::usage(message, "add `--save-every-virtual T` or `--save-every T`"));
        }
        Ok(())
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

/// Saves a run at its cuts; and, of a run that goes on from a file, checks the digest first.
pub(crate) struct Saver<'a> {
    /// The user's wish, and the head of the files; it gets time, events and digest from each cut.
    pub(crate) saving: Option<(&'a Saving, Head)>,
    /// The end of the run.
    pub(crate) until: Time,
    /// The run that is gone on with, until it is checked.
    pub(crate) resumed: Option<&'a Saved>,
    /// The condition of the wish.
    pub(crate) condition: Option<Condition>,
    pub(crate) found: Arc<Mutex<Found>>,
}

pub(crate) fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Saver<'a> {
    /// Returns the cuts at which the run is saved and checked.
    pub(crate) fn into_cuts(self) -> Cuts<'a> {
        let begin = self.resumed.map(|saved| saved.head.time());
        let next = begin.unwrap_or_else(|| self.next_after(Time::ZERO));
        Cuts { next, at_end: self.saving.as_ref().is_some_and(|(saving, _)| saving.at_end), act: Box::new(self) }
    }

    /// Returns the first time after `time` at which the user wants a cut.
    fn next_after(&self, time: Time) -> Time {
        let every = self.saving.as_ref().and_then(|(saving, _)| saving.every_virtual).map_or(0, Delay::as_ps);
        let cuts_before = time.as_ps().checked_div(every);
        cuts_before.and_then(|cuts| (cuts + 1).checked_mul(every)).map_or(Time::MAX, Time::from_ps)
    }

    /// Returns true if the last save is kept, from this cut on or from an earlier one.
    fn keeps(&self, run: &mut AtRest<'_, '_>) -> bool {
        let before_failure = self.saving.as_ref().is_some_and(|(saving, _)| saving.before_failure);
        let mut found = lock(&self.found);
        if found.kept.is_none() && (before_failure || self.condition.is_some()) {
            let metrics = run.all_metrics();
            let why = match &self.condition {
                Some(condition) if condition.holds(&metrics) => Some(format!("`{condition}` is true")),
                _ if before_failure && found.is_out_of_memory => Some("the memory limit is reached".to_owned()),
                _ if before_failure => metrics.incomplete().map(|_| "the results are incomplete".to_owned()),
                _ => None,
            };
            found.kept = why.map(|why| (run.time, why));
        }
        found.kept.is_some()
    }
}

/// Saves a run at rest.
fn save(saving: &Saving, head: &mut Head, run: &mut AtRest<'_, '_>) -> Result<(), String> {
    (head.time_ps, head.events) = (run.time.as_ps(), run.events);
    head.digest = head.digest.map(|_| run.digest());
    let mut file = ResultFile::create(&saving.file).map_err(|failure| failure.to_string())?;
    write(head, &mut |sink| run.write_in_pieces(sink), &mut file)
        .map_err(|error| result_file::late(&error).to_string())?;
    file.finish().map_err(|failure| failure.to_string())
}

impl AtCut for Saver<'_> {
    fn act(&mut self, run: &mut AtRest<'_, '_>) -> Then {
        if let Some(saved) = self.resumed.take() {
            let time = saved.head.time();
            if !saved.is_same(run) {
                lock(&self.found).differs = true;
                return Then::End;
            }
            if time < self.until {
                self.keeps(run);
                return Then::Continue(self.next_after(time));
            }
        }
        if !self.keeps(run)
            && let Some((saving, head)) = &mut self.saving
        {
            let saved = save(saving, head, run);
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
pub(crate) fn check(saving: &Saving, why_not_saved: Option<&str>) -> Result<Option<String>, Failure> {
    drop(ResultFile::create(&saving.file)?);
    Ok(why_not_saved.map(|why| {
        format!(
            "{} will have no states, since {why}: `resume` executes the run again to the time at which it was saved",
            quoted(&saving.file.display().to_string())
        )
    }))
}

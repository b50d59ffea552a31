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
//! beside it (`saved/parts.rs`), of the same form with another kind and another head. Their names are those
//! of the file, the time, the rank and the hash. All parts together are read as one cut, which has the bytes
//! of a cut that one process makes once it is written again.
//!
//! *The seal* is the hash of the head and of the cut's bytes. The other hashes find accidents; the seal also
//! binds the facts of the head, such as scenario and seeds, to the states. When a run of one process goes on,
//! its cut is written again, and must have the hash of the file: so a state that was read is what was saved.
//!
//! *Replayed runs.* The states of some models cannot be written: processes as programs, protocols of other
//! crates. Their files have no bytes of a cut. Such a run goes on from its start, and at the time of the cut
//! its digest must be that of the head.

mod file;
pub mod outputs;
mod parts;
mod saver;

pub use file::{MAGIC, hash_of, write};
pub use saver::Saving;
pub(crate) use saver::{Expected, Found, Saver, Told, check, lock};

use crate::branch::Branched;
use crate::recorded::RecordedInput;
use crate::request::quote;
use crate::run::Resumed;
use crate::{Failure, Plan, Request};
use file::{FILE_BYTES_MAX, Packed, read_head};
use outputs::OutputsAtCut;
use parades_catalog::program_name;
use parades_config::inputs::{self, Input};
use parades_core::time::Time;
use parts::{PartHead, read_part};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

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
        // A save is a result of a run: the next one may be at the same place.
        let bytes = inputs::read_apart(path, FILE_BYTES_MAX).map_err(|error| inputs::unreadable(path, &error))?;
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
        inputs::hold_one(self.scenario_input());
        request.clone()
    }

    /// Returns the scenario file of the run, as an input to hold.
    pub fn scenario_input(&self) -> Input {
        Input { path: self.scenario_file(), bytes: self.head.scenario.as_bytes().into() }
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

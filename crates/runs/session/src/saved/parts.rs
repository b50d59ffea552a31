//! Saving a run whose ranks are several processes: each writes its part into a file of its own.
//!
//! *Steps.* All ranks take them together, and none takes the next one before all have taken the last:
//!
//! 1. Each rank writes its part beside its place. All learn whether all have written theirs, and the hashes.
//! 2. The ranks from 1 on move their parts to their places. Their names have the time and the hash, so they
//!    are no names of the parts of an earlier save, unless these have the same bytes.
//! 3. Rank 0 moves the file itself to its place. It names the other parts.
//! 4. The parts of the file that was there before are removed.
//!
//! So at any moment the parts that the file at its place names are there. Ranks on other machines write into
//! the folder of the same name there.

use super::file::{self, FILE_BYTES_MAX, FOOT_BYTES, HEAD_BYTES_MAX, Packed, Pieces, Writing, read_head};
use super::outputs::KeepOutputs;
use super::{Head, unusable};
use crate::Failure;
use crate::result_file::{self, ResultFile};
use parades_config::inputs;
use parades_core::cut::AtRest;
use parades_core::digest::Digest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The first bytes of a part of a saved run.
pub(super) const MAGIC: &[u8; 16] = b"parades part 1\r\n";

/// The longest name of a file of which the names of parts are made as they are, in bytes.
const STEM_BYTES_MAX: usize = 180;

/// The facts by which a part is told from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartHead {
    /// The virtual time of the cut, in picoseconds.
    pub(super) time_ps: u64,
    /// The rank that wrote it.
    pub(super) rank: u32,
}

/// The message of a rank to the others once it has written its part.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The hash of its part, as a number in hexadecimal digits. Rank 0 has none.
    hash: String,
    /// The names of the parts of the file that is at its place, as rank 0 has found them there.
    earlier: Vec<String>,
}

/// The file or the part that a rank has begun.
enum Begun {
    First(Box<Writing<ResultFile>>),
    Part(Box<ResultFile>),
    /// The run is replayed, and there is nothing in its file but what rank 0 writes.
    Nothing,
}

/// Saves a run at rest into the file at `path`. All ranks call this together.
///
/// # Errors
///
/// The reason why one of the ranks could not write, as a sentence. The file at `path` is then as it was.
pub(super) fn save(
    path: &Path,
    outputs: Option<&dyn KeepOutputs>,
    head: &mut Head,
    run: &mut AtRest<'_, '_>,
) -> Result<(), String> {
    let place = place_of(path, run);
    let begun = place.and_then(|place| begin(&place, path, outputs, head, run).map(|begun| (place, begun)));
    let mine = begun.as_ref().map(|(_, (_, written))| written).map_err(String::clone);
    let all: Vec<Written> = agree(run, mine).map_err(|failed| failed.why)?;
    let (place, (begun, _)) = begun?;
    let hashes: Vec<u128> = all.iter().map_while(|of| u128::from_str_radix(&of.hash, 16).ok()).collect();
    let names = head.names_of_parts(hashes.get(1..).unwrap_or_default());
    let earlier = all.into_iter().next().map(|of_first| of_first.earlier).unwrap_or_default();
    let is_new = |name: &String| !earlier.contains(name);
    let done = finish(&place, begun, &hashes, &names, run);
    // Parts that the file does not name are of no use: those of the earlier file, or else the new ones. If a
    // rank is lost, nobody knows which file is at the place.
    let stale: Vec<&String> = match &done {
        Ok(()) => earlier.iter().filter(|name| !names.contains(name)).collect(),
        Err(Failed { is_lost: true, .. }) => Vec::new(),
        Err(Failed { is_lost: false, .. }) => names.iter().filter(|name| is_new(name)).collect(),
    };
    stale.into_iter().for_each(|name| remove(&place, name));
    done.map_err(|failed| failed.why)
}

/// Why a run was not saved.
pub(super) struct Failed {
    /// A sentence.
    why: String,
    /// True if a rank is lost, so that nobody knows what it has done.
    is_lost: bool,
}

/// Removes the part `name` beside `place`, if it is one. The name may be that of a file that somebody
/// altered.
fn remove(place: &Path, name: &str) {
    let is_here = Path::new(name).file_name() == Some(OsStr::new(name));
    let part = place.with_file_name(name);
    let mut kind = [0; MAGIC.len()];
    let mut is_part = || File::open(&part).and_then(|mut file| file.read_exact(&mut kind)).is_ok() && kind == *MAGIC;
    if is_here && is_part() {
        let _ = std::fs::remove_file(part);
    }
}

/// Returns the place that a path leads to. A device has none, and takes the run of one process only.
fn place_of(path: &Path, run: &AtRest<'_, '_>) -> Result<PathBuf, String> {
    match result_file::file_at(path) {
        Some(place) => Ok(place),
        None if run.ranks() == 1 => Ok(path.to_owned()),
        None => Err(format!("{} is no file, and a run of several processes is saved into files", path.display())),
    }
}

/// Writes this rank's part beside its place.
fn begin(
    place: &Path,
    path: &Path,
    outputs: Option<&dyn KeepOutputs>,
    head: &mut Head,
    run: &mut AtRest<'_, '_>,
) -> Result<(Begun, Written), String> {
    let is_whole = head.replayed.is_some();
    head.ranks = if is_whole { 1 } else { u32::try_from(run.ranks()).expect("ranks are few") };
    head.stem = stem_of(place);
    let late = |error: &std::io::Error| result_file::late(error).to_string();
    let (mut hash, mut earlier) = (String::new(), Vec::new());
    let begun = match run.rank() {
        0 => {
            earlier = parts_at(place);
            head.replaces.clone_from(&earlier);
            let file = ResultFile::create(path).map_err(|failure| failure.to_string())?;
            let kept = outputs.map(KeepOutputs::keep).transpose();
            head.outputs = kept.map_err(|error| late(&error))?;
            hash = "0".into();
            let mut pieces = |sink: &mut dyn FnMut(&[u8])| run.write_in_pieces(sink);
            let cut: Option<&mut Pieces<'_>> = if is_whole { None } else { Some(&mut pieces) };
            Begun::First(Box::new(Writing::begin(file::MAGIC, head, cut, file).map_err(|error| late(&error))?))
        }
        _ if is_whole => Begun::Nothing,
        rank => {
            let rank = u32::try_from(rank).expect("ranks are few");
            let beside = place.with_file_name(format!("{}.{rank}", head.stem));
            let file = ResultFile::create(&beside).map_err(|failure| failure.to_string())?;
            let head = PartHead { time_ps: run.time.as_ps(), rank };
            let writing = Writing::begin(MAGIC, &head, Some(&mut |sink| run.write_in_pieces(sink)), file);
            let (file, whole) = writing.and_then(|writing| writing.finish(&[])).map_err(|error| late(&error))?;
            hash = format!("{whole:x}");
            Begun::Part(Box::new(file))
        }
    };
    Ok((begun, Written { hash, earlier }))
}

/// Moves the parts to their places, and then the file itself.
fn finish(
    place: &Path,
    begun: Begun,
    hashes: &[u128],
    names: &[String],
    run: &mut AtRest<'_, '_>,
) -> Result<(), Failed> {
    let (mut first, mut moved) = (None, Ok(()));
    match begun {
        Begun::First(writing) => first = Some(writing),
        Begun::Part(file) => {
            moved =
                file.finish_as(&place.with_file_name(&names[run.rank() - 1])).map_err(|failure| failure.to_string());
        }
        Begun::Nothing => {}
    }
    agree::<()>(run, moved.as_ref().map_err(String::clone))?;
    let finish = |writing: Box<Writing<ResultFile>>| {
        let (file, _) = writing.finish(&hashes[1..]).map_err(|error| result_file::late(&error).to_string())?;
        file.finish().map_err(|failure| failure.to_string())
    };
    let finished = first.map_or(Ok(()), finish);
    agree::<()>(run, finished.as_ref().map_err(String::clone)).map(drop)
}

/// Returns the beginning of the names of parts of the file at `place`.
fn stem_of(place: &Path) -> String {
    let name = place.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if name.len() <= STEM_BYTES_MAX && place.file_name() == Some(OsStr::new(&name)) {
        return name;
    }
    let mut hash = Digest::default();
    hash.bytes(place.file_name().unwrap_or_default().as_encoded_bytes());
    format!("{:016x}", hash.value())
}

/// Returns what all ranks have to say, in rank order; or the first error of one.
pub(super) fn agree<T: Serialize + DeserializeOwned>(
    run: &mut AtRest<'_, '_>,
    mine: Result<&T, String>,
) -> Result<Vec<T>, Failed> {
    let lost = || Failed { why: "a rank is lost".into(), is_lost: true };
    let bytes = serde_json::to_vec(&mine).expect("it has only plain fields");
    let all = run.share(bytes).ok_or_else(lost)?;
    let read = |(rank, bytes): (usize, Vec<u8>)| {
        let said: Result<T, String> = serde_json::from_slice(&bytes).map_err(|_| lost())?;
        let named = |why| if rank == 0 { why } else { format!("rank {rank}: {why}") };
        said.map_err(|why| Failed { why: named(why), is_lost: false })
    };
    all.into_iter().enumerate().map(read).collect()
}

/// Appends the bytes of a part to `cut`. `path` is the file of the run, `part` that of the part, and `hash`
/// the hash that it must have.
pub(super) fn read_part(
    path: &Path,
    part: &Path,
    expected: &PartHead,
    hash: u128,
    bytes_max: u64,
    cut: &mut Vec<u8>,
) -> Result<(), Failure> {
    let name = part.file_name().unwrap_or_default().display();
    let bytes = inputs::read_apart(part, FILE_BYTES_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(
            format!("{}: its part {name}, which rank {} wrote, is not beside it", path.display(), expected.rank),
            "copy it there, from the machine of that rank, or start the run again",
        ),
        _ => inputs::unreadable(part, &error).into(),
    })?;
    let mut unpack = || {
        let (head, file) = Packed::of(&bytes, MAGIC)?;
        if read_head::<PartHead>(head)? != *expected || bytes[bytes.len() - 16..] != hash.to_le_bytes() {
            return Err("it is a part of another run".into());
        }
        let begin = cut.len();
        file.unpack(bytes_max, cut)?;
        file.check_seal(&cut[begin..])
    };
    unpack().map_err(|what: String| unusable(&path.with_file_name(name.to_string()), &what))
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
        if magic != file::MAGIC || length > HEAD_BYTES_MAX {
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

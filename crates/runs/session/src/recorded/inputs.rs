//! The files that a recorded run read.

use super::difference::Difference;
use super::{FILE_BYTES_MAX, INPUTS, Recorded};
use parades_config::inputs::{self, Input, Seen};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A file that a recorded run read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedInput {
    /// The absolute path that it had.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its hash: see [`Seen::hash`].
    pub hash: u64,
}

impl From<Seen> for RecordedInput {
    fn from(Seen { path, bytes, hash }: Seen) -> RecordedInput {
        RecordedInput { path, bytes, hash }
    }
}

impl From<RecordedInput> for Seen {
    fn from(RecordedInput { path, bytes, hash }: RecordedInput) -> Seen {
        Seen { path, bytes, hash }
    }
}

/// Returns the files that a run read, as its summary has them.
pub fn as_json(inputs: &[Seen]) -> Value {
    let file = |Seen { path, bytes, hash }: &Seen| json!({"path": path.to_string_lossy(), "bytes": bytes, "hash": format!("{hash:016x}")});
    inputs.iter().map(file).collect()
}

/// Returns the name of the copy of a file in the folder [`INPUTS`]. Files of equal contents share it.
pub fn copy_name(path: &Path, hash: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{hash:016x}-{}", crate::safe_name(&name, |c| c.is_ascii_alphanumeric() || "-_=.,+%".contains(c)))
}

impl Recorded {
    /// Returns the files that the run read. A folder of an earlier version has none.
    pub fn inputs(&self) -> Vec<RecordedInput> {
        let input = |value: &Value| {
            let hash = u64::from_str_radix(value["hash"].as_str()?, 16).ok()?;
            Some(RecordedInput { path: value["path"].as_str()?.into(), bytes: value["bytes"].as_u64()?, hash })
        };
        self.summary["inputs"].as_array().into_iter().flatten().filter_map(input).collect()
    }

    /// Returns the contents of the input files of which the folder has copies.
    pub fn copies(&self) -> Vec<Input> {
        self.inputs().into_iter().filter_map(|input| self.copy_of(input)).collect()
    }

    /// Returns the contents of an input file, if the folder has a copy that nobody has altered.
    pub(super) fn copy_of(&self, RecordedInput { path, hash, .. }: RecordedInput) -> Option<Input> {
        let copy = self.folder.join(INPUTS).join(copy_name(&path, hash));
        let bytes = inputs::read_apart(&copy, FILE_BYTES_MAX).ok().filter(|bytes| inputs::hash(bytes) == hash)?;
        Some(Input { path, bytes: bytes.into() })
    }

    /// Returns the absolute path of the file that a parameter names, if the file or its copy is still there:
    /// the user may be in another folder now than at the time of the run.
    pub(super) fn path_of(&self, value: &str) -> Option<PathBuf> {
        let input = named(&self.inputs(), value)?;
        let path = input.path.clone();
        (path.exists() || self.copy_of(input).is_some()).then_some(path)
    }

    /// Compares the files that the same parameter names in both runs, and removes these parameters from
    /// `parameters`: it does not matter by what name a file was read. Returns the first file of other
    /// contents.
    pub(super) fn compare_file_parameters(&self, other: &Recorded, parameters: &mut [Value; 2]) -> Option<Difference> {
        let inputs = [self.inputs(), other.inputs()];
        let find = |inputs: &[RecordedInput], value: &Value| named(inputs, value.as_str()?);
        let (mut found, [mine, theirs]) = (None, parameters);
        let (Some(mine), Some(theirs)) = (mine.as_object_mut(), theirs.as_object_mut()) else { return None };
        let keys: Vec<String> = mine.keys().cloned().collect();
        for key in keys {
            let files = (find(&inputs[0], &mine[&key]), theirs.get(&key).and_then(|value| find(&inputs[1], value)));
            let (Some(a), Some(b)) = files else { continue };
            mine.shift_remove(&key);
            theirs.shift_remove(&key);
            if a.hash != b.hash && found.is_none() {
                let name = a.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found = Some(Difference { what: format!("the file {name}"), values: [a, b].map(|input| text(&input)) });
            }
        }
        found
    }

    /// Returns the first file that the two runs read with other contents, by its name.
    pub(super) fn different_input(&self, other: &Recorded) -> Option<Difference> {
        let theirs = other.inputs();
        self.inputs().iter().find_map(|mine| {
            let named = |theirs: &&RecordedInput| theirs.path.file_name() == mine.path.file_name();
            let same_name: Vec<&RecordedInput> = theirs.iter().filter(named).collect();
            if same_name.iter().any(|theirs| theirs.hash == mine.hash) {
                return None;
            }
            let other = same_name.first()?;
            let name = mine.path.file_name().unwrap_or_default().to_string_lossy();
            Some(Difference { what: format!("the file {name}"), values: [text(mine), text(other)] })
        })
    }
}

/// Returns the file that the value of a parameter names. Parameters hold paths as the user wrote them, and
/// inputs absolute ones.
fn named(inputs: &[RecordedInput], value: &str) -> Option<RecordedInput> {
    let path = Path::new(value);
    let is_named = |input: &&RecordedInput| input.path.ends_with(path.strip_prefix("./").unwrap_or(path));
    inputs.iter().filter(|_| !value.is_empty()).find(is_named).cloned()
}

/// Returns a file in words.
fn text(RecordedInput { path, bytes, hash }: &RecordedInput) -> String {
    format!("{}, {bytes} bytes, hash {hash:016x}", path.display())
}

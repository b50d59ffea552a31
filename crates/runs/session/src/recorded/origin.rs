//! The differences between the origin of a recorded run and this process: files, program, compiler, machine.

use super::{FILE_BYTES_MAX, NETWORK, RECORD, Recorded, RecordedInput, text_of};
use crate::circumstances::Circumstances;
use crate::machine::Machine;
use crate::{FinishedRun, Program};
use parades_config::inputs::{self, Seen};
use parades_config::quoted;
use serde_json::{Value, json};

/// The facts that the record of a run has of its origin: the path in the record, and the fact in words.
const FACTS: [(&str, &str); 7] = [
    ("/build", "compiler and the settings of the build"),
    ("/machine/cpu", "processor"),
    ("/machine/cores", "number of cores"),
    ("/machine/memory_bytes", "memory of the machine, in bytes,"),
    ("/circumstances/os", "operating system"),
    ("/circumstances/distribution", "distribution of the system"),
    ("/circumstances/kernel", "kernel"),
];

impl Recorded {
    /// Returns a sentence on each file that the run read with other contents than `seen` has.
    pub fn changed_files(&self, seen: &[Seen]) -> Vec<String> {
        let changed = self
            .inputs()
            .into_iter()
            .filter(|input| seen.iter().any(|seen| seen.path == input.path && seen.hash != input.hash));
        changed.map(|input| format!("the file {} differs", input.path.display())).collect()
    }

    /// Returns a sentence on each file that has changed since the run read it, among those that its
    /// repetition reads: of a file whose copy is in the folder, it reads the copy.
    pub fn changed_since(&self) -> Vec<String> {
        if self.folder.join(NETWORK).exists() {
            // The network in full is all that a repetition reads.
            return Vec::new();
        }
        let now = |input: RecordedInput| {
            let contents = Some(&input.path).filter(|path| path.is_file())?;
            let contents = inputs::read_apart(contents, FILE_BYTES_MAX).ok()?;
            Some(Seen { path: input.path, bytes: contents.len() as u64, hash: inputs::hash(&contents) })
        };
        let without_copy = self.inputs().into_iter().filter(|input| self.copy_of(input.clone()).is_none());
        self.changed_files(&without_copy.filter_map(now).collect::<Vec<_>>())
    }

    /// Returns a sentence on each difference between the recorded run and `run`, which `program` has executed
    /// in this process: files, then the program, its compiler and the machine.
    pub fn differences(&self, run: &FinishedRun, program: &Program) -> Vec<String> {
        let mut found = self.changed_files(&run.inputs);
        let mut differs = |what: &str, there: &Value, here: &Value| {
            // A folder of an earlier version does not have all facts.
            if there != here && !there.is_null() {
                let [there, here] = [there, here].map(|value| quoted(&text_of(value)));
                found.push(format!("the {what} is {there} there and {here} here"));
            }
        };
        for (field, here) in [("version", program.version), ("commit", program.commit)] {
            differs(&format!("{field} of the program"), &self.summary[field], &here.into());
        }
        let here = json!({
            "build": program.build, "machine": Machine::this(), "circumstances": Circumstances::now(),
        });
        let record = inputs::read_apart(&self.folder.join(RECORD), FILE_BYTES_MAX).unwrap_or_default();
        let record: Value = serde_json::from_slice(&record).unwrap_or_default();
        for (path, what) in FACTS {
            let of = |object: &Value| object.pointer(path).cloned().unwrap_or_default();
            differs(what, &of(&record), &of(&here));
        }
        found
    }
}

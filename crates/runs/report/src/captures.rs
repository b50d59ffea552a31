//! The captures of a run: a file for each node or link that the user names.

mod places;

use crate::begin::Begin;
use crate::result_file::{ResultFile, late};
use parades_capture::recorder::{Memory, Place, Recorder, Settings};
use parades_catalog::Simulation;
use parades_core::event::LpId;
use parades_core::time::Time;
use parades_core::trace::{Executed, shown_name};
use parades_session::saved::outputs::{FileAtCut, keep_file};
use parades_session::{Failure, safe_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{fs, io};

/// The captures that a user wants of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaptureOutputs {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The names of nodes and links. If there are none, the ends of all flows are captured.
    pub places: Vec<String>,
    /// The settings of all files.
    pub settings: Settings,
}

/// The captures of a run, while they are written.
#[derive(Debug)]
pub(crate) struct Captures {
    outputs: CaptureOutputs,
    begin: Begin,
    /// The memory of the saved run's recorder, until this one goes on.
    memory: Memory,
    /// The recorder, once the model is known.
    recorder: Option<Recorder<ResultFile>>,
}

impl Captures {
    /// Makes the folder of the files.
    pub(crate) fn new(outputs: &CaptureOutputs, begin: Begin, memory: Memory) -> Result<Captures, Failure> {
        let folder = &outputs.folder;
        fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
        Ok(Captures { outputs: outputs.clone(), begin, memory, recorder: None })
    }

    /// Finds the places in the model, and begins their files. Returns the LPs at which packets are captured.
    pub(crate) fn begin(&mut self, simulation: &Simulation) -> Result<Vec<LpId>, Failure> {
        let points = simulation.capture_points();
        let places = places::find(&self.outputs.places, &points, simulation)?;
        let names = (0..simulation.lps()).map(LpId).map(|lp| shown_name(lp, simulation.lp_name(lp)));
        let names: Vec<String> = names.collect();
        let mut files = Vec::new();
        let mut taken = BTreeSet::new();
        for place in &places {
            let name = match place {
                Place::Node(lp) => &names[lp.index()],
                Place::Link(link) => link,
            };
            let file = format!("{}.pcapng", free_name(name, &mut taken));
            files.push(self.begin.file(&self.outputs.folder.join(file), "--pcap")?);
        }
        let recorder = self.recorder.insert(Recorder::new(points, names, self.outputs.settings));
        let files = places.into_iter().zip(files);
        if self.begin.is_going_on() {
            let memory = std::mem::take(&mut self.memory);
            recorder.go_on(files.collect(), memory).ok_or_else(|| {
                Failure::usage("the saved run has another number of captures", "write them elsewhere with `--pcap`")
            })?;
        } else {
            for (place, file) in files {
                recorder.add_file(&place, file).map_err(|error| late(&error))?;
            }
        }
        Ok(recorder.lps())
    }

    /// Brings the files to the disk, adds them to a record, and returns what the recorder remembers.
    pub(crate) fn keep(&mut self, files: &mut Vec<FileAtCut>) -> io::Result<Memory> {
        let Some(recorder) = &mut self.recorder else { return Ok(Memory::default()) };
        recorder.receivers().try_for_each(|file| keep_file(file, files))?;
        Ok(recorder.memory())
    }

    /// Adds the packets that an event captured.
    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.event(executed))
    }

    /// Writes the remaining packets of a run that ended at `end`, and moves the files to their places.
    pub(crate) fn finish(self, end: Time) -> Result<(), Failure> {
        let Some(recorder) = self.recorder else { return Ok(()) };
        let files = recorder.finish(end).map_err(|error| late(&error))?;
        files.into_iter().try_for_each(ResultFile::finish)
    }
}

/// Returns a name for a file, made from the name of a place. Other files have other names. `#`, by which
/// links between the same two nodes differ, would begin a comment in a shell and a fragment in a URL.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let safe = safe_name(&name.replace('#', "-"), |c| !c.is_control() && !r#"/\:*?"<>|"#.contains(c));
    let numbered = std::iter::once(safe.clone()).chain((2_u32..).map(|number| format!("{safe}-{number}")));
    let free = numbered.into_iter().find(|name| !taken.contains(name)).expect("there are enough numbers");
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_differ_and_have_no_number_sign() {
        let mut taken = BTreeSet::new();
        let names = ["a-b", "a-b#2", "a-b-2", "a-b#3"].map(|name| free_name(name, &mut taken));
        assert_eq!(names, ["a-b", "a-b-2", "a-b-2-2", "a-b-3"]);
    }
}

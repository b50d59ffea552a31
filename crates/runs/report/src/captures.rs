//! The captures of a run: a file for each node or link that the user names.

mod file;
mod places;

use crate::place::named;
use file::CaptureFile;
use parades_capture::address::IpVersion;
use parades_catalog::Simulation;
use parades_core::capture::Captured;
use parades_core::event::LpId;
use parades_core::time::Time;
use parades_core::trace::{Executed, Note};
use parades_session::Failure;
use places::Places;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The captures that a user wants of a run.
#[derive(Clone, Debug)]
pub struct CaptureOutputs {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The names of nodes and links. If there are none, the ends of all flows are captured.
    pub places: Vec<String>,
    /// The version of IP in the captures.
    pub version: IpVersion,
    /// The largest number of bytes of a packet that is written; 0 for all.
    pub snap_length: u32,
}

/// The captures of a run, while they are written.
///
/// A packet that arrives is captured when it is sent, with the time of its arrival. So packets wait here until
/// all earlier ones are known.
#[derive(Debug)]
pub(crate) struct Captures {
    outputs: CaptureOutputs,
    places: Places,
    files: Vec<CaptureFile>,
    /// Captured packets, by time; of equal times, in the order of the events that captured them.
    waiting: BTreeMap<(Time, u64), Captured>,
    /// The number of captured packets.
    count: u64,
}

impl Captures {
    /// Makes the folder of the files.
    pub(crate) fn new(outputs: &CaptureOutputs) -> Result<Captures, Failure> {
        let folder = &outputs.folder;
        fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
        Ok(Captures {
            outputs: outputs.clone(),
            places: Places::default(),
            files: Vec::new(),
            waiting: BTreeMap::new(),
            count: 0,
        })
    }

    /// Finds the places in the model, and begins their files. Returns the LPs at which packets are captured.
    pub(crate) fn begin(&mut self, simulation: &Simulation) -> Result<Vec<LpId>, Failure> {
        self.places = Places::find(&self.outputs.places, simulation)?;
        self.files = self.places.open(&self.outputs)?;
        Ok(self.places.lps())
    }

    /// Adds the packets that an event captured.
    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        self.write_before(executed.key.instant.time)?;
        for note in executed.notes {
            if let Note::Captured(captured) = note {
                self.waiting.insert((captured.time, self.count), (**captured).clone());
                self.count += 1;
            }
        }
        Ok(())
    }

    /// Writes the packets before `time`. No event to come captures an earlier one.
    fn write_before(&mut self, time: Time) -> io::Result<()> {
        while self.waiting.first_key_value().is_some_and(|((first, _), _)| *first < time) {
            let (_, captured) = self.waiting.pop_first().expect("there is a first one");
            self.write(&captured)?;
        }
        Ok(())
    }

    fn write(&mut self, captured: &Captured) -> io::Result<()> {
        for interface in self.places.interfaces(captured) {
            let file = &mut self.files[interface.file];
            file.add(captured, interface, &self.places).map_err(|error| named(&file.path, &error))?;
        }
        Ok(())
    }

    /// Writes the remaining packets of a run that ended at `end`, and moves the files to their places. Packets
    /// that would arrive later are left out.
    pub(crate) fn finish(mut self, end: Time) -> Result<(), Failure> {
        for (_, captured) in std::mem::take(&mut self.waiting) {
            if !captured.is_arrival || captured.time < end {
                self.write(&captured).map_err(|error| Failure::simulation(error.to_string()))?;
            }
        }
        self.files.into_iter().try_for_each(CaptureFile::finish)
    }
}

//! The captures of a run, while it goes on.
//!
//! A packet that arrives is captured when it is sent, with the time of its arrival. So packets wait here
//! until all earlier ones are known.

mod file;

use crate::address::IpVersion;
use crate::fields::{Host, PacketFields};
use file::CaptureFile;
use parades_core::capture::{CapturePoint, Captured};
use parades_core::event::LpId;
use parades_core::time::Time;
use parades_core::trace::{Executed, Note};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// A node or link whose packets are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// All ports of a node: the packets that it sends, and those that arrive.
    Node(LpId),
    /// The link of this name: the packets that both ends send.
    Link(String),
}

/// The settings of captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The version of IP; `None` for that of the network.
    pub version: Option<IpVersion>,
    /// The largest number of bytes of a packet that is written; 0 for all.
    pub snap_length: u32,
}

/// Captures that are being written, each to a `W`.
///
/// Give [`Recorder::lps`] to the run as [`captures`](parades_core::run::RunOptions::captures), and each event
/// of the run's tracer to [`Recorder::event`].
#[derive(Debug)]
pub struct Recorder<W> {
    settings: Settings,
    points: Vec<CapturePoint>,
    /// The names of LPs, by id.
    names: Vec<String>,
    files: Vec<CaptureFile<W>>,
    /// By LP and port: the interfaces at which packets are captured there.
    interfaces: BTreeMap<(LpId, u32), Vec<Interface>>,
    /// Captured packets, by time; of equal times, in the order of the events that captured them.
    waiting: BTreeMap<(Time, u64), Captured>,
    /// The number of captured packets.
    count: u64,
}

/// The memory of a recorder beside its files, with which another one can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The captured packets that are not in the files yet, in the order in which they come there.
    waiting: Vec<Captured>,
    /// The hosts whose names are in the files, file by file.
    named: Vec<BTreeSet<Host>>,
}

impl Memory {
    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.named.len()
    }
}

/// An interface in a file.
#[derive(Clone, Copy, Debug)]
struct Interface {
    /// The place of the file in the list of files.
    file: usize,
    /// The number of the interface in the file.
    number: u32,
    /// The place of the port in the list of all ports.
    point: usize,
    /// True if packets that arrive at the port are left out.
    sent_only: bool,
}

impl<W: Write> Recorder<W> {
    /// Makes a recorder without files. `points` are those of the model, and `names` the names of all LPs.
    pub fn new(points: Vec<CapturePoint>, names: Vec<String>, settings: Settings) -> Recorder<W> {
        Recorder {
            settings,
            points,
            names,
            files: Vec::new(),
            interfaces: BTreeMap::new(),
            waiting: BTreeMap::new(),
            count: 0,
        }
    }

    /// Adds a file for the packets at a place, and writes its beginning.
    ///
    /// # Errors
    ///
    /// The errors of `to`. So for all methods.
    pub fn add_file(&mut self, place: &Place, to: W) -> io::Result<()> {
        let mut file = CaptureFile::begin(to)?;
        for index in self.points_at(place) {
            let point = &self.points[index];
            let node = self.names.get(point.lp.index()).map_or("", String::as_str);
            file.add_interface(point, node, self.settings.snap_length)?;
        }
        self.add(place, file);
        Ok(())
    }

    /// Goes on with files of another recorder, which remembered `memory`. Each file comes with its place, in
    /// the order in which they were added there. `None` if the recorder had another number of files.
    pub fn go_on(&mut self, files: Vec<(Place, W)>, memory: Memory) -> Option<()> {
        let Memory { waiting, named } = memory;
        if files.len() != named.len() {
            return None;
        }
        for ((place, to), named) in files.into_iter().zip(named) {
            let interfaces = self.points_at(&place).len();
            self.add(&place, CaptureFile::going_on(to, interfaces, self.settings.snap_length, named));
        }
        waiting.into_iter().for_each(|captured| self.wait(captured));
        Some(())
    }

    /// Returns what another recorder must remember to go on with the files.
    pub fn memory(&self) -> Memory {
        let named = self.files.iter().map(|file| file.named().clone()).collect();
        Memory { waiting: self.waiting.values().cloned().collect(), named }
    }

    /// Returns the receivers of the files.
    pub fn receivers(&mut self) -> impl Iterator<Item = &mut W> {
        self.files.iter_mut().map(CaptureFile::receiver)
    }

    /// Returns the ports at a place, by their position in the list of all ports. They are the interfaces of
    /// its file, in order.
    fn points_at(&self, place: &Place) -> Vec<usize> {
        let is_here = |point: &CapturePoint| match place {
            Place::Node(lp) => point.lp == *lp,
            Place::Link(link) => point.link == *link,
        };
        let points = self.points.iter().enumerate();
        points.filter(|(_, point)| is_here(point)).map(|(index, _)| index).collect()
    }

    /// Adds a file that has its interfaces.
    fn add(&mut self, place: &Place, file: CaptureFile<W>) {
        let sent_only = matches!(place, Place::Link(_));
        for (number, point) in (0..).zip(self.points_at(place)) {
            let interface = Interface { file: self.files.len(), number, point, sent_only };
            let CapturePoint { lp, port, .. } = self.points[point];
            self.interfaces.entry((lp, port)).or_default().push(interface);
        }
        self.files.push(file);
    }

    /// Returns the LPs at which packets are captured, in order.
    pub fn lps(&self) -> Vec<LpId> {
        let mut lps: Vec<LpId> = self.interfaces.keys().map(|(lp, _)| *lp).collect();
        lps.dedup();
        lps
    }

    /// Adds the packets that an event captured.
    pub fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        self.write_before(executed.key.instant.time)?;
        for note in executed.notes {
            if let Note::Captured(captured) = note {
                self.wait((**captured).clone());
            }
        }
        Ok(())
    }

    /// Adds a packet that comes into the files once all earlier ones are known.
    fn wait(&mut self, captured: Captured) {
        self.waiting.insert((captured.time, self.count), captured);
        self.count += 1;
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
        let fields = PacketFields::decode(&captured.packet).ok_or_else(|| io::Error::other("unknown packet fields"))?;
        for interface in self.interfaces.get(&(captured.lp, captured.port)).into_iter().flatten() {
            if interface.sent_only && captured.is_arrival {
                continue;
            }
            let point = &self.points[interface.point];
            let version = self.settings.version.unwrap_or(fields.version);
            self.files[interface.file].add(captured, &fields, interface.number, point, version, &self.names)?;
        }
        Ok(())
    }

    /// Writes the remaining packets of a run that ended at `end`, and returns the receivers of the files.
    /// Packets that would arrive later are left out.
    pub fn finish(mut self, end: Time) -> io::Result<Vec<W>> {
        for (_, captured) in std::mem::take(&mut self.waiting) {
            if !captured.is_arrival || captured.time < end {
                self.write(&captured)?;
            }
        }
        self.files.into_iter().map(CaptureFile::finish).collect()
    }
}

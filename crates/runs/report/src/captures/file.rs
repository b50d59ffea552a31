//! The capture of one node or link as a file.

use super::CaptureOutputs;
use super::places::{Interface, Places};
use crate::place::{aside, can_be_written};
use parades_capture::address::IpVersion;
use parades_capture::fields::{Host, PacketFields};
use parades_capture::pcapng::{self, Origin, Stamped, Writer};
use parades_core::capture::Captured;
use parades_core::event::LpId;
use parades_session::Failure;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;

/// A file, which is moved to its place when it is whole.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    pub(super) path: PathBuf,
    aside: PathBuf,
    writer: Option<Writer<BufWriter<File>>>,
    version: IpVersion,
    /// The hosts whose names are in the file.
    named: BTreeSet<Host>,
    /// The bytes of the frame that is being written. Its memory is used again.
    frame: Vec<u8>,
}

impl CaptureFile {
    /// Begins a file with interfaces, each with its name and the number of its link layer.
    pub(super) fn open(
        name: &str,
        interfaces: impl Iterator<Item = (String, u16)>,
        outputs: &CaptureOutputs,
    ) -> Result<CaptureFile, Failure> {
        let path = outputs.folder.join(format!("{name}.pcapng"));
        can_be_written(&path)?;
        let aside = aside(&path);
        let snap_length = outputs.snap_length;
        let begin = || -> io::Result<Writer<BufWriter<File>>> {
            let mut writer = Writer::new(BufWriter::new(File::create(&aside)?), "parades")?;
            for (name, link_type) in interfaces {
                writer.add_interface(&pcapng::Interface { name: &name, link_type, snap_length })?;
            }
            Ok(writer)
        };
        let writer = Some(begin().map_err(|error| Failure::cannot_write(&path, &error))?);
        Ok(CaptureFile { path, aside, writer, version: outputs.version, named: BTreeSet::new(), frame: Vec::new() })
    }

    /// Adds a packet, after the names of its ends.
    pub(super) fn add(&mut self, captured: &Captured, interface: Interface, places: &Places) -> io::Result<()> {
        let fields = PacketFields::decode(&captured.packet).ok_or_else(|| io::Error::other("unknown packet fields"))?;
        let framing = places.framing(captured, interface, &fields);
        self.frame.clear();
        fields.frame(self.version, framing).write(&mut self.frame).map_err(io::Error::other)?;
        let writer = self.writer.as_mut().expect("the file is open until it is finished");
        for host in [fields.source, fields.destination] {
            if self.named.insert(host) {
                let name = match host {
                    Host::Node(node) => places.name(LpId(node)).to_owned(),
                    Host::Group(group) => format!("group-{group}"),
                };
                writer.add_names([(host.address(self.version), name.as_str())])?;
            }
        }
        writer.add_packet(&Stamped {
            interface: interface.number,
            time: captured.time,
            origin: if captured.is_arrival { Origin::Inbound } else { Origin::Outbound },
            frame: &self.frame,
            comment: Some(captured.remark.as_str()).filter(|remark| !remark.is_empty()),
        })
    }

    /// Writes what is left, and moves the file to its place.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let writer = self.writer.take().expect("a file is finished once");
        let moved = writer.finish().and_then(|_| fs::rename(&self.aside, &self.path));
        moved.map_err(|error| Failure::written_late(&self.path, &error))
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        // The file is still aside only if the run failed, or if it could not be moved.
        let _ = fs::remove_file(&self.aside);
    }
}

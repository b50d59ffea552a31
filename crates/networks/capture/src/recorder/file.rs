//! The file of one place.

use crate::address::{IpVersion, Mac};
use crate::fields::{Host, PacketFields};
use crate::frame::Framing;
use crate::pcapng::{Interface, Origin, Stamped, Writer};
use parades_core::capture::{CapturePoint, Captured, LinkLayer};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The least Ethernet frame in bytes, checksum left out. The sender's adapter pads shorter ones, so captures
/// have the padding at receivers alone.
const ETHERNET_LEAST: usize = 60;

#[derive(Debug)]
pub(super) struct CaptureFile<W> {
    writer: Writer<W>,
    /// The hosts whose names are in the file.
    named: BTreeSet<Host>,
    /// The bytes of the frame that is being written. Its memory is used again.
    frame: Vec<u8>,
}

impl<W: Write> CaptureFile<W> {
    pub(super) fn begin(to: W) -> io::Result<CaptureFile<W>> {
        Ok(CaptureFile { writer: Writer::new(to, "parades")?, named: BTreeSet::new(), frame: Vec::new() })
    }

    /// Goes on with a file that has a number of interfaces, and the names of `named`.
    pub(super) fn going_on(to: W, interfaces: usize, snap_length: u32, named: BTreeSet<Host>) -> CaptureFile<W> {
        CaptureFile { writer: Writer::going_on(to, vec![snap_length; interfaces]), named, frame: Vec::new() }
    }

    /// Returns the hosts whose names are in the file.
    pub(super) fn named(&self) -> &BTreeSet<Host> {
        &self.named
    }

    pub(super) fn receiver(&mut self) -> &mut W {
        self.writer.receiver()
    }

    /// Adds a port of `node` as an interface, and returns its number.
    pub(super) fn add_interface(&mut self, point: &CapturePoint, node: &str, snap_length: u32) -> io::Result<u32> {
        let name = format!("{} at {node}", point.link);
        let link_type = framing(point, false, None).link_type();
        self.writer.add_interface(&Interface { name: &name, link_type, snap_length })
    }

    /// Adds a packet at an interface, after the names of its ends. `names` has the names of all nodes.
    pub(super) fn add(
        &mut self,
        captured: &Captured,
        fields: &PacketFields,
        interface: u32,
        point: &CapturePoint,
        version: IpVersion,
        names: &[String],
    ) -> io::Result<()> {
        let destination = fields.destination.address(version);
        let framing = framing(point, captured.is_arrival, Mac::of_group(destination));
        self.frame.clear();
        fields.frame(version, framing).write(&mut self.frame).map_err(io::Error::other)?;
        if captured.is_arrival && matches!(framing, Framing::Ethernet { .. }) && self.frame.len() < ETHERNET_LEAST {
            self.frame.resize(ETHERNET_LEAST, 0);
        }
        for host in [fields.source, fields.destination] {
            if self.named.insert(host) {
                let name = match host {
                    Host::Node(node) => names.get(node as usize).cloned().unwrap_or_default(),
                    Host::Group(group) => format!("group-{group}"),
                };
                self.writer.add_names([(host.address(version), name.as_str())])?;
            }
        }
        self.writer.add_packet(&Stamped {
            interface,
            time: captured.time,
            origin: if captured.is_arrival { Origin::Inbound } else { Origin::Outbound },
            frame: &self.frame,
            comment: Some(captured.remark.as_str()).filter(|remark| !remark.is_empty()),
        })
    }

    pub(super) fn finish(self) -> io::Result<W> {
        self.writer.finish()
    }
}

/// Returns the link layer of a packet that is sent at a port or arrives there. `group` is the address of the
/// group that the packet is for.
fn framing(point: &CapturePoint, is_arrival: bool, group: Option<Mac>) -> Framing {
    match point.layer {
        LinkLayer::None => Framing::Raw,
        LinkLayer::Ppp => Framing::Ppp,
        LinkLayer::Ethernet => {
            let [here, there] = [(point.lp, point.port), point.peer].map(|(lp, port)| Mac::of_port(lp.0, port));
            let (source, port) = if is_arrival { (there, here) } else { (here, there) };
            Framing::Ethernet { source, destination: group.unwrap_or(port) }
        }
    }
}

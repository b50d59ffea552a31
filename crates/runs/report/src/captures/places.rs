//! The nodes and links that are captured.

use super::CaptureOutputs;
use super::file::CaptureFile;
use parades_capture::address::{IpVersion, Mac};
use parades_capture::fields::{Host, PacketFields};
use parades_capture::frame::Framing;
use parades_catalog::Simulation;
use parades_config::{nearest, quoted};
use parades_core::capture::{CapturePoint, Captured, LinkLayer};
use parades_core::event::LpId;
use parades_core::trace::shown_name;
use parades_session::lp_names::NoLp;
use parades_session::{Failure, LpNames, safe_name};
use std::collections::{BTreeMap, BTreeSet};

/// The most files of a run. A process can hold about a thousand files open.
const FILES_MAX: usize = 800;

/// All ports of a network, and those that are captured.
#[derive(Debug, Default)]
pub(crate) struct Places {
    points: Vec<CapturePoint>,
    /// The names of LPs, as traces show them.
    names: Vec<String>,
    /// The nodes and links, each with a file.
    places: Vec<Place>,
    /// By port: the interfaces whose packets are captured there.
    interfaces: BTreeMap<(LpId, u32), Vec<Interface>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Node(LpId),
    Link(String),
}

/// An interface in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    /// The place of the file in the list of files.
    pub(super) file: usize,
    /// The number of the interface in the file.
    pub(super) number: u32,
    /// The place of the port in the list of all ports.
    point: usize,
    /// True if packets that arrive at the port are left out, as they are captured where they are sent.
    is_link: bool,
}

impl Places {
    /// Finds nodes and links by their names; without names, all nodes where flows end.
    pub(super) fn find(wanted: &[String], simulation: &Simulation) -> Result<Places, Failure> {
        let points = simulation.capture_points();
        if points.is_empty() {
            let help = "run a scenario with a network of packets: `campus`, `wan`, or a network file";
            return Err(Failure::usage("this scenario has no packets to capture", help));
        }
        let places = match wanted {
            [] => Places::ends(&points)?,
            names => {
                let lp_names = LpNames::of(simulation);
                let links: BTreeSet<&str> = points.iter().map(|point| point.link.as_str()).collect();
                let mut places = Vec::new();
                for name in names {
                    let place = find(name, &lp_names, &links)?;
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
                places
            }
        };
        let names = (0..simulation.lps()).map(LpId).map(|lp| shown_name(lp, simulation.lp_name(lp)));
        let mut found = Places { names: names.collect(), points, places, interfaces: BTreeMap::new() };
        found.number_interfaces();
        Ok(found)
    }

    /// Returns the nodes where flows end.
    fn ends(points: &[CapturePoint]) -> Result<Vec<Place>, Failure> {
        let mut ends: Vec<LpId> = points.iter().filter(|point| point.is_end).map(|point| point.lp).collect();
        ends.dedup();
        if ends.len() > FILES_MAX {
            let message =
                format!("{} nodes are ends of flows, and a run writes {FILES_MAX} captures at most", ends.len());
            return Err(Failure::usage(message, "name some of them with `--pcap-at`"));
        }
        Ok(ends.into_iter().map(Place::Node).collect())
    }

    fn number_interfaces(&mut self) {
        for (file, place) in self.places.iter().enumerate() {
            let mut numbers = 0..;
            for (index, point) in self.points.iter().enumerate() {
                let is_here = match place {
                    Place::Node(lp) => point.lp == *lp,
                    Place::Link(link) => point.link == *link,
                };
                if is_here {
                    let number = numbers.next().expect("interfaces are counted in 32 bits");
                    let is_link = matches!(place, Place::Link(_));
                    let interface = Interface { file, number, point: index, is_link };
                    self.interfaces.entry((point.lp, point.port)).or_default().push(interface);
                }
            }
        }
    }

    /// Begins a file for each place, with all its interfaces.
    pub(super) fn open(&self, outputs: &CaptureOutputs) -> Result<Vec<CaptureFile>, Failure> {
        let mut interfaces: Vec<Vec<(u32, &CapturePoint)>> = vec![Vec::new(); self.places.len()];
        for interface in self.interfaces.values().flatten() {
            interfaces[interface.file].push((interface.number, &self.points[interface.point]));
        }
        let mut taken = BTreeSet::new();
        self.places
            .iter()
            .zip(interfaces)
            .map(|(place, mut interfaces)| {
                interfaces.sort_by_key(|(number, _)| *number);
                let interfaces = interfaces.into_iter().map(|(_, point)| {
                    (
                        format!("{} at {}", point.link, self.name(point.lp)),
                        framing(point, Direction::Outward, None).link_type(),
                    )
                });
                let name = match place {
                    Place::Node(lp) => self.name(*lp),
                    Place::Link(link) => link,
                };
                CaptureFile::open(&free_name(name, &mut taken), interfaces, outputs)
            })
            .collect()
    }

    /// Returns the LPs at which packets are captured, in order.
    pub(super) fn lps(&self) -> Vec<LpId> {
        let mut lps: Vec<LpId> = self.interfaces.keys().map(|(lp, _)| *lp).collect();
        lps.dedup();
        lps
    }

    /// Returns the interfaces at which a packet is captured.
    pub(super) fn interfaces(&self, captured: &Captured) -> impl Iterator<Item = Interface> {
        let at_port = self.interfaces.get(&(captured.lp, captured.port)).into_iter().flatten().copied();
        at_port.filter(|interface| !(interface.is_link && captured.is_arrival))
    }

    /// Returns the link layer of a captured packet.
    pub(super) fn framing(&self, captured: &Captured, interface: Interface, fields: &PacketFields) -> Framing {
        let direction = if captured.is_arrival { Direction::Inward } else { Direction::Outward };
        framing(&self.points[interface.point], direction, Some(fields.destination))
    }

    /// Returns the name of an LP.
    pub(super) fn name(&self, lp: LpId) -> &str {
        self.names.get(lp.index()).map_or("", String::as_str)
    }
}

/// The direction of a packet at a port.
#[derive(Clone, Copy)]
enum Direction {
    Inward,
    Outward,
}

/// Returns the link layer of a packet at a port. `destination` may be a group.
fn framing(point: &CapturePoint, direction: Direction, destination: Option<Host>) -> Framing {
    let of_port = |(lp, port): (LpId, u32)| Mac::of_port(lp.0, port);
    let (here, there) = (of_port((point.lp, point.port)), of_port(point.peer));
    match point.layer {
        LinkLayer::None => Framing::Raw,
        LinkLayer::Ppp => Framing::Ppp,
        LinkLayer::Ethernet => {
            let (source, port) = match direction {
                Direction::Outward => (here, there),
                Direction::Inward => (there, here),
            };
            // The last 23 bits of a group's address are the same for both versions of IP; the rest is not.
            let group = destination.and_then(|host| Mac::of_group(host.address(IpVersion::V4)));
            Framing::Ethernet { source, destination: group.unwrap_or(port) }
        }
    }
}

/// Finds the node or link of a name.
fn find(name: &str, lp_names: &LpNames, links: &BTreeSet<&str>) -> Result<Place, Failure> {
    let link = links.get(name.trim()).map(|link| Place::Link((*link).to_owned()));
    match (lp_names.find(name), link) {
        (Ok(_), Some(_)) => {
            let message = format!("--pcap-at: {} is both a node and a link", quoted(name));
            Err(Failure::usage(message, "give one of them another name"))
        }
        (Ok(lp), None) => Ok(Place::Node(lp)),
        (Err(_), Some(link)) => Ok(link),
        (Err(NoLp { help, .. }), None) => {
            let near =
                nearest(name, links.iter().copied()).map(|near| format!("did you mean the link {}?", quoted(near)));
            let message = format!("--pcap-at: there is no node or link {}", quoted(name));
            Err(Failure::usage(message, near.unwrap_or(help)))
        }
    }
}

/// Returns a name for a file, made from the name of a place. Other files have other names.
fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let safe = safe_name(name, |c| !c.is_control() && !r#"/\:*?"<>|"#.contains(c));
    let numbered = std::iter::once(safe.clone()).chain((2..).map(|number| format!("{safe}-{number}")));
    let free = numbered.into_iter().find(|name| !taken.contains(name)).expect("there are enough numbers");
    taken.insert(free.clone());
    free
}

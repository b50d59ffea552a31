//! Platforms from SimGrid's XML files, versions 3, 4 and 4.1 of the format.
//!
//! # Supported elements
//!
//! - `<zone>` (or `<AS>`), nested, with routing `Full`, `Floyd`, `Dijkstra`, `DijkstraCache`, `Cluster`,
//!   `Vivaldi` or `None`.
//! - `<host>` with its `<disk>`s, `<router>`, and `<link>` with the policies `SHARED`, `FATPIPE` and
//!   `SPLITDUPLEX`.
//! - `<route>`, `<zoneRoute>` (or `<ASroute>`), `<bypassRoute>`, `<bypassZoneRoute>`.
//! - `<cluster>`, flat or as a torus, fat tree or dragonfly, with backbone, loopbacks and limiters.
//! - `<host_link>`, `<backbone>`, `<cabinet>`, `<peer>`.
//! - `<trace>` and `<trace_connect>`, and profiles in files.
//!
//! - `<config>`: the settings of [`crate::settings`], and the bandwidth and latency of loopbacks.
//!
//! Routes are the same as in SimGrid 3.32.
//!
//! Version 3 writes `power` for `speed`, and hosts and links have a `state`.
//!
//! Speeds, cores and disks act on the computations of programs alone. Everything else that SimGrid knows has
//! no effect: properties, deployed actors and other settings. [`Platform::notes`] names each kind that has no
//! effect on flows once. `WIFI` links and random profiles are refused.
//!
//! # Bounds
//!
//! A file may be hostile. At most [`FILE_BYTES_MAX`] bytes are read. Elements nest at most [`DEPTH_MAX`]
//! deep. The number of hosts, of links and of members of a cluster is bounded. A document type with
//! declarations of its own is refused. Only XML's five predefined entities are expanded.

mod attributes;
pub mod deployment;
mod elements;

use crate::build::{Builder, Direction, NO_EFFECT};
use crate::platform::{HostId, Platform};
use crate::profile::{self, Profile};
use attributes::Attributes;
use parades_config::Fault;
use parades_config::{ConfigError, quoted};
use parades_topology::xml::{Elements, text_of, unclosed};
use quick_xml::events::BytesStart;
use std::path::Path;
use std::sync::Arc;

/// The greatest size of a platform file, in bytes.
pub const FILE_BYTES_MAX: usize = 256 << 20;
/// The greatest depth of elements, the root included.
pub const DEPTH_MAX: usize = 128;
/// The greatest length of a tag, in bytes. Only the radical of a cluster makes a tag long.
pub const TAG_BYTES_MAX: usize = 1 << 20;
/// The greatest size of a profile inside a platform file, in bytes.
pub const TRACE_BYTES_MAX: usize = 16 << 20;

/// Reads the platform file at `path`.
///
/// # Errors
///
/// If the file cannot be read, is not a platform file, or describes no valid platform.
pub fn read(path: &Path) -> Result<Platform, ConfigError> {
    parse(path, &bytes_of(path, CLUSTERS)?)
}

/// The help for a platform that is too long.
pub(crate) const CLUSTERS: &str = "use clusters to make it shorter";

/// Reads a file of at most [`FILE_BYTES_MAX`] bytes. `help` says how to shorten a longer one.
pub(crate) fn bytes_of(path: &Path, help: &str) -> Result<Vec<u8>, ConfigError> {
    parades_topology::xml::bytes_of(path, FILE_BYTES_MAX, help)
}

/// Reads a platform from memory. Errors name the file `file`. Names of profiles are relative to the folder of
/// `file`.
///
/// # Examples
///
/// ```
/// use parades_flow::xml;
/// let text = r#"<platform version="4.1">
///   <cluster id="c" prefix="node-" radical="0-2" suffix="" speed="1Gf" bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/>
/// </platform>"#;
/// let platform = xml::parse("c.xml".as_ref(), text.as_bytes())?;
/// let route = platform.route(platform.host("node-0").unwrap(), platform.host("node-2").unwrap()).unwrap();
/// let names: Vec<&str> = route.links.iter().map(|link| &*platform.links()[link.0 as usize].name).collect();
/// assert_eq!(names, ["c_link_0_UP", "c_backbone", "c_link_2_DOWN"]);
///
/// let error = xml::parse("c.xml".as_ref(), text.replace("125M", "125X").as_bytes()).unwrap_err();
/// assert_eq!(error.to_string(), "c.xml:2:3: the bw of <cluster>, `125XBps`, has the unit `XBps`, \
///     and a bandwidth is written as `125MBps` or `1Gbps`; correct it");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Platform, ConfigError> {
    let text = text_of(file, bytes)?;
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    let read = document(text, Builder::new(folder)).map_err(|fault| fault.within(file, text));
    read.map(|platform| platform.write_notes(file, text))
}

/// An element whose end has not been read.
#[derive(Debug)]
enum Element {
    Platform,
    Zone,
    /// A route and its links up to here.
    Route(RouteKind, Attributes, Vec<(String, Direction)>),
    /// A profile and its text up to here.
    Trace(Attributes, String),
    /// A `<config>`: its properties are settings.
    Config,
    /// A host: its disks lie in it.
    Host(HostId),
    /// An element that has no content. Elements in it are recorded as ignored.
    Leaf,
    /// An element in a [`Element::Leaf`], which has been recorded as ignored with all its content.
    Ignored,
}

/// The kinds of routes, one for each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteKind {
    Hosts,
    Zones,
    BypassHosts,
    BypassZones,
}

/// The state of the reader.
struct Reader {
    builder: Builder,
    /// The open elements, the root first, each with its offset in the file.
    open: Vec<(Element, usize)>,
    root_seen: bool,
}

/// Reads a whole document into `builder`.
fn document(text: &str, builder: Builder) -> Result<Platform, Fault> {
    let mut reader = Reader { builder, open: Vec::new(), root_seen: false };
    parades_topology::xml::read(text, &mut reader)?;
    reader.finish(text)
}

impl Elements for Reader {
    const TAG_BYTES_MAX: usize = TAG_BYTES_MAX;
    /// Only a profile is long, which has a limit of its own.
    const TEXT_BYTES_MAX: usize = usize::MAX;

    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), Fault> {
        self.builder.offset = offset;
        if self.open.len() == DEPTH_MAX {
            return Err(self.builder.wrong(format!("elements nest more than {DEPTH_MAX} deep"), "nest them less"));
        }
        let name = tag.local_name();
        let name = name.as_ref();
        let element = match self.open.last_mut().map(|(element, _)| element) {
            None => {
                elements::root(&mut self.builder, name, tag, std::mem::replace(&mut self.root_seen, true))?;
                Element::Platform
            }
            Some(Element::Ignored) => Element::Ignored,
            Some(&mut Element::Host(host)) if name == "disk" => {
                elements::disk(&mut self.builder, host, tag)?;
                Element::Leaf
            }
            Some(Element::Host(_) | Element::Leaf) => {
                self.builder.ignore(&format!("the element {}", quoted(name)), NO_EFFECT);
                Element::Ignored
            }
            Some(Element::Config) => {
                elements::setting(&mut self.builder, name, tag)?;
                Element::Leaf
            }
            Some(Element::Platform | Element::Zone) => self.element(name, tag)?,
            Some(Element::Route(_, _, links)) if name == "link_ctn" => {
                links.push(elements::link_of_route(&self.builder, tag)?);
                Element::Leaf
            }
            Some(Element::Route(..) | Element::Trace(..)) => {
                return Err(self.builder.wrong(format!("{} does not belong here", quoted(name)), "delete or move it"));
            }
        };
        self.open.push((element, offset));
        Ok(())
    }

    /// Only a profile may contain characters besides white space.
    fn text(&mut self, characters: &str, offset: usize) -> Result<(), Fault> {
        match self.open.last_mut() {
            Some((Element::Trace(_, text), start)) => {
                text.push_str(characters);
                match text.len() > TRACE_BYTES_MAX {
                    true => Err(Fault::new(*start, "the profile is too long", "put it into a file of its own")),
                    false => Ok(()),
                }
            }
            Some((Element::Ignored, _)) => Ok(()),
            _ if characters.trim().is_empty() => Ok(()),
            _ => {
                let before = characters.len() - characters.trim_start().len();
                Err(Fault::new(
                    offset + before,
                    "there is text between the elements",
                    "delete it, or make it a comment",
                ))
            }
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some((element, offset)) = self.open.pop() else { return Ok(()) };
        self.builder.offset = offset;
        match element {
            Element::Zone => self.builder.end_zone(),
            Element::Route(kind, attributes, links) => elements::route(&mut self.builder, kind, &attributes, &links),
            Element::Trace(attributes, text) => {
                let name = attributes.required("id")?;
                let profile = match attributes.get("file") {
                    Some(file) => self.builder.profile_from_file(file)?,
                    None => {
                        let period = attributes.number("periodicity")?.unwrap_or(0.0);
                        let profile = Profile::read(&text, period);
                        Arc::new(profile.map_err(|(_, message)| profile::fault(offset, message))?)
                    }
                };
                self.builder.trace(name, profile)
            }
            Element::Platform | Element::Config | Element::Host(_) | Element::Leaf | Element::Ignored => Ok(()),
        }
    }
}

impl Reader {
    /// Handles the end of the file.
    fn finish(self, text: &str) -> Result<Platform, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            return Err(unclosed(text, offset));
        }
        if !self.root_seen {
            return Err(Fault::new(0, "the file has no <platform> element", "give a platform file"));
        }
        self.builder.finish()
    }
}

//! Platforms from SimGrid's XML files, version 4.1 of the format.
//!
//! # What is read
//!
//! `<zone>` (or `<AS>`) with routing `Full`, `Floyd`, `Dijkstra`, `DijkstraCache`, `Cluster`, `Vivaldi` or `None`, nested at will; `<host>`, `<router>`,
//! `<link>` (`SHARED`, `FATPIPE`, `SPLITDUPLEX`), `<route>`, `<zoneRoute>` (`<ASroute>`), `<bypassRoute>`, `<bypassZoneRoute>`; `<cluster>`, flat
//! or as torus, fat tree or dragonfly, with backbone, loopbacks and limiters; `<host_link>`, `<backbone>`, `<cabinet>`, `<peer>`; `<trace>` and
//! `<trace_connect>`, and profiles in files. Routes come out as SimGrid 3.32 finds them.
//!
//! `<prop>`, `<disk>` and deployed actors mean nothing to a network; `<config>` is left aside with a note, as models are chosen elsewhere. `WIFI`
//! links and random profiles are refused.
//!
//! # Bounds
//!
//! A file may be hostile. It is read up to [`FILE_BYTES_MAX`]; elements nest at most [`DEPTH_MAX`] deep; hosts, links and the sizes of clusters are
//! bounded. A document type with declarations of its own is refused, and no entity but the five predefined ones is ever expanded.

mod attributes;
mod elements;

use crate::build::{Builder, Direction};
use crate::fault::Fault;
use crate::platform::Platform;
use crate::profile::{self, Profile};
use attributes::{Attributes, malformed, resolve, to_offset};
use parades_config::{ConfigError, Place, quoted};
use quick_xml::events::{BytesStart, Event};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The longest file that is read: 256 MiB.
pub const FILE_BYTES_MAX: usize = 256 << 20;
/// How deep elements nest, the root included.
pub const DEPTH_MAX: usize = 128;
/// The longest tag, in bytes; a radical may be long.
pub const TAG_BYTES_MAX: usize = 1 << 20;
/// The longest profile within a file, in bytes.
pub const TRACE_BYTES_MAX: usize = 16 << 20;

/// Reads the platform file at `path`.
///
/// # Errors
///
/// Where it cannot be read, is not such a file, or describes no platform.
pub fn read(path: &Path) -> Result<Platform, ConfigError> {
    parse(path, &bytes_of(path)?)
}

/// The bytes of a file, if they are not too many.
pub(crate) fn bytes_of(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    let wrong =
        |message: String, help: &str| ConfigError::new(message).with_help(help).at(Place::File(path.to_owned()));
    match read {
        Err(why) => Err(wrong(format!("the file cannot be read: {why}"), "check its name and permissions")),
        Ok(_) if bytes.len() > FILE_BYTES_MAX => Err(wrong(
            format!("the file is longer than {} MiB", FILE_BYTES_MAX >> 20),
            "use clusters to make it shorter",
        )),
        Ok(_) => Ok(bytes),
    }
}

/// The text of a file's bytes.
pub(crate) fn text_of<'b>(file: &Path, bytes: &'b [u8]) -> Result<&'b str, ConfigError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(why) => {
            let good = std::str::from_utf8(&bytes[..why.valid_up_to()]).unwrap_or_default();
            Err(Fault::new(good.len(), "the file is not text in UTF-8", "convert it to UTF-8").within(file, good))
        }
    }
}

/// Reads a platform from memory; `file` is the name that errors give it, and its folder is where profiles are looked for.
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
    document(text, Builder::new(folder)).map_err(|fault| fault.within(file, text))
}

/// An element that is open.
#[derive(Debug)]
enum Element {
    Platform,
    Zone,
    /// A route and its links so far.
    Route(RouteKind, Attributes, Vec<(String, Direction)>),
    /// A profile and its text so far.
    Trace(Attributes, String),
    /// One whose content means nothing here.
    Leaf,
}

/// The elements that are routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteKind {
    Hosts,
    Zones,
    BypassHosts,
    BypassZones,
}

/// One pass over the file.
struct Pass {
    builder: Builder,
    open: Vec<(Element, usize)>,
    root_seen: bool,
}

fn document(text: &str, builder: Builder) -> Result<Platform, Fault> {
    let mut xml = quick_xml::Reader::from_str(text);
    let mut pass = Pass { builder, open: Vec::new(), root_seen: false };
    loop {
        let offset = to_offset(xml.buffer_position());
        let event = xml.read_event().map_err(|why| malformed(to_offset(xml.error_position()), why))?;
        let length = to_offset(xml.buffer_position()) - offset;
        if length > TAG_BYTES_MAX && matches!(event, Event::Start(_) | Event::Empty(_)) {
            let message = format!("one tag is longer than {} KiB", TAG_BYTES_MAX >> 10);
            return Err(Fault::new(offset, message, "shorten it"));
        }
        match event {
            Event::Start(tag) => pass.start(&tag, offset)?,
            Event::Empty(tag) => {
                pass.start(&tag, offset)?;
                pass.end()?;
            }
            Event::End(_) => pass.end()?,
            Event::Text(letters) => pass.text(&letters.xml10_content(), offset)?,
            Event::CData(letters) => pass.text(&letters.xml10_content(), offset)?,
            Event::GeneralRef(entity) => pass.text(resolve(&entity, offset)?.encode_utf8(&mut [0; 4]), offset)?,
            Event::DocType(declarations) if declarations.contains('[') => {
                let message = "the document type declares entities or elements of its own, which are not expanded";
                return Err(Fault::new(offset, message, "delete the <!DOCTYPE ...> declaration"));
            }
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => return pass.finish(text),
        }
    }
}

impl Pass {
    /// An element begins.
    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), Fault> {
        self.builder.at = offset;
        if self.open.len() == DEPTH_MAX {
            return Err(self.builder.wrong(format!("elements nest more than {DEPTH_MAX} deep"), "nest them less"));
        }
        let name = tag.local_name();
        let name = name.as_ref();
        let element = match self.open.last_mut().map(|(element, _)| element) {
            None => self.root(name, tag)?,
            Some(Element::Leaf) => Element::Leaf,
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

    fn root(&mut self, name: &str, tag: &BytesStart<'_>) -> Result<Element, Fault> {
        if std::mem::replace(&mut self.root_seen, true) {
            return Err(self
                .builder
                .wrong("a second root element follows the first", "keep one <platform> in the file"));
        }
        if name != "platform" {
            let message = format!("the root element is {}, not <platform>", quoted(name));
            return Err(self.builder.wrong(message, "give a platform file"));
        }
        let attributes = Attributes::of(&self.builder, tag, &["version"])?;
        let version = attributes.required("version")?;
        match version.parse::<f64>() {
            Ok(version) if (4.0..4.15).contains(&version) => Ok(Element::Platform),
            _ => {
                let message = format!("the file is of version {}", quoted(version));
                Err(self
                    .builder
                    .wrong(message, "4 and 4.1 can be read; simgrid_update_xml brings older files up to date"))
            }
        }
    }

    /// Letters inside an element.
    fn text(&mut self, letters: &str, offset: usize) -> Result<(), Fault> {
        match self.open.last_mut() {
            Some((Element::Trace(_, text), start)) => {
                text.push_str(letters);
                match text.len() > TRACE_BYTES_MAX {
                    true => Err(Fault::new(*start, "the profile is too long", "put it into a file of its own")),
                    false => Ok(()),
                }
            }
            Some((Element::Leaf, _)) => Ok(()),
            _ if letters.trim().is_empty() => Ok(()),
            _ => {
                let before = letters.len() - letters.trim_start().len();
                Err(Fault::new(
                    offset + before,
                    "there is text between the elements",
                    "delete it, or make it a comment",
                ))
            }
        }
    }

    /// The innermost element ends; that its name matches is checked by the XML reader.
    fn end(&mut self) -> Result<(), Fault> {
        let Some((element, offset)) = self.open.pop() else { return Ok(()) };
        self.builder.at = offset;
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
            Element::Platform | Element::Leaf => Ok(()),
        }
    }

    fn finish(self, text: &str) -> Result<Platform, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            let tag =
                text[offset..].split(|letter: char| letter.is_whitespace() || letter == '>').next().unwrap_or_default();
            let message = format!("the file ends before {} is closed", quoted(&format!("{tag}>")));
            return Err(Fault::new(offset, message, "compare the file with its source; it may be cut off"));
        }
        if !self.root_seen {
            return Err(Fault::new(0, "the file has no <platform> element", "give a platform file"));
        }
        self.builder.finish()
    }
}

//! Deployments: the programs that begin on the hosts of a platform, from SimGrid's XML files.
//!
//! A file has an `<actor>` (or `<process>`, its older name) for each process, with its `host` and its
//! `function`, and an `<argument>` for each of its arguments. `start_time` and `kill_time` are in seconds.
//! With `on_failure="RESTART"` the process begins again with its host. Other elements of platforms are passed
//! over, so one file may be both.

use super::attributes::Attributes;
use super::elements::{self, ELEMENTS};
use super::{DEPTH_MAX, FILE_BYTES_MAX, TAG_BYTES_MAX, TRACE_BYTES_MAX};
use crate::build::Builder;
use crate::platform::{HostId, Platform};
use parades_config::{ConfigError, Fault, Spot, nearest, quoted};
use parades_core::time::{Delay, Time};
use parades_topology::xml::{Elements, bytes_of, text_of, unclosed};
use quick_xml::events::BytesStart;
use std::path::Path;

/// A process of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The place of its element in the file.
    pub spot: Spot,
    /// The host.
    pub host: HostId,
    /// The index of its function among those that the reader was given.
    pub function: usize,
    /// The arguments, without the name of the function.
    pub arguments: Vec<String>,
    /// The time at which it begins.
    pub start: Time,
    /// The time after `start` at which it is killed, if it is still there.
    pub kill: Option<Time>,
    /// True if it begins again when its host works again after a failure.
    pub restarts: bool,
}

/// Reads the deployment at `path` of processes on a platform, whose functions have these names. Processes
/// come in the order of the file.
///
/// # Errors
///
/// If the file cannot be read or describes no deployment on the platform. The error is one sentence with the
/// place in the file.
pub fn read(path: &Path, platform: &Platform, functions: &[&str]) -> Result<Vec<Deployed>, ConfigError> {
    parse(path, &bytes_of(path, FILE_BYTES_MAX, "deploy fewer processes")?, platform, functions)
}

/// Reads a deployment from memory. Errors name the file `file`.
///
/// # Examples
///
/// ```
/// use parades_flow::xml::{self, deployment};
/// let platform = br#"<platform version="4.1"><zone id="w" routing="Full"><host id="a" speed="1Gf"/></zone></platform>"#;
/// let platform = xml::parse("one.xml".as_ref(), platform)?;
/// let text = r#"<platform version="4.1">
///   <actor host="a" function="worker" start_time="2"> <argument value="7"/> </actor>
/// </platform>"#;
/// let deployed = deployment::parse("d.xml".as_ref(), text.as_bytes(), &platform, &["master", "worker"])?;
/// assert_eq!((deployed[0].function, &deployed[0].arguments[0]), (1, &"7".to_owned()));
/// assert_eq!((deployed[0].spot.line, deployed[0].spot.column), (2, 3));
///
/// let wrong = text.replace("worker", "wroker");
/// let error = deployment::parse("d.xml".as_ref(), wrong.as_bytes(), &platform, &["master", "worker"]).unwrap_err();
/// assert_eq!(error.to_string(), "d.xml:2:3: there is no function `wroker`; did you mean `worker`?");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, bytes: &[u8], platform: &Platform, functions: &[&str]) -> Result<Vec<Deployed>, ConfigError> {
    let text = text_of(file, bytes)?;
    let builder = Builder::new(file.parent().map(Path::to_owned).unwrap_or_default());
    let spot = Spot { file: file.to_owned(), line: 1, column: 1, width: 1, source_line: None };
    let (open, deployed) = (Vec::new(), Vec::new());
    let mut reader =
        Reader { platform, functions, text, builder, open, root_seen: false, line_start: 0, spot, deployed };
    let read = parades_topology::xml::read(text, &mut reader).and_then(|()| reader.finish());
    read.map_err(|fault| fault.within(file, text))
}

/// An element whose end has not been read.
#[derive(Debug)]
enum Element {
    /// The root, or an element of a platform in which actors may lie.
    Outer,
    Actor,
    /// An element whose content has no meaning here.
    Other,
}

struct Reader<'a> {
    platform: &'a Platform,
    functions: &'a [&'a str],
    text: &'a str,
    /// For the place and the version of the file.
    builder: Builder,
    open: Vec<(Element, usize)>,
    root_seen: bool,
    /// The offset at which the line of `spot` begins.
    line_start: usize,
    /// The place of the last actor, or the start of the file.
    spot: Spot,
    deployed: Vec<Deployed>,
}

impl Elements for Reader<'_> {
    const TAG_BYTES_MAX: usize = TAG_BYTES_MAX;
    const TEXT_BYTES_MAX: usize = TRACE_BYTES_MAX;

    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), Fault> {
        self.builder.offset = offset;
        if self.open.len() == DEPTH_MAX {
            return Err(self.builder.wrong(format!("elements nest more than {DEPTH_MAX} deep"), "nest them less"));
        }
        let name = tag.local_name();
        let name: &str = name.as_ref();
        let element = match self.open.last().map(|(element, _)| element) {
            None => {
                elements::root(&mut self.builder, name, tag, std::mem::replace(&mut self.root_seen, true))?;
                Element::Outer
            }
            Some(Element::Outer) => self.outer(name, tag)?,
            Some(Element::Actor) => self.of_actor(name, tag)?,
            Some(Element::Other) => Element::Other,
        };
        self.open.push((element, offset));
        Ok(())
    }

    fn text(&mut self, letters: &str, offset: usize) -> Result<(), Fault> {
        match self.open.last() {
            Some((Element::Actor, _)) if !letters.trim().is_empty() => {
                Err(Fault::new(offset, "there is text in an actor", "write arguments as <argument value=\"…\"/>"))
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.open.pop();
        Ok(())
    }
}

impl Reader<'_> {
    fn outer(&mut self, name: &str, tag: &BytesStart<'_>) -> Result<Element, Fault> {
        match name {
            "actor" | "process" => {
                self.actor(tag)?;
                Ok(Element::Actor)
            }
            "zone" | "AS" => Ok(Element::Outer),
            known if ELEMENTS.contains(&known) => Ok(Element::Other),
            unknown => {
                let help = match nearest(unknown, ELEMENTS) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => "delete it".to_owned(),
                };
                Err(self.builder.wrong(format!("there is no element {} in deployments", quoted(unknown)), help))
            }
        }
    }

    fn of_actor(&mut self, name: &str, tag: &BytesStart<'_>) -> Result<Element, Fault> {
        match name {
            "argument" => {
                // An empty argument is one, too.
                let attributes = Attributes::of(&self.builder, tag, &["value"])?;
                let value = attributes.get("value").unwrap_or_default().to_owned();
                self.deployed.last_mut().expect("an actor is open").arguments.push(value);
                Ok(Element::Other)
            }
            "prop" => Err(self.builder.wrong("properties of actors are not read", "give an <argument>, or delete it")),
            unknown => {
                let message = format!("there is no element {} in an actor", quoted(unknown));
                Err(self.builder.wrong(message, "write arguments as <argument value=\"…\"/>"))
            }
        }
    }

    fn actor(&mut self, tag: &BytesStart<'_>) -> Result<(), Fault> {
        let known = ["host", "function", "start_time", "kill_time", "on_failure"];
        let attributes = Attributes::of(&self.builder, tag, &known)?;
        let (host, function) = (attributes.required("host")?, attributes.required("function")?);
        let Some(host_id) = self.platform.host(host) else {
            let near = nearest(host, self.platform.hosts().iter().map(|host| &*host.name));
            let help =
                near.map_or("name a host of the platform".to_owned(), |near| format!("did you mean {}?", quoted(near)));
            return Err(self.builder.wrong(format!("the platform has no host {}", quoted(host)), help));
        };
        let Some(index) = self.functions.iter().position(|known| *known == function) else {
            let help = match nearest(function, self.functions.iter().copied()) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => format!("the program has {}", self.functions.join(", ")),
            };
            return Err(self.builder.wrong(format!("there is no function {}", quoted(function)), help));
        };
        let time = |name: &str| -> Result<Option<Time>, Fault> {
            match attributes.number(name)? {
                // SimGrid writes -1 for a process that is not killed.
                Some(seconds) if seconds < 0.0 => Ok(None),
                Some(seconds) => {
                    match Delay::try_from_secs_f64(seconds).and_then(|after| Time::ZERO.checked_add(after)) {
                        Some(time) => Ok(Some(time)),
                        None => Err(attributes.wrong(name, "is past the end of virtual time")),
                    }
                }
                None => Ok(None),
            }
        };
        let restarts = attributes.choice("on_failure", &[("DIE", false), ("RESTART", true)], false)?;
        let (start, kill) = (time("start_time")?.unwrap_or(Time::ZERO), time("kill_time")?);
        if kill.is_some_and(|kill| kill <= start) {
            // SimGrid would never kill it.
            return Err(attributes.wrong("kill_time", "is not after its start_time"));
        }
        let (spot, arguments) = (self.next_spot(), Vec::new());
        self.deployed.push(Deployed { spot, host: host_id, function: index, arguments, start, kill, restarts });
        Ok(())
    }

    /// Returns the place of the present element. Places are counted on from the last one.
    fn next_spot(&mut self) -> Spot {
        let offset = self.builder.offset;
        let before = self.text.get(self.line_start..offset).unwrap_or_default();
        self.spot.line += before.matches('\n').count();
        self.line_start += before.rfind('\n').map_or(0, |place| place + 1);
        self.spot.column = 1 + self.text.get(self.line_start..offset).unwrap_or_default().chars().count();
        self.spot.clone()
    }

    fn finish(self) -> Result<Vec<Deployed>, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            return Err(unclosed(self.text, offset));
        }
        if !self.root_seen {
            return Err(Fault::new(0, "the file has no <platform> element", "give a deployment file"));
        }
        match self.deployed.is_empty() {
            true => Err(Fault::new(0, "the file deploys nothing", "add an <actor host=\"…\" function=\"…\"/>")),
            false => Ok(self.deployed),
        }
    }
}

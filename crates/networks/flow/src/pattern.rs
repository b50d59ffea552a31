//! Patterns: lists of flows.
//!
//! A pattern file has a line for each flow: `id source destination bytes start_s`, separated by white space.
//! A name that contains white space is put between quotes, `"` or `'`. Quotes may be left out where the names
//! of the platform's hosts leave one meaning only. Lines that begin with `#` are comments.

mod words;

use crate::flows::Flow;
use crate::network_model::NetworkModel;
use crate::platform::{HostId, Platform};
use crate::xml;
use parades_config::Fault;
use parades_config::{ConfigError, nearest, quoted};
use parades_core::time::Time;
use std::collections::BTreeSet;
use std::path::Path;

/// The greatest number of flows of a pattern.
pub const FLOWS_MAX: usize = 1 << 24;

/// Reads the pattern file at `path`, of flows between hosts of `platform`.
///
/// # Errors
///
/// If the file cannot be read, or if a line is not a flow between hosts of this platform. If `model` uses
/// routes, each flow must have one.
pub fn read(path: &Path, platform: &Platform, model: NetworkModel) -> Result<Vec<Flow>, ConfigError> {
    parse(path, &xml::bytes_of(path, "check that it is the file you meant")?, platform, model)
}

/// Reads a pattern from memory. Errors name the file `file`.
///
/// # Examples
///
/// ```
/// use parades_flow::{network_model::{MaxMinModel, NetworkModel}, pattern, xml};
/// let text = r#"<platform version="4.1">
///   <cluster id="c" prefix="n" radical="0-9" suffix="" speed="1Gf" bw="125MBps" lat="50us"/></platform>"#;
/// let platform = xml::parse("c.xml".as_ref(), text.as_bytes())?;
/// let model = NetworkModel::MaxMin(MaxMinModel::LV08);
/// let text = b"# id source destination bytes start_s\n7 n0 n9 1e6 .25\n";
/// let flows = pattern::parse("p.txt".as_ref(), text, &platform, model)?;
/// assert_eq!((&*flows[0].id, flows[0].bytes, flows[0].start.as_secs_f64()), ("7", 1e6, 0.25));
///
/// let error = pattern::parse("p.txt".as_ref(), b"7 n0 n10 1e6 0", &platform, model).unwrap_err();
/// assert_eq!(error.to_string(), "p.txt:1:6: there is no host `n10` on the platform; did you mean `n0`?");
/// # Ok::<(), parades_config::ConfigError>(())
/// ```
///
/// # Errors
///
/// As [`read`].
pub fn parse(file: &Path, bytes: &[u8], platform: &Platform, model: NetworkModel) -> Result<Vec<Flow>, ConfigError> {
    let text = parades_topology::xml::text_of(file, bytes)?;
    lines(text, platform, model).map_err(|fault| fault.within(file, text))
}

const FORM: &str = "write `id source destination bytes start_s`";
const FORM_WITH_QUOTES: &str = "write `id source destination bytes start_s`, and put a name with blanks between quotes";

/// Reads the flows, line by line.
fn lines(text: &str, platform: &Platform, model: NetworkModel) -> Result<Vec<Flow>, Fault> {
    let mut flows = Vec::new();
    let mut ids = BTreeSet::new();
    let mut routed = BTreeSet::new();
    for line in text.split('\n') {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words =
            words::split(content, platform).map_err(|(at, what)| Fault::new(offset_in(text, at), what, FORM))?;
        let flow = flow(text, &words, platform)?;
        if !ids.insert(words[0]) {
            return Err(Fault::new(
                offset_in(text, words[0]),
                format!("a flow before this one has the id {}", quoted(words[0])),
                "give each an id of its own",
            ));
        }
        if model.uses_routes()
            && routed.insert((flow.source, flow.destination))
            && let Err(why) = platform.route(flow.source, flow.destination)
        {
            return Err(Fault::new(offset_in(text, words[1]), why.to_string(), "add a route to the platform"));
        }
        if flows.len() == FLOWS_MAX {
            let message = format!("there are more than {FLOWS_MAX} flows");
            return Err(Fault::new(offset_in(text, line), message, "use fewer"));
        }
        flows.push(flow);
    }
    match flows.is_empty() {
        true => Err(Fault::new(0, "the pattern has no flow", FORM)),
        false => Ok(flows),
    }
}

/// Returns the offset of `part`, a slice of `text`, in bytes.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Reads a flow from the words of a line, which are slices of `text`.
fn flow(text: &str, words: &[&str], platform: &Platform) -> Result<Flow, Fault> {
    let &[id, source, destination, bytes, start] = words else {
        let message = format!("the line has {} words, and a flow has five", words.len());
        return Err(Fault::new(offset_in(text, words[0]), message, FORM_WITH_QUOTES));
    };
    let host = |name: &str| {
        host(platform, name).map_err(|help| {
            let message = format!("there is no host {} on the platform", quoted(name));
            Fault::new(offset_in(text, name), message, help)
        })
    };
    // A start after the end of virtual time is a date too: the run may end before it.
    let date = |seconds| Time::try_from_secs_f64(seconds).unwrap_or(Time::MAX);
    let number = |word: &str| word.parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let no_number =
        |word: &str, what: &str| Fault::new(offset_in(text, word), format!("{} is no {what}", quoted(word)), FORM);
    Ok(Flow {
        id: id.into(),
        source: host(source)?,
        destination: host(destination)?,
        bytes: number(bytes).ok_or_else(|| no_number(bytes, "number of bytes"))?,
        start: number(start).map(date).ok_or_else(|| no_number(start, "date in seconds"))?,
    })
}

/// Returns the host of a name, or else a hint at what the user may have meant.
fn host(platform: &Platform, name: &str) -> Result<HostId, String> {
    platform.host(name).ok_or_else(|| match nearest(name, platform.hosts().iter().map(|host| &*host.name)) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => "name a host of the platform".to_owned(),
    })
}

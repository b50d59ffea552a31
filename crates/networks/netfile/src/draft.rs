//! A network while it is read: nodes and links with their names, and the qualities of links in tables.

use crate::given::{Fields, Reader};
use crate::queues::{Definitions, Queue};
use crate::shape::QUEUE_DEFAULT;
use parades_config::{ConfigError, is_executed, nearest, quoted};
use parades_core::budget::{self, Exceeded};
use parades_core::time::Delay;
use parades_packet::description::{Back, Framing, Link};
use parades_packet::impairment::Impairments;
use parades_packet::queue::QueueLimit;
use std::collections::BTreeMap;
use std::ops::Range;

/// The largest number of nodes and of links. It bounds the cost of a mistaken exponent.
pub(crate) const NODES_MAX: usize = 1 << 24;

/// The memory that a node takes while a network is built, in bytes, estimated low: names and their order.
const NODE_BYTES: u64 = 300;
/// The memory that a link takes while a network is built, in bytes, estimated low.
const LINK_BYTES: u64 = 450;
/// The number of nodes or links after which the memory taken is checked again.
const GROWTH_PERIOD: usize = 1 << 15;

/// The quality of links that a table gives. Defaults fill the gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quality {
    pub(crate) rate_bps: Option<u64>,
    /// The rate of the way back, if it differs.
    pub(crate) rate_back_bps: Option<u64>,
    pub(crate) delay: Option<Delay>,
    pub(crate) queue: Option<Queue>,
    /// The queue of the way back, if it differs.
    pub(crate) queue_back: Option<Queue>,
    pub(crate) mtu: Option<u32>,
    pub(crate) framing: Option<Framing>,
    pub(crate) loss: Option<f64>,
    pub(crate) impairments: Option<Impairments>,
}

impl Quality {
    /// Reads the quality from a table.
    pub(crate) fn of(fields: &Fields<'_>, definitions: &Definitions) -> Result<Quality, ConfigError> {
        Ok(Quality {
            rate_bps: fields.has("rate").then(|| fields.rate("rate")).transpose()?,
            delay: fields.has("delay").then(|| fields.duration("delay")).transpose()?,
            rate_back_bps: fields.gives("rate_back").then(|| fields.rate("rate_back")).transpose()?,
            queue: definitions.queue(fields, "queue")?,
            queue_back: if fields.gives("queue_back") { definitions.queue(fields, "queue_back")? } else { None },
            mtu: fields.has("mtu").then(|| mtu(fields)).transpose()?,
            framing: framing(fields)?,
            loss: fields.has("loss").then(|| fields.float("loss")).transpose()?,
            impairments: definitions.impairments(fields)?,
        })
    }

    /// Fills the gaps from another quality.
    pub(crate) fn or(&self, other: &Quality) -> Quality {
        Quality {
            rate_bps: self.rate_bps.or(other.rate_bps),
            rate_back_bps: self.rate_back_bps.or(other.rate_back_bps),
            queue_back: self.queue_back.as_ref().or(other.queue_back.as_ref()).cloned(),
            mtu: self.mtu.or(other.mtu),
            delay: self.delay.or(other.delay),
            queue: self.queue.as_ref().or(other.queue.as_ref()).cloned(),
            framing: self.framing.or(other.framing),
            loss: self.loss.or(other.loss),
            impairments: self.impairments.or(other.impairments),
        }
    }

    /// Makes a link of this quality. A missing rate or delay is an error of the table.
    pub(crate) fn link(&self, fields: &Fields<'_>, name: String, from: u32, to: u32) -> Result<Link, ConfigError> {
        let missing = |key: &str, example: &str| {
            let message = format!("nothing says the {key} of the link `{name}`");
            fields.reader.error(
                &fields.span,
                message,
                format!("add `{key} = \"{example}\"` here or below `[defaults]`"),
            )
        };
        let rate_bps = self.rate_bps.ok_or_else(|| missing("rate", "10Mbps"))?;
        let delay = self.delay.ok_or_else(|| missing("delay", "5ms"))?;
        let usual = Queue { discipline: QueueLimit::Packets(QUEUE_DEFAULT).into(), device: 0 };
        let Queue { discipline: queue, device } = self.queue.clone().unwrap_or(usual);
        let impairments = self.impairments.unwrap_or_default();
        let (loss, framing) = (self.loss.unwrap_or(0.0), self.framing.unwrap_or_default());
        let differs = self.rate_back_bps.is_some() || self.queue_back.is_some();
        let back = differs.then(|| {
            let queue = self.queue_back.clone().unwrap_or_else(|| Queue { discipline: queue.clone(), device });
            let rate_bps = self.rate_back_bps.unwrap_or(rate_bps);
            Box::new(Back { rate_bps, queue: queue.discipline, device: queue.device })
        });
        let link = Link { from, to, rate_bps, delay, loss, name, framing, ..Link::default() };
        Ok(Link { queue, device, impairments, back, ..link })
    }
}

/// Reads the key `mtu`.
fn mtu(fields: &Fields<'_>) -> Result<u32, ConfigError> {
    let bytes = fields.size("mtu")?;
    u32::try_from(bytes).ok().filter(|bytes| (MTU_LEAST..=MTU_MOST).contains(bytes)).ok_or_else(|| {
        let message =
            format!("`mtu` is {bytes}B, and a link carries IP packets of {MTU_LEAST}B, and none above {MTU_MOST}B");
        fields.wrong("mtu", message, "write for example `\"1500B\"`")
    })
}

/// The least MTU of a link (RFC 791, section 3.2).
const MTU_LEAST: u32 = 68;
/// The largest IP packet.
const MTU_MOST: u32 = 65_535;

/// Reads the key `framing`.
fn framing(fields: &Fields<'_>) -> Result<Option<Framing>, ConfigError> {
    if !fields.has("framing") {
        return Ok(None);
    }
    Ok(Some(match fields.choice("framing")? {
        "ppp" => Framing::Ppp,
        "ethernet" => Framing::Ethernet,
        _ => Framing::None,
    }))
}

/// The help for an impossible name.
pub(crate) const NAMES: &str = "leave out `*` and control characters, and `$` at the start";

/// Returns true if a node or link may have this name. Other tables must be able to refer to it.
pub(crate) fn is_name(name: &str) -> bool {
    !(name.is_empty() || name.starts_with('$') || name.contains('*') || name.contains(is_executed))
}

/// Nodes and links so far.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) definitions: Definitions,
    pub(crate) nodes: Vec<String>,
    numbers: BTreeMap<String, u32>,
    pub(crate) links: Vec<Link>,
    link_numbers: BTreeMap<String, (u32, Range<usize>)>,
    pairs: BTreeMap<(u32, u32), Range<usize>>,
    /// The MTU of each link that has one.
    pub(crate) mtus: BTreeMap<u32, u32>,
}

impl Draft {
    /// Checks that more nodes and links fit, before they are made. The error is at the key of a table.
    pub(crate) fn reserve(&self, fields: &Fields<'_>, key: &str, nodes: u64, links: u64) -> Result<(), ConfigError> {
        let most = NODES_MAX as u64;
        for (noun, more, before) in [("nodes", nodes, self.nodes.len()), ("links", links, self.links.len())] {
            if more.saturating_add(before as u64) > most {
                let beside = if before > 0 { format!(" beside the {before} before it") } else { String::new() };
                let message = format!("this makes {more} {noun}{beside}, and a network has at most {most}");
                return Err(fields.wrong(key, message, "make it smaller"));
            }
        }
        let bytes = nodes.saturating_mul(NODE_BYTES).saturating_add(links.saturating_mul(LINK_BYTES));
        budget::check(bytes).map_err(|Exceeded { limit, needed }| {
            let [limit, needed] = [limit, needed].map(|bytes| format!("{:.1} MB", bytes as f64 / 1e6));
            let message = format!(
                "this makes {nodes} nodes and {links} links, and the network would take about {needed} of memory, \
                 above the limit of {limit}"
            );
            fields.wrong(key, message, "make it smaller, or raise the memory limit")
        })
    }

    /// Checks the memory that was taken, from time to time.
    fn check_growth(&self, reader: Reader<'_>, span: &Range<usize>, count: usize) -> Result<(), ConfigError> {
        if !count.is_multiple_of(GROWTH_PERIOD) || count == 0 {
            return Ok(());
        }
        budget::check(0)
            .map_err(|why| reader.error(span, why.to_string(), "make it smaller, or raise the memory limit"))
    }

    /// Adds a node.
    pub(crate) fn node(&mut self, reader: Reader<'_>, name: String, span: &Range<usize>) -> Result<u32, ConfigError> {
        if !is_name(&name) {
            return Err(reader.error(span, format!("{} is no name for a node", quoted(&name)), NAMES));
        }
        if self.nodes.len() >= NODES_MAX {
            return Err(reader.error(span, format!("the network has more than {NODES_MAX} nodes"), "make it smaller"));
        }
        self.check_growth(reader, span, self.nodes.len())?;
        let number = u32::try_from(self.nodes.len()).expect("the number of nodes is bounded");
        if self.numbers.insert(name.clone(), number).is_some() {
            return Err(reader.error(
                span,
                format!("there are two nodes of the name {}", quoted(&name)),
                "give one another name",
            ));
        }
        self.nodes.push(name);
        Ok(number)
    }

    /// Adds the link of a table, which gives it a name or does not.
    pub(crate) fn link(
        &mut self,
        reader: Reader<'_>,
        link: Link,
        span: &Range<usize>,
        is_named: bool,
    ) -> Result<(), ConfigError> {
        let pair = (link.from.min(link.to), link.from.max(link.to));
        let [a, b] = [link.from, link.to].map(|node| quoted(&self.nodes[node as usize]));
        if link.from == link.to {
            return Err(reader.error(span, format!("a link joins {a} to itself"), "give it two different ends"));
        }
        if let (Some(before), false) = (self.pairs.get(&pair), is_named) {
            let line = reader.source.spot(before.clone()).line;
            let message = format!("{a} and {b} are linked twice, first in line {line}");
            return Err(reader.error(span, message, "leave one out, or give the second a `name` of its own"));
        }
        self.pairs.entry(pair).or_insert_with(|| span.clone());
        self.add(reader, link, span)
    }

    /// Adds a link of a generated part. Several of them may join two nodes.
    pub(crate) fn parallel_link(
        &mut self,
        reader: Reader<'_>,
        mut link: Link,
        span: &Range<usize>,
    ) -> Result<(), ConfigError> {
        let base = link.name.clone();
        for copy in 2.. {
            if !self.link_numbers.contains_key(&link.name) {
                break;
            }
            link.name = format!("{base}#{copy}");
        }
        self.pairs.entry((link.from.min(link.to), link.from.max(link.to))).or_insert_with(|| span.clone());
        self.add(reader, link, span)
    }

    fn add(&mut self, reader: Reader<'_>, link: Link, span: &Range<usize>) -> Result<(), ConfigError> {
        if self.links.len() >= NODES_MAX {
            return Err(reader.error(span, format!("the network has more than {NODES_MAX} links"), "make it smaller"));
        }
        self.check_growth(reader, span, self.links.len())?;
        let number = u32::try_from(self.links.len()).expect("the number of links is bounded");
        if let Some((_, before)) = self.link_numbers.get(&link.name) {
            let line = reader.source.spot(before.clone()).line;
            let message = format!("there are two links of the name {}, the first in line {line}", quoted(&link.name));
            return Err(reader.error(span, message, "give one another `name`"));
        }
        self.link_numbers.insert(link.name.clone(), (number, span.clone()));
        self.links.push(link);
        Ok(())
    }

    /// Sets the MTU of the last link.
    pub(crate) fn set_mtu(&mut self, mtu: Option<u32>) {
        let last = u32::try_from(self.links.len() - 1).expect("the number of links is bounded");
        self.mtus.extend(mtu.map(|mtu| (last, mtu)));
    }

    /// Returns true if a link joins two nodes.
    pub(crate) fn are_linked(&self, a: u32, b: u32) -> bool {
        self.pairs.contains_key(&(a.min(b), a.max(b)))
    }

    /// Returns the name of a link to which no table gives one.
    pub(crate) fn link_name(&self, from: u32, to: u32) -> String {
        format!("{}-{}", self.nodes[from as usize], self.nodes[to as usize])
    }

    /// Returns the nodes that names and patterns stand for, in the order of the list. The nodes of a pattern
    /// are in order.
    pub(crate) fn select_nodes(
        &self,
        reader: Reader<'_>,
        of: &[(String, Range<usize>)],
    ) -> Result<Vec<u32>, ConfigError> {
        let names = || self.nodes.iter().map(String::as_str);
        select(reader, "node", of, names, |name| self.numbers.get(name).copied())
    }

    /// Returns the links that names and patterns stand for. A link `a-b` is also found as `b-a`.
    pub(crate) fn select_links(
        &self,
        reader: Reader<'_>,
        of: &[(String, Range<usize>)],
    ) -> Result<Vec<u32>, ConfigError> {
        let names = || self.links.iter().map(|link| link.name.as_str());
        let turned = |name: &str| {
            let ends = name.match_indices('-').map(|(at, _)| (&name[..at], &name[at + 1..]));
            ends.into_iter().find_map(|(a, b)| self.link_numbers.get(&format!("{b}-{a}")))
        };
        select(reader, "link", of, names, |name| {
            self.link_numbers.get(name).or_else(|| turned(name)).map(|known| known.0)
        })
    }
}

/// Returns the numbers of the things that names and patterns stand for. `names` returns all names, for
/// patterns and for help if a name is unknown. `number` returns the number of a name.
pub(crate) fn select<'n, N: Iterator<Item = &'n str>>(
    reader: Reader<'_>,
    noun: &str,
    of: &[(String, Range<usize>)],
    names: impl Fn() -> N,
    number: impl Fn(&str) -> Option<u32>,
) -> Result<Vec<u32>, ConfigError> {
    let mut selected = Vec::new();
    for (pattern, span) in of {
        if pattern.contains('*') {
            let before = selected.len();
            selected.extend((0..).zip(names()).filter(|(_, name)| matches(pattern, name)).map(|(number, _)| number));
            if selected.len() == before {
                let help = names().next().map_or_else(
                    || format!("there is no {noun} at all"),
                    |name| format!("one {noun} is {}", quoted(name)),
                );
                return Err(reader.error(span, format!("no {noun} has a name like {}", quoted(pattern)), help));
            }
            continue;
        }
        let Some(number) = number(pattern) else {
            let help = match (nearest(pattern, names()), names().next()) {
                (Some(near), _) => format!("did you mean {}?", quoted(near)),
                (None, None) => format!("there is no {noun} at all"),
                (None, Some(first)) if names().nth(1).is_none() => {
                    format!("the only {noun} is {}", quoted(first))
                }
                (None, Some(first)) => format!(
                    "there are {} {noun}s, of which the first is {}; `*` stands for any letters",
                    names().count(),
                    quoted(first)
                ),
            };
            return Err(reader.error(span, format!("there is no {noun} {}", quoted(pattern)), help));
        };
        selected.push(number);
    }
    Ok(selected)
}

/// Returns true if a name matches a pattern, in which `*` stands for any letters. Takes time with the product
/// of their lengths at most.
///
/// ```
/// use parades_netfile::matches;
///
/// assert!(matches("west.*", "west.0") && !matches("west.*", "east.0"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, expected) in [
            ("west.*", "west.0", true),
            ("west.*", "west", false),
            ("*", "", true),
            ("*.0", "a.0", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("a", "a", true),
            ("a", "ab", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}

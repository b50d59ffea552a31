//! Topologies as HPCC's simulator, SimAI and other RDMA simulators on ns-3 read them: words between white
//! space.
//!
//! The first line has the numbers of nodes, switches and links. SimAI's has six words: nodes, GPUs of a
//! server, switches within servers, switches, links, and the kind of GPU. The ids of all switches follow, and
//! then five words for each link: two nodes, rate, delay, and the probability that a packet is lost.
//!
//! Source: Y. Li and others, "HPCC: High Precision Congestion Control", SIGCOMM 2019, its simulator's
//! `topology.txt`.

use super::collector::{Collector, Document, Value};
use super::edge_list::first_line;
use super::names::Of;
use super::tokens::Words;
use super::{EDGES_MAX, NODES_MAX};
use parades_config::{Fault, quoted};
use std::collections::BTreeSet;

/// The first line of a file.
struct Counts<'t> {
    nodes: u64,
    switches: u64,
    links: u64,
    /// The GPUs of a server and their kind, which change no network.
    gpus: Option<[&'t str; 2]>,
}

/// Returns the counts of a first line; `None` if it is none.
fn counts(line: &str) -> Option<Counts<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |place: usize| words[place].parse::<u64>().ok();
    match words.len() {
        3 => Some(Counts { nodes: number(0)?, switches: number(1)?, links: number(2)?, gpus: None }),
        6 if number(5).is_none() => {
            number(1)?;
            let switches = number(2)?.checked_add(number(3)?)?;
            Some(Counts { nodes: number(0)?, switches, links: number(4)?, gpus: Some([words[1], words[5]]) })
        }
        _ => None,
    }
}

/// Returns true if a text begins as such a topology.
pub(super) fn is_topology(text: &str) -> bool {
    first_line(text).and_then(counts).is_some()
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let line = first_line(text).unwrap_or_default();
    let begin = line.as_ptr().addr() - text.as_ptr().addr();
    let Counts { nodes, switches, links, gpus } = counts(line).expect("`is_topology` has read the line");
    if nodes > NODES_MAX as u64 || links > EDGES_MAX as u64 {
        let message = format!("the file has {nodes} nodes and {links} links");
        return Err(Fault::new(begin, message, format!("at most {NODES_MAX} nodes and {EDGES_MAX} links are read")));
    }
    let mut words = Words::new(text, begin + line.len());
    let mut collector = Collector::default();
    if let Some([of_server, kind]) = gpus {
        collector.graph_value("gpus per server", of_server, begin)?;
        collector.graph_value("gpu type", kind, begin)?;
    }
    for node in 0..nodes {
        collector.node(node.to_string(), &[], begin)?;
    }
    let below = |id: u64, offset: usize| {
        let message = || format!("node {id} is beyond the {nodes} nodes of the first line");
        if id < nodes { Ok(id) } else { Err(Fault::new(offset, message(), "nodes are numbered from 0")) }
    };
    let mut known = BTreeSet::new();
    for _ in 0..switches {
        let word = words.word("the id of a switch")?;
        let id = word.text.parse::<u64>().ok().filter(|id| *id < nodes && known.insert(*id));
        if id.is_none() {
            let message = format!("{} is no switch, or one for the second time", quoted(word.text));
            return Err(Fault::new(word.offset, message, format!("the first line promises the ids of {switches}")));
        }
    }
    let names = ["rate", "delay", "lossrate"].map(|name| collector.name(Of::Edge, name, begin));
    let [rate, delay, loss] = names;
    let names = [rate?, delay?, loss?];
    for _ in 0..links {
        let offset = words.clone().next().map_or(text.len(), |word| word.offset);
        let (source, target) = (words.number("an end of a link")?, words.number("an end of a link")?);
        let mut values = Vec::new();
        for (name, noun) in names.into_iter().zip(["a rate", "a delay", "a probability of loss"]) {
            let word = words.word(noun)?;
            values.push(Value { name, text: word.text.to_owned(), offset: word.offset });
        }
        let (source, target) = (below(source, offset)?, below(target, offset)?);
        collector.edge(&source.to_string(), &target.to_string(), false, &values, offset)?;
    }
    match words.next() {
        None => collector.finish(begin),
        Some(word) => {
            let message = format!("{} stands behind the {links} links of the first line", quoted(word.text));
            Err(Fault::new(word.offset, message, "correct the number of links in the first line"))
        }
    }
}

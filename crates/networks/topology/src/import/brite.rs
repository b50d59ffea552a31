//! Topologies as BRITE writes them: a header, a line for each node, and a line for each edge.
//!
//! A node's line has its id and its place in a plane, which is no place on Earth. An edge's has its id, its
//! ends, its length, its delay in milliseconds (-1 between autonomous systems) and its bandwidth in Mbit/s.
//!
//! Source: A. Medina, A. Lakhina, I. Matta, J. Byers, "BRITE: Universal Topology Generation from a User's
//! Perspective", 2001, tables 5 and 6; ns-3's `BriteTopologyHelper` has the units.

use super::collector::{Collector, Document, Value};
use super::edge_list::first_line;
use super::names::Of;
use parades_config::{Fault, quoted};

/// Returns true if a text begins as BRITE's do.
pub(super) fn is_brite(text: &str) -> bool {
    first_line(text).is_some_and(|line| line.starts_with("Topology:"))
}

/// The part of a file that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Header,
    Nodes,
    Edges,
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let mut collector = Collector::default();
    let rate = collector.name(Of::Edge, "bandwidth_mbps", 0)?;
    let delay = collector.name(Of::Edge, "delay_ms", 0)?;
    let (mut section, mut graph, mut offset) = (Section::Header, 0, 0);
    for line in text.split_inclusive('\n') {
        let at = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        let words: Vec<&str> = line.split_whitespace().collect();
        let cut_off = |wanted: &str| {
            let message = format!("this line has {} words; {wanted}", words.len());
            Fault::new(at, message, "compare the file with its source")
        };
        match (words.first().copied(), section) {
            (None, _) => {}
            (Some(word), _) if word.starts_with("Nodes:") => (section, graph) = (Section::Nodes, at),
            (Some(word), _) if word.starts_with("Edges:") => section = Section::Edges,
            (Some(_), Section::Header) => {}
            (Some(id), Section::Nodes) => {
                whole(id, at)?;
                collector.node(id.to_owned(), &[], at)?;
            }
            (Some(_), Section::Edges) => {
                let [_, source, target, _, ms, mbps, ..] = words[..] else {
                    return Err(cut_off("an edge has an id, two ends, a length, a delay and a bandwidth"));
                };
                let value = |name: usize, text: &str| Value { name, text: text.to_owned(), offset: at };
                let is_given = |text: &str| text.parse::<f64>().is_ok_and(|number| number > 0.0);
                let mut values = Vec::new();
                // -1 says that there is none.
                values.extend(is_given(mbps).then(|| value(rate, mbps)));
                values.extend((!ms.starts_with('-')).then(|| value(delay, ms)));
                // The type at the end is `U` for an edge without a direction.
                collector.edge(whole(source, at)?, whole(target, at)?, words.last() == Some(&"D"), &values, at)?;
            }
        }
    }
    collector.finish(graph)
}

/// Returns the word if it is the id of a node.
fn whole(id: &str, offset: usize) -> Result<&str, Fault> {
    let wrong = || Fault::new(offset, format!("{} is no id of a node", quoted(id)), "write a whole number");
    id.parse::<u64>().map(|_| id).map_err(|_| wrong())
}

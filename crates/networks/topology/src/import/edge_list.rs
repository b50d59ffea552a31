//! Lists of edges, as SNAP and others write graphs of autonomous systems: a line for each edge, with the ids
//! of its two ends.

use super::collector::{Collector, Document};
use parades_config::{Fault, quoted};
use std::collections::BTreeSet;

/// Returns true if a text is a list of edges: its first line that is no remark begins with a number.
pub(super) fn is_list(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| line.starts_with(|first: char| first.is_ascii_digit()))
}

/// Reads a whole file. An edge that the file has twice, in one direction or in both, is one edge.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let mut collector = Collector::default();
    let (mut nodes, mut edges) = (BTreeSet::new(), BTreeSet::new());
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let at = offset + (line.len() - line.trim_start().len());
        offset += line.len();
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[source, target] = words.as_slice() else {
            let message = format!("this line has {} words, not the two ends of an edge", words.len());
            let help = "write two ids; GraphML can hold latencies";
            return Err(Fault::new(at, message, help));
        };
        for id in [source, target] {
            if id.parse::<u64>().is_err() {
                let message = format!("{} is no id of a node", quoted(id));
                return Err(Fault::new(at, message, "write whole numbers"));
            }
            if nodes.insert(id) {
                collector.node(id.to_owned(), &[], at)?;
            }
        }
        if edges.insert((source.min(target), source.max(target))) {
            collector.edge(source, target, false, &[], at)?;
        }
    }
    collector.finish(0)
}

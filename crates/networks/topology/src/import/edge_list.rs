//! Lists of edges, as SNAP and CAIDA write graphs of autonomous systems: a line for each edge, with the ids
//! of its two ends.
//!
//! CAIDA separates with `|`, and adds the relationship of the two (-1: provider and customer, 0: peers) and
//! its source. Neither changes a network here.
//!
//! Source: CAIDA's "AS Relationships", README of serial-1 and serial-2.

use super::collector::{Collector, Document, Value};
use super::names::Of;
use parades_config::{Fault, quoted};
use std::collections::BTreeSet;

/// Returns true if a text is a list of edges: its first line that is no remark begins with a number.
pub(super) fn is_list(text: &str) -> bool {
    first_line(text).is_some_and(|line| line.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the first line that is neither empty nor a remark.
pub(super) fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim_start).find(|line| !line.is_empty() && !line.starts_with('#'))
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
        let (source, target, relationship) = ends(line, at)?;
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
            let mut values = Vec::new();
            if let Some(text) = relationship {
                let name = collector.name(Of::Edge, "relationship", at)?;
                values.push(Value { name, text: text.to_owned(), offset: at });
            }
            collector.edge(source, target, false, &values, at)?;
        }
    }
    collector.finish(0)
}

/// Returns the two ends of an edge, and their relationship if the line has one. The line begins at byte `at`.
fn ends(line: &str, at: usize) -> Result<(&str, &str, Option<&str>), Fault> {
    if line.contains('|') {
        let words: Vec<&str> = line.trim().split('|').map(str::trim).collect();
        return match words[..] {
            [source, target] => Ok((source, target, None)),
            [source, target, relationship] | [source, target, relationship, _] => {
                Ok((source, target, Some(relationship)))
            }
            _ => {
                let message = format!("this line has {} parts between `|`", words.len());
                Err(Fault::new(at, message, "write the two ends of an edge, as in `174|3356|0`"))
            }
        };
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[source, target] = words.as_slice() else {
        let message = format!("this line has {} words, not the two ends of an edge", words.len());
        return Err(Fault::new(at, message, "write two ids; GraphML can hold latencies"));
    };
    Ok((source, target, None))
}

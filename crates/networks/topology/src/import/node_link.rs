//! Node-link JSON, as networkx and D3 write it: an object with `nodes` and `links` (or `edges`). And networkx's
//! adjacency JSON, which has `adjacency` in place of links: for each node, the list of its neighbours.
//!
//! Where no node has an `id`, as networkx 1 and D3 3 write it, a number at the end of a link is the place of a
//! node, counted from 0.

use super::collector::{Collector, Document, Value};
use super::names::Of;
use parades_config::{Fault, one_line};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// An object whose values are not read yet. Each value is a part of the file's text.
type Object<'t> = BTreeMap<String, &'t RawValue>;

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let place = |line: usize, column: usize| {
        let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        (start + column.saturating_sub(1)).min(text.len())
    };
    let top: Object<'_> = serde_json::from_str(text).map_err(|why| {
        let why_text = why.to_string();
        let message =
            format!("this is not node-link JSON: {}", one_line(why_text.split(" at line").next().unwrap_or("")));
        Fault::new(place(why.line(), why.column()), message, "write `{\"nodes\": [...], \"links\": [...]}`")
    })?;
    let file = File { text };
    let mut collector = Collector::default();
    let is_directed = top.get("directed").is_some_and(|value| value.get() == "true");
    for (key, value) in &top {
        if matches!(key.as_str(), "nodes" | "links" | "edges" | "adjacency" | "directed" | "multigraph") {
            continue;
        }
        match serde_json::from_str::<Object<'_>>(value.get()) {
            // networkx keeps the values of the graph in `graph`.
            Ok(values) if key == "graph" => {
                for (name, value) in &values {
                    collector.graph_value(name, &plain(value), file.offset(value))?;
                }
            }
            _ => collector.graph_value(key, &plain(value), file.offset(value))?,
        }
    }
    let nodes = top.get("nodes").ok_or_else(|| Fault::new(0, "the object has no `nodes`", "give a node-link file"))?;
    let mut ids = Vec::new();
    let mut has_ids = false;
    for node in file.list(nodes, "nodes")? {
        has_ids |= file.object(node, "a node")?.contains_key("id");
        ids.push(file.node(node, &mut collector)?);
    }
    let places: &[String] = if has_ids { &[] } else { &ids };
    match (top.get("links"), top.get("edges")) {
        (None, None) => {
            if let Some(adjacency) = top.get("adjacency") {
                file.adjacency(adjacency, &ids, is_directed, &mut collector)?;
            }
        }
        (Some(_), Some(edges)) => {
            return Err(Fault::new(file.offset(edges), "`edges` stands beside `links`", "keep one of the two"));
        }
        (links, edges) => {
            if let Some(list) = links.or(edges) {
                for edge in file.list(list, "links")? {
                    file.edge(edge, places, is_directed, &mut collector)?;
                }
            }
        }
    }
    collector.finish(file.offset(nodes))
}

/// The text of the file.
struct File<'t> {
    text: &'t str,
}

impl<'t> File<'t> {
    /// Returns the first byte of a value, which is a part of the text.
    fn offset(&self, value: &RawValue) -> usize {
        value.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len())
    }

    fn list(&self, value: &'t RawValue, name: &str) -> Result<Vec<&'t RawValue>, Fault> {
        let wrong =
            |_| Fault::new(self.offset(value), format!("`{name}` must be a list"), "write `[` and `]` around it");
        serde_json::from_str(value.get()).map_err(wrong)
    }

    fn object(&self, value: &'t RawValue, noun: &str) -> Result<Object<'t>, Fault> {
        let wrong =
            |_| Fault::new(self.offset(value), format!("{noun} must be an object"), "write `{` and `}` around it");
        serde_json::from_str(value.get()).map_err(wrong)
    }

    /// Reads a node, and returns its id.
    fn node(&self, value: &'t RawValue, collector: &mut Collector) -> Result<String, Fault> {
        let (object, offset) = (self.object(value, "a node")?, self.offset(value));
        // D3's examples name nodes by `name`.
        let id = object.get("id").or_else(|| object.get("name"));
        let id = id.ok_or_else(|| Fault::new(offset, "a node has no `id`", "give it one"))?;
        let values = self.values(Of::Node, &object, &["id"], collector)?;
        collector.node(plain(id), &values, offset)?;
        Ok(plain(id))
    }

    /// Reads a link. `places` has the nodes by their places, if numbers stand for those.
    fn edge(
        &self,
        value: &'t RawValue,
        places: &[String],
        is_directed: bool,
        collector: &mut Collector,
    ) -> Result<(), Fault> {
        let (object, offset) = (self.object(value, "a link")?, self.offset(value));
        let end = |name: &str| -> Result<String, Fault> {
            let missing = || Fault::new(offset, format!("a link has no `{name}`"), "give it the id of a node");
            let id = object.get(name).ok_or_else(missing)?;
            let named = id.get().parse::<usize>().ok().and_then(|place| places.get(place));
            Ok(named.cloned().unwrap_or_else(|| plain(id)))
        };
        let (source, target) = (end("source")?, end("target")?);
        let values = self.values(Of::Edge, &object, &["source", "target"], collector)?;
        collector.edge(&source, &target, is_directed, &values, offset)
    }

    /// Reads the neighbours of each node, in the order of nodes. A link without a direction stands at both of its
    /// ends, and is read at the first.
    fn adjacency(
        &self,
        value: &'t RawValue,
        ids: &[String],
        is_directed: bool,
        collector: &mut Collector,
    ) -> Result<(), Fault> {
        let places: BTreeMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
        let lists = self.list(value, "adjacency")?;
        if lists.len() != ids.len() {
            let message = format!("`adjacency` has {} lists, and there are {} nodes", lists.len(), ids.len());
            return Err(Fault::new(self.offset(value), message, "give each node a list of its neighbours"));
        }
        for (place, list) in lists.into_iter().enumerate() {
            for neighbour in self.list(list, "adjacency")? {
                let (object, offset) = (self.object(neighbour, "a neighbour")?, self.offset(neighbour));
                let id =
                    object.get("id").ok_or_else(|| Fault::new(offset, "a neighbour has no `id`", "give it one"))?;
                let id = plain(id);
                if !is_directed && places.get(id.as_str()).is_some_and(|&other| other < place) {
                    continue;
                }
                let values = self.values(Of::Edge, &object, &["id", "key"], collector)?;
                collector.edge(&ids[place], &id, is_directed, &values, offset)?;
            }
        }
        Ok(())
    }

    /// Returns the values of a node or link, but for those of the names `but`.
    fn values(
        &self,
        of: Of,
        object: &Object<'_>,
        but: &[&str],
        collector: &mut Collector,
    ) -> Result<Vec<Value>, Fault> {
        let given = object.iter().filter(|(name, value)| !but.contains(&name.as_str()) && value.get() != "null");
        let value = |(name, value): (&String, &&RawValue)| {
            let offset = self.offset(value);
            Ok(Value { name: collector.name(of, name, offset)?, text: plain(value), offset })
        };
        given.map(value).collect()
    }
}

/// Returns a value as plain text: a text without its quotes.
fn plain(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

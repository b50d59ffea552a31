//! Node-link JSON, as networkx and D3 write it: an object with `nodes` and `links` (or `edges`).

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
        if matches!(key.as_str(), "nodes" | "links" | "edges" | "directed" | "multigraph") {
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
    for node in file.list(nodes, "nodes")? {
        file.node(node, &mut collector)?;
    }
    match (top.get("links"), top.get("edges")) {
        (Some(_), Some(edges)) => {
            return Err(Fault::new(file.offset(edges), "`edges` stands beside `links`", "keep one of the two"));
        }
        (links, edges) => {
            if let Some(list) = links.or(edges) {
                for edge in file.list(list, "links")? {
                    file.edge(edge, is_directed, &mut collector)?;
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

    fn node(&self, value: &'t RawValue, collector: &mut Collector) -> Result<(), Fault> {
        let (object, offset) = (self.object(value, "a node")?, self.offset(value));
        // D3's examples name nodes by `name`.
        let id = object.get("id").or_else(|| object.get("name"));
        let id = id.ok_or_else(|| Fault::new(offset, "a node has no `id`", "give it one"))?;
        let values = self.values(Of::Node, &object, &["id"], collector)?;
        collector.node(plain(id), &values, offset)
    }

    fn edge(&self, value: &'t RawValue, is_directed: bool, collector: &mut Collector) -> Result<(), Fault> {
        let (object, offset) = (self.object(value, "a link")?, self.offset(value));
        let end = |name: &str| {
            let missing = || Fault::new(offset, format!("a link has no `{name}`"), "give it the id of a node");
            object.get(name).map(|id| plain(id)).ok_or_else(missing)
        };
        let (source, target) = (end("source")?, end("target")?);
        let values = self.values(Of::Edge, &object, &["source", "target"], collector)?;
        collector.edge(&source, &target, is_directed, &values, offset)
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

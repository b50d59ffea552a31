//! Graphs as JSON: node-link and adjacency data, as networkx and D3 write them, and Cytoscape's form.

use super::collector::{Collector, Document, Value};
use super::names::Of;
use parades_config::{Fault, one_line};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

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
            format!("this is no graph in JSON: {}", one_line(why_text.split(" at line").next().unwrap_or("")));
        Fault::new(place(why.line(), why.column()), message, "write `{\"nodes\": [...], \"links\": [...]}`")
    })?;
    let is_directed = top.get("directed").is_some_and(|value| value.get() == "true");
    let mut file = File { text, is_directed, collector: Collector::default() };
    file.graph_values(&top)?;
    let graph = match (top.get("nodes"), top.get("elements")) {
        (_, Some(elements)) => file.cytoscape(elements)?,
        (Some(nodes), None) => match (top.get("links"), top.get("edges"), top.get("adjacency")) {
            (Some(_), Some(edges), _) => {
                return Err(Fault::new(file.offset(edges), "`edges` stands beside `links`", "keep one of the two"));
            }
            (None, None, Some(adjacency)) => file.adjacency(nodes, adjacency)?,
            (links, edges, _) => file.node_link(nodes, links.or(edges))?,
        },
        (None, None) if top.contains_key("children") => {
            return Err(Fault::new(0, "this is a tree (networkx's `tree_data`)", "save it as node-link data"));
        }
        (None, None) => return Err(Fault::new(0, "the object has no `nodes`", "give a node-link file")),
    };
    file.collector.finish(graph)
}

/// A file while it is read.
struct File<'t> {
    text: &'t str,
    is_directed: bool,
    collector: Collector,
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

    /// Takes the values of the whole graph. networkx keeps them in `graph`, Cytoscape in `data`.
    fn graph_values(&mut self, top: &Object<'t>) -> Result<(), Fault> {
        const PARTS: &[&str] = &["nodes", "links", "edges", "adjacency", "elements", "directed", "multigraph"];
        for (key, value) in top.iter().filter(|(key, _)| !PARTS.contains(&key.as_str())) {
            match serde_json::from_str::<Object<'_>>(value.get()) {
                Ok(values) if matches!(key.as_str(), "graph" | "data") => {
                    for (name, value) in &values {
                        let offset = self.offset(value);
                        self.collector.graph_value(name, &plain(value), offset)?;
                    }
                }
                _ if value.get() == "[]" => {}
                _ => {
                    let offset = self.offset(value);
                    self.collector.graph_value(key, &plain(value), offset)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a list of nodes and a list of links. Returns the place of the graph.
    fn node_link(&mut self, nodes: &'t RawValue, links: Option<&&'t RawValue>) -> Result<usize, Fault> {
        let ids = self.nodes(nodes)?;
        let Some(links) = links else { return Ok(self.offset(nodes)) };
        let links = self.list(links, "links")?.into_iter().map(|link| {
            let (object, offset) = (self.object(link, "a link")?, self.offset(link));
            let end = |name: &str| object.get(name).copied().ok_or_else(|| no_end(offset, "a link", name));
            Ok(Edge { source: end("source")?, target: end("target")?, object, offset })
        });
        let links = links.collect::<Result<Vec<Edge<'t>>, Fault>>()?;
        let by_index = is_by_index(&ids, &links);
        for link in links {
            let end = |value: &RawValue| match by_index {
                true => value.get().parse::<usize>().map_or_else(|_| plain(value), |index| ids[index].clone()),
                false => plain(value),
            };
            let (source, target) = (end(link.source), end(link.target));
            self.edge(&link, &source, &target, &["source", "target"])?;
        }
        Ok(self.offset(nodes))
    }

    /// Reads a list of nodes, and beside it a list of the neighbours of each node. Returns the place of the
    /// graph.
    fn adjacency(&mut self, nodes: &'t RawValue, adjacency: &'t RawValue) -> Result<usize, Fault> {
        let ids = self.nodes(nodes)?;
        let rows = self.list(adjacency, "adjacency")?;
        if rows.len() != ids.len() {
            let message = format!("`adjacency` has {} lists for {} nodes", rows.len(), ids.len());
            return Err(Fault::new(self.offset(adjacency), message, "write a list of neighbours for each node"));
        }
        // An edge without a direction stands in the lists of both its ends.
        let mut known = BTreeSet::new();
        for (source, row) in ids.iter().zip(rows) {
            for neighbour in self.list(row, "adjacency")? {
                let (object, offset) = (self.object(neighbour, "a neighbour")?, self.offset(neighbour));
                let id = object.get("id").copied().ok_or_else(|| no_end(offset, "a neighbour", "id"))?;
                let target = plain(id);
                let key = object.get("key").map(|key| plain(key));
                let ends =
                    if *source < target { (source.clone(), target.clone()) } else { (target.clone(), source.clone()) };
                if self.is_directed || known.insert((ends, key)) {
                    self.edge(&Edge { source: id, target: id, object, offset }, source, &target, &["id"])?;
                }
            }
        }
        Ok(self.offset(nodes))
    }

    /// Reads Cytoscape's elements: an object with `nodes` and `edges`, or one list of both. Returns the place
    /// of the graph.
    fn cytoscape(&mut self, elements: &'t RawValue) -> Result<usize, Fault> {
        let mut parts = Vec::new();
        if elements.get().starts_with('[') {
            parts = self.list(elements, "elements")?;
        } else {
            let object = self.object(elements, "`elements`")?;
            for name in ["nodes", "edges"] {
                if let Some(list) = object.get(name) {
                    parts.extend(self.list(list, name)?);
                }
            }
        }
        for part in parts {
            let (element, offset) = (self.object(part, "an element")?, self.offset(part));
            let data =
                element.get("data").ok_or_else(|| Fault::new(offset, "an element has no `data`", "give it one"))?;
            let object = self.object(data, "`data`")?;
            match (object.get("source").copied(), object.get("target").copied()) {
                (None, None) => {
                    let id = object.get("id").ok_or_else(|| no_id(offset))?;
                    let values = self.values(Of::Node, &object, &["id"])?;
                    self.collector.node(plain(id), &values, offset)?;
                }
                (source, target) => {
                    let source = source.ok_or_else(|| no_end(offset, "an edge", "source"))?;
                    let target = target.ok_or_else(|| no_end(offset, "an edge", "target"))?;
                    let edge = Edge { source, target, object, offset };
                    self.edge(&edge, &plain(source), &plain(target), &["id", "source", "target"])?;
                }
            }
        }
        Ok(self.offset(elements))
    }

    /// Reads a list of nodes, and returns their ids.
    fn nodes(&mut self, list: &'t RawValue) -> Result<Vec<String>, Fault> {
        let mut ids = Vec::new();
        for node in self.list(list, "nodes")? {
            let (object, offset) = (self.object(node, "a node")?, self.offset(node));
            // D3's examples name nodes by `name`.
            let id = object.get("id").or_else(|| object.get("name")).ok_or_else(|| no_id(offset))?;
            let id = plain(id);
            let values = self.values(Of::Node, &object, &["id"])?;
            self.collector.node(id.clone(), &values, offset)?;
            ids.push(id);
        }
        Ok(ids)
    }

    fn edge(&mut self, edge: &Edge<'t>, source: &str, target: &str, but: &[&str]) -> Result<(), Fault> {
        let values = self.values(Of::Edge, &edge.object, but)?;
        self.collector.edge(source, target, self.is_directed, &values, edge.offset)
    }

    /// Returns the values of a node or edge, but for those of the names `but`.
    fn values(&mut self, of: Of, object: &Object<'t>, but: &[&str]) -> Result<Vec<Value>, Fault> {
        let given = object.iter().filter(|(name, value)| !but.contains(&name.as_str()) && value.get() != "null");
        let value = |(name, value): (&String, &&'t RawValue)| {
            let offset = self.offset(value);
            Ok(Value { name: self.collector.name(of, name, offset)?, text: plain(value), offset })
        };
        given.map(value).collect()
    }
}

/// An edge, and its ends as the file writes them.
struct Edge<'t> {
    source: &'t RawValue,
    target: &'t RawValue,
    object: Object<'t>,
    offset: usize,
}

/// True if links name their ends by their places in the list of nodes, as networkx 1 and D3 3 do: some end is
/// the id of no node, and each end is a number of a place.
fn is_by_index(ids: &[String], links: &[Edge<'_>]) -> bool {
    let ends = || links.iter().flat_map(|link| [link.source, link.target]);
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    ends().any(|end| !known.contains(plain(end).as_str()))
        && ends().all(|end| end.get().parse().is_ok_and(|place: usize| place < ids.len()))
}

fn no_id(offset: usize) -> Fault {
    Fault::new(offset, "a node has no `id`", "give it one")
}

fn no_end(offset: usize, noun: &str, name: &str) -> Fault {
    Fault::new(offset, format!("{noun} has no `{name}`"), "give it the id of a node")
}

/// Returns a value as plain text: a text without its quotes.
fn plain(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

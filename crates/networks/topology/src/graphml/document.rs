//! One pass over the XML: nodes, edges and their values, each with its first byte.

use super::fields::{Field, Values};
use super::ids::Ids;
use super::xml::{attributes, required};
use super::{DEPTH_MAX, EDGES_MAX, TOKEN_BYTES_MAX};
use crate::geo::Position;
use crate::xml::{self, Elements};
use parades_config::{Fault, quoted};
use quick_xml::events::BytesStart;
use std::collections::BTreeMap;

/// The largest number of `<key>` elements. The Topology Zoo's files have about forty.
const KEYS_MAX: usize = 1024;

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

/// A `<node>`.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) label: Option<String>,
    pub(super) position: Option<Position>,
    pub(super) hyperedge: bool,
    pub(super) external: bool,
    pub(super) offset: usize,
}

/// An `<edge>`, between nodes by their place in [`Document::nodes`].
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) source: u32,
    pub(super) target: u32,
    pub(super) rate_bps: Option<u64>,
    offset: usize,
}

/// An element that is open while its content is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Graphml,
    Key(Option<Field>),
    Default(Option<Field>),
    Graph,
    Node,
    Edge,
    Data(Option<Field>),
    /// An element that means nothing to a network. Its contents mean nothing either.
    Other,
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let mut pass = Pass { text, ..Pass::default() };
    xml::read(text, &mut pass)?;
    pass.finish()
}

/// The state of the pass.
#[derive(Debug, Default)]
struct Pass<'t> {
    text: &'t str,
    open: Vec<(Element, usize)>,
    /// The offset of the one `<graph>`.
    graph: Option<usize>,
    root_seen: bool,
    directed_default: bool,
    keys: BTreeMap<String, Option<Field>>,
    defaults: Values,
    ids: Ids,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    // Of the node or edge that is open:
    values: Values,
    id: String,
    ends: (u32, u32),
    /// The text of the `<data>` or `<default>` that is open.
    value: String,
}

impl Elements for Pass<'_> {
    const TAG_BYTES_MAX: usize = TOKEN_BYTES_MAX;
    const TEXT_BYTES_MAX: usize = TOKEN_BYTES_MAX;

    fn start(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<(), Fault> {
        if self.open.len() == DEPTH_MAX {
            return Err(Fault::new(
                offset,
                format!("elements nest more than {DEPTH_MAX} deep"),
                "GraphML needs a depth of four",
            ));
        }
        let name = tag.local_name();
        let element = match (self.open.last().map(|&(element, _)| element), name.as_ref()) {
            (None, name) => self.root(name, offset)?,
            (Some(Element::Graphml), "key") => self.key(tag, offset)?,
            (Some(Element::Graphml), "graph") => self.graph(tag, offset)?,
            (Some(Element::Key(field)), "default") => Element::Default(field),
            (Some(Element::Graph), "node") => self.node(tag, offset)?,
            (Some(Element::Graph), "edge") => self.edge(tag, offset)?,
            (Some(Element::Graph), "hyperedge") => {
                let help = "replace it by a node with an edge to each end";
                return Err(Fault::new(offset, "<hyperedge> joins any number of nodes, a link two", help));
            }
            (Some(Element::Node | Element::Edge), "graph") => {
                return Err(Fault::new(offset, "a graph lies inside a node or an edge", "flatten it into one graph"));
            }
            (Some(Element::Node | Element::Edge), "data") => self.data(tag, offset)?,
            (Some(Element::Graphml), misplaced @ ("node" | "edge")) => {
                return Err(Fault::new(offset, format!("<{misplaced}> lies outside <graph>"), "move it inside"));
            }
            _ => Element::Other,
        };
        if matches!(element, Element::Data(_) | Element::Default(_)) {
            self.value.clear();
        }
        self.open.push((element, offset));
        Ok(())
    }

    fn text(&mut self, letters: &str, offset: usize) -> Result<(), Fault> {
        match self.open.last() {
            None if letters.trim().is_empty() => {}
            None => {
                let before = letters.len() - letters.trim_start().len();
                return Err(Fault::new(
                    offset + before,
                    "there is text outside the root element",
                    "give a GraphML file",
                ));
            }
            Some((Element::Data(Some(_)) | Element::Default(Some(_)), start)) => {
                self.value.push_str(letters);
                if self.value.len() > TOKEN_BYTES_MAX {
                    let message = format!("one value is longer than {} KiB", TOKEN_BYTES_MAX >> 10);
                    return Err(Fault::new(*start, message, "shorten it; no part of a network is that long"));
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some((element, offset)) = self.open.pop() else { return Ok(()) };
        match element {
            Element::Data(Some(field)) => self.values.set(field, &self.value, offset),
            Element::Default(Some(field)) => self.defaults.set(field, &self.value, offset),
            Element::Node => self.node_ends(offset),
            Element::Edge => self.edge_ends(offset),
            _ => Ok(()),
        }
    }
}

impl Pass<'_> {
    fn root(&mut self, name: &str, offset: usize) -> Result<Element, Fault> {
        if self.root_seen {
            return Err(Fault::new(
                offset,
                "a second root element follows the first",
                "keep one <graphml> in the file",
            ));
        }
        self.root_seen = true;
        if name != "graphml" {
            let message = format!("the root element is {}, not <graphml>", quoted(name));
            return Err(Fault::new(offset, message, "give a GraphML file"));
        }
        Ok(Element::Graphml)
    }

    fn key(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        let [id, domain, name] = attributes(tag, offset, ["id", "for", "attr.name"])?;
        let id = required(id, "key", "id", offset)?;
        // Without `for`, a key is for all; without a name (as yEd writes them), it is for another program.
        let field = Field::of_key(domain.as_deref().unwrap_or("all"), name.as_deref().unwrap_or_default());
        if self.keys.len() == KEYS_MAX {
            return Err(Fault::new(
                offset,
                format!("the file has more than {KEYS_MAX} keys"),
                "delete those without use",
            ));
        }
        if self.keys.contains_key(&id) {
            return Err(Fault::new(
                offset,
                format!("the key {} is declared a second time", quoted(&id)),
                "give each key an id of its own",
            ));
        }
        self.keys.insert(id, field);
        Ok(Element::Key(field))
    }

    fn graph(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        if self.graph.is_some() {
            return Err(Fault::new(offset, "the file has a second <graph>", "keep one graph in a file"));
        }
        self.graph = Some(offset);
        let [default] = attributes(tag, offset, ["edgedefault"])?;
        self.directed_default = match default.as_deref() {
            None | Some("undirected") => false,
            Some("directed") => true,
            Some(other) => {
                let message = format!("edgedefault is {}", quoted(other));
                return Err(Fault::new(offset, message, "write `undirected`"));
            }
        };
        Ok(Element::Graph)
    }

    fn node(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        let [id] = attributes(tag, offset, ["id"])?;
        self.id = required(id, "node", "id", offset)?;
        let number = self.ids.number(&self.id, offset)?;
        let declared = &mut self.ids.nodes[number as usize];
        if declared.is_some() {
            let message = format!("the node {} is declared a second time", quoted(&self.id));
            return Err(Fault::new(offset, message, "give each node an id of its own"));
        }
        // Fewer nodes than ids, of which there are at most `NODES_MAX`.
        *declared = Some(u32::try_from(self.nodes.len()).expect("nodes are bounded"));
        self.values.clear();
        Ok(Element::Node)
    }

    fn edge(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        if self.edges.len() == EDGES_MAX {
            return Err(Fault::new(offset, format!("the file has more than {EDGES_MAX} edges"), "split it"));
        }
        let [source, target, directed] = attributes(tag, offset, ["source", "target", "directed"])?;
        let source = required(source, "edge", "source", offset)?;
        let target = required(target, "edge", "target", offset)?;
        let directed = match directed.as_deref() {
            None => self.directed_default,
            Some("true") => true,
            Some("false") => false,
            Some(other) => {
                return Err(Fault::new(offset, format!("directed is {}", quoted(other)), "write `false`"));
            }
        };
        if directed {
            let message = format!(
                "the edge from {} to {} is directed, and a link carries both directions",
                quoted(&source),
                quoted(&target)
            );
            return Err(Fault::new(offset, message, "make the graph undirected, with one edge for each link"));
        }
        self.ends = (self.ids.number(&source, offset)?, self.ids.number(&target, offset)?);
        self.values.clear();
        Ok(Element::Edge)
    }

    fn data(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        let [key] = attributes(tag, offset, ["key"])?;
        let key = required(key, "data", "key", offset)?;
        match self.keys.get(&key) {
            Some(&field) => Ok(Element::Data(field)),
            None => {
                let message = format!("<data> has the key {}, which no <key> before it declares", quoted(&key));
                Err(Fault::new(offset, message, "declare it at the top of the file"))
            }
        }
    }

    fn node_ends(&mut self, offset: usize) -> Result<(), Fault> {
        let values = self.values.or(&self.defaults);
        self.nodes.push(Node {
            id: std::mem::take(&mut self.id),
            label: values.label(),
            position: values.position()?,
            hyperedge: values.flag(Field::Hyperedge)?.unwrap_or(false),
            external: !values.flag(Field::Internal)?.unwrap_or(true),
            offset,
        });
        Ok(())
    }

    fn edge_ends(&mut self, offset: usize) -> Result<(), Fault> {
        let rate_bps = self.values.or(&self.defaults).rate_bps()?;
        let (source, target) = self.ends;
        self.edges.push(Edge { source, target, rate_bps, offset });
        Ok(())
    }

    /// Ends the file: all elements must be closed, and the ends of all edges must be nodes.
    fn finish(mut self) -> Result<Document, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            return Err(xml::unclosed(self.text, offset));
        }
        if !self.root_seen {
            return Err(Fault::new(0, "the file has no <graphml> element", "give a GraphML file"));
        }
        let graph = self
            .graph
            .ok_or_else(|| Fault::new(0, "the file has no <graph> element", "add one, with nodes and edges"))?;
        if self.nodes.is_empty() {
            return Err(Fault::new(graph, "the graph has no nodes", "add at least one <node>"));
        }
        // Edges may come before their nodes, so ids are replaced by nodes at the end.
        for edge in &mut self.edges {
            for end in [&mut edge.source, &mut edge.target] {
                *end = self.ids.nodes[*end as usize].ok_or_else(|| self.ids.unknown(*end, edge.offset))?;
            }
        }
        Ok(Document { nodes: self.nodes, edges: self.edges })
    }
}

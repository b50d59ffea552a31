//! GraphML, as the Topology Zoo, yEd, Cytoscape, igraph and networkx write it, in one pass over the XML.
//!
//! Each tool has its habits: keys of the same id for nodes and for edges, a key for nodes that edges use,
//! labels inside a drawing (yEd).

mod attributes;

use super::collector::{Collector, Document, Value};
use super::names::Of;
use super::{DEPTH_MAX, TOKEN_BYTES_MAX};
use crate::xml::{self, Elements};
use attributes::{attributes, required};
use parades_config::{Fault, quoted};
use quick_xml::events::BytesStart;
use std::collections::BTreeMap;

/// The largest number of `<key>` elements. The Topology Zoo's files have about forty.
const KEYS_MAX: usize = 1024;

/// An element that is open while its content is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Graphml,
    /// A `<key>`, by its place in the list of keys.
    Key(usize),
    Default(usize),
    Graph,
    Node,
    Edge,
    /// A value of a node, an edge or the graph, by the number of its key.
    Data(Of, usize),
    /// A drawing, which may hold labels.
    Drawing,
    /// A label of a drawing.
    DrawnLabel,
    /// An element that means nothing to a network. Its contents mean nothing either.
    Other,
}

/// A declared key.
#[derive(Debug)]
struct Key {
    /// The `for`: `node`, `edge`, `graph` or `all`.
    domain: String,
    name: String,
    is_drawing: bool,
    default: Option<(String, usize)>,
}

impl Key {
    fn is_of(&self, of: Of) -> bool {
        match of {
            Of::Node => self.domain == "node",
            Of::Edge => self.domain == "edge",
            Of::Graph => self.domain == "graph",
        }
    }
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
    keys: Vec<Key>,
    /// The keys of each id, by their places.
    keys_of_id: BTreeMap<String, Vec<usize>>,
    collector: Collector,
    // Of the node or edge that is open:
    values: Vec<Value>,
    id: String,
    ends: (String, String),
    is_directed: bool,
    /// The text of the `<data>`, `<default>` or label that is open.
    value: String,
    /// The labels of the drawing that is open.
    labels: String,
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
            (Some(Element::Key(key)), "default") => Element::Default(key),
            (Some(Element::Graph), "node") => self.node(tag, offset)?,
            (Some(Element::Graph), "edge") => self.edge(tag, offset)?,
            (Some(Element::Graph), "hyperedge") => {
                let help = "replace it by a node with an edge to each end";
                return Err(Fault::new(offset, "<hyperedge> joins any number of nodes, a link two", help));
            }
            (Some(Element::Node | Element::Edge), "graph") => {
                return Err(Fault::new(offset, "a graph lies inside a node or an edge", "flatten it into one graph"));
            }
            (Some(Element::Node), "data") => self.data(Of::Node, tag, offset)?,
            (Some(Element::Edge), "data") => self.data(Of::Edge, tag, offset)?,
            (Some(Element::Graph | Element::Graphml), "data") => self.data(Of::Graph, tag, offset)?,
            (Some(Element::Drawing), "NodeLabel" | "EdgeLabel") => Element::DrawnLabel,
            (Some(Element::Drawing), _) => Element::Drawing,
            (Some(Element::Graphml), misplaced @ ("node" | "edge")) => {
                return Err(Fault::new(offset, format!("<{misplaced}> lies outside <graph>"), "move it inside"));
            }
            _ => Element::Other,
        };
        if matches!(element, Element::Data(..) | Element::Default(_) | Element::DrawnLabel) {
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
            Some((Element::Data(..) | Element::Default(_) | Element::DrawnLabel, start)) => {
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
            Element::Data(of, key) => {
                let text = std::mem::take(&mut self.value);
                self.take_value(of, key, text, offset)
            }
            Element::Default(key) => {
                self.keys[key].default = Some((std::mem::take(&mut self.value), offset));
                Ok(())
            }
            Element::DrawnLabel => {
                let label = std::mem::take(&mut self.value);
                self.labels.push_str(label.trim());
                self.labels.push('\n');
                Ok(())
            }
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
        let [id, domain, name, drawing] = attributes(tag, offset, ["id", "for", "attr.name", "yfiles.type"])?;
        let id = required(id, "key", "id", offset)?;
        let domain = domain.unwrap_or_else(|| "all".to_owned());
        if self.keys.len() == KEYS_MAX {
            return Err(Fault::new(
                offset,
                format!("the file has more than {KEYS_MAX} keys"),
                "delete those without use",
            ));
        }
        let alike = self.keys_of_id.entry(id.clone()).or_default();
        if alike.iter().any(|&key| self.keys[key].domain == domain) {
            return Err(Fault::new(
                offset,
                format!("the key {} is declared a second time", quoted(&id)),
                "give each key an id of its own",
            ));
        }
        alike.push(self.keys.len());
        // A key without a name has its id as such, or is for a drawing.
        let name = name.or_else(|| drawing.clone()).unwrap_or_else(|| id.clone());
        let is_drawing = drawing.is_some_and(|kind| kind.ends_with("graphics"));
        self.keys.push(Key { domain, name, is_drawing, default: None });
        Ok(Element::Key(self.keys.len() - 1))
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
        self.values.clear();
        self.labels.clear();
        Ok(Element::Node)
    }

    fn edge(&mut self, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        let [source, target, directed] = attributes(tag, offset, ["source", "target", "directed"])?;
        let source = required(source, "edge", "source", offset)?;
        let target = required(target, "edge", "target", offset)?;
        self.is_directed = match directed.as_deref() {
            None => self.directed_default,
            Some("true") => true,
            Some("false") => false,
            Some(other) => {
                return Err(Fault::new(offset, format!("directed is {}", quoted(other)), "write `false`"));
            }
        };
        self.ends = (source, target);
        self.values.clear();
        self.labels.clear();
        Ok(Element::Edge)
    }

    fn data(&mut self, of: Of, tag: &BytesStart<'_>, offset: usize) -> Result<Element, Fault> {
        let [key] = attributes(tag, offset, ["key"])?;
        let id = required(key, "data", "key", offset)?;
        let keys = self.keys_of_id.get(&id).map_or(&[][..], Vec::as_slice);
        let declared = |wanted: &dyn Fn(&Key) -> bool| keys.iter().copied().find(|&key| wanted(&self.keys[key]));
        // Some tools declare a key for nodes only, and give its values to edges too.
        let key =
            declared(&|key| key.is_of(of)).or_else(|| declared(&|key| key.domain == "all")).or(declared(&|_| true));
        let Some(key) = key else {
            let message = format!("<data> has the key {}, which no <key> before it declares", quoted(&id));
            return Err(Fault::new(offset, message, "declare it at the top of the file"));
        };
        Ok(if self.keys[key].is_drawing && of != Of::Graph { Element::Drawing } else { Element::Data(of, key) })
    }

    fn take_value(&mut self, of: Of, key: usize, text: String, offset: usize) -> Result<(), Fault> {
        if of == Of::Graph {
            return self.collector.graph_value(&self.keys[key].name, &text, offset);
        }
        let name = self.collector.name(of, &self.keys[key].name, offset)?;
        self.values.push(Value { name, text, offset });
        Ok(())
    }

    /// Adds the labels of the drawing, and the defaults of keys without a value.
    fn complete_values(&mut self, of: Of, offset: usize) -> Result<(), Fault> {
        let labels = std::mem::take(&mut self.labels);
        if !labels.trim().is_empty() {
            let name = self.collector.name(of, if of == Of::Node { "y:NodeLabel" } else { "y:EdgeLabel" }, offset)?;
            self.values.push(Value { name, text: labels, offset });
        }
        for key in 0..self.keys.len() {
            let Key { default: Some((text, place)), name, domain, .. } = &self.keys[key] else { continue };
            if !self.keys[key].is_of(of) && domain != "all" {
                continue;
            }
            let (text, place, number) = (text.clone(), *place, self.collector.name(of, name, offset)?);
            if self.values.iter().all(|value| value.name != number) {
                self.values.push(Value { name: number, text, offset: place });
            }
        }
        Ok(())
    }

    fn node_ends(&mut self, offset: usize) -> Result<(), Fault> {
        self.complete_values(Of::Node, offset)?;
        self.collector.node(std::mem::take(&mut self.id), &self.values, offset)
    }

    fn edge_ends(&mut self, offset: usize) -> Result<(), Fault> {
        self.complete_values(Of::Edge, offset)?;
        let (source, target) = &self.ends;
        self.collector.edge(source, target, self.is_directed, &self.values, offset)
    }

    /// Ends the file: all elements must be closed.
    fn finish(self) -> Result<Document, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            return Err(xml::unclosed(self.text, offset));
        }
        if !self.root_seen {
            return Err(Fault::new(0, "the file has no <graphml> element", "give a GraphML file"));
        }
        let graph = self
            .graph
            .ok_or_else(|| Fault::new(0, "the file has no <graph> element", "add one, with nodes and edges"))?;
        self.collector.finish(graph)
    }
}

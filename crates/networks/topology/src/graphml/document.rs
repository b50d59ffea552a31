//! One pass over the XML: nodes, edges and their values, with the byte where each begins.

use super::error::{Fault, quote};
use super::fields::{Field, Values};
use super::ids::Ids;
use super::xml::{attributes, check_encoding, malformed, required, resolve, to_offset};
use super::{DEPTH_MAX, EDGES_MAX, TOKEN_BYTES_MAX};
use crate::geo::Position;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// How many `<key>` elements a file may have; the Topology Zoo's have about forty.
const KEYS_MAX: usize = 1024;

/// What a file says, in its own words.
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
    /// One that means nothing to a network, like all that lies in it.
    Other,
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let mut xml = quick_xml::Reader::from_str(text);
    let mut pass = Pass { text, ..Pass::default() };
    loop {
        let offset = to_offset(xml.buffer_position());
        let event = xml.read_event().map_err(|why| malformed(to_offset(xml.error_position()), why))?;
        if to_offset(xml.buffer_position()) - offset > TOKEN_BYTES_MAX {
            let message = format!("one tag or text is longer than {} KiB", TOKEN_BYTES_MAX >> 10);
            return Err(Fault::new(offset, message, "shorten it; no part of a network is that long"));
        }
        match event {
            Event::Start(tag) => pass.start(&tag, offset)?,
            Event::Empty(tag) => {
                pass.start(&tag, offset)?;
                pass.end()?;
            }
            Event::End(_) => pass.end()?,
            Event::Text(text) => pass.text(&text.xml10_content(), offset)?,
            Event::CData(text) => pass.text(&text.xml10_content(), offset)?,
            Event::GeneralRef(entity) => pass.text(resolve(&entity, offset)?.encode_utf8(&mut [0; 4]), offset)?,
            Event::DocType(declarations) if declarations.contains('[') => {
                let message = "the document type declares entities or elements of its own, which are not expanded";
                return Err(Fault::new(offset, message, "delete the <!DOCTYPE ...> declaration"));
            }
            Event::Decl(declaration) => {
                let encoding = declaration.encoding().transpose().map_err(|why| malformed(offset, why))?;
                check_encoding(encoding.as_deref(), text, offset)?;
            }
            Event::Comment(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => return pass.finish(),
        }
    }
}

/// The state of the pass.
#[derive(Debug, Default)]
struct Pass<'t> {
    text: &'t str,
    open: Vec<(Element, usize)>,
    /// Where the one `<graph>` begins.
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

impl Pass<'_> {
    /// An element begins.
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
            let message = format!("the root element is {}, not <graphml>", quote(name));
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
                format!("the key {} is declared a second time", quote(&id)),
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
                let message = format!("edgedefault is {}", quote(other));
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
            let message = format!("the node {} is declared a second time", quote(&self.id));
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
                return Err(Fault::new(offset, format!("directed is {}", quote(other)), "write `false`"));
            }
        };
        if directed {
            let message = format!(
                "the edge from {} to {} is directed, and a link carries both directions",
                quote(&source),
                quote(&target)
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
                let message = format!("<data> has the key {}, which no <key> before it declares", quote(&key));
                Err(Fault::new(offset, message, "declare it at the top of the file"))
            }
        }
    }

    /// Letters inside an element, or white space outside the root.
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

    /// The innermost element ends; that its name matches is checked by the XML reader.
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

    /// The file ends: nothing may be open, and the edges' ids must all be nodes.
    fn finish(mut self) -> Result<Document, Fault> {
        if let Some(&(_, offset)) = self.open.last() {
            let tag = self.text[offset..]
                .split(|letter: char| letter.is_whitespace() || letter == '>')
                .next()
                .unwrap_or_default();
            let message = format!("the file ends before {} is closed", quote(&format!("{tag}>")));
            return Err(Fault::new(offset, message, "compare the file with its source; it may be cut off"));
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
        // Edges may stand before their nodes, so ids are replaced by nodes only now.
        for edge in &mut self.edges {
            for end in [&mut edge.source, &mut edge.target] {
                *end = self.ids.nodes[*end as usize].ok_or_else(|| self.ids.unknown(*end, edge.offset))?;
            }
        }
        Ok(Document { nodes: self.nodes, edges: self.edges })
    }
}

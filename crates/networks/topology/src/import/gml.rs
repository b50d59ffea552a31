//! GML, as the Topology Zoo, yEd, Shadow and networkx write it: names, each with a number, a text or a list.
//!
//! Source: M. Himsolt, "GML: a portable graph file format", University of Passau, 1997.

use super::DEPTH_MAX;
use super::collector::{Collector, Document, Value};
use super::names::Of;
use parades_config::{Fault, quoted};

/// A token, with its first byte.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Open,
    Close,
}

/// The tokens of a text.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl Tokens<'_> {
    /// Returns the next token and its place. `None` at the end.
    fn next(&mut self) -> Result<Option<(Token, usize)>, Fault> {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            let rest = &self.text[self.at..];
            // A line that begins with `#` is a comment.
            if !rest.starts_with('#') {
                break;
            }
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
        let (start, rest) = (self.at, &self.text[self.at..]);
        let (token, length) = match rest.chars().next() {
            None => return Ok(None),
            Some('[') => (Token::Open, 1),
            Some(']') => (Token::Close, 1),
            Some('"') => match rest[1..].find('"') {
                Some(end) => (Token::Text(unescaped(&rest[1..=end])), end + 2),
                None => return Err(Fault::new(start, "a text in quotes has no end", "close it with a double quote")),
            },
            Some(_) => {
                let is_end = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
                let end = rest.find(is_end).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
        };
        self.at += length;
        Ok(Some((token, start)))
    }
}

/// Replaces the character references that GML takes from HTML: `&amp;`, `&quot;`, `&#233;`.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let letter = end.and_then(|end| match &rest[1..end] {
            "amp" => Some('&'),
            "quot" => Some('"'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "apos" => Some('\''),
            number => number.strip_prefix('#')?.parse().ok().and_then(char::from_u32),
        });
        match (letter, end) {
            (Some(letter), Some(end)) => {
                plain.push(letter);
                rest = &rest[end + 1..];
            }
            _ => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

/// Reads a whole file.
pub(super) fn read(text: &str) -> Result<Document, Fault> {
    let start = text.len() - text.trim_start().len();
    if !text.to_ascii_lowercase().contains("graph") {
        return Err(no_graph(start));
    }
    let mut file = File { tokens: Tokens { text, at: 0 }, collector: Collector::default(), is_directed: false };
    let mut graph = None;
    while let Some((name, offset)) = file.name()? {
        if !name.eq_ignore_ascii_case("graph") {
            // Such as `Creator "…"` and `Version 1`.
            file.value_of_graph(&name, offset)?;
            continue;
        }
        if graph.is_some() {
            return Err(Fault::new(offset, "the file has a second graph", "keep one graph in a file"));
        }
        file.open("graph", offset)?;
        graph = Some(offset);
        file.graph(offset)?;
    }
    let graph = graph.ok_or_else(|| no_graph(start))?;
    file.collector.finish(graph)
}

fn no_graph(offset: usize) -> Fault {
    Fault::new(
        offset,
        "this is no graph: neither GraphML, nor GML, nor JSON, nor a list of edges, nor a topology of BRITE or HPCC",
        "give such a file",
    )
}

/// A file while it is read.
struct File<'t> {
    tokens: Tokens<'t>,
    collector: Collector,
    is_directed: bool,
}

/// The values of a node or edge, and the parts that say which one it is.
#[derive(Default)]
struct Item {
    values: Vec<Value>,
    /// `id`, `source` and `target`.
    ids: [Option<String>; 3],
}

impl File<'_> {
    /// Returns the next name of a list; `None` at the end of the list or file.
    fn name(&mut self) -> Result<Option<(String, usize)>, Fault> {
        match self.tokens.next()? {
            None | Some((Token::Close, _)) => Ok(None),
            Some((Token::Word(name), offset)) => Ok(Some((name, offset))),
            Some((_, offset)) => Err(Fault::new(offset, "a name must stand here", "GML is names, each with a value")),
        }
    }

    fn open(&mut self, name: &str, offset: usize) -> Result<(), Fault> {
        match self.tokens.next()? {
            Some((Token::Open, _)) => Ok(()),
            _ => Err(Fault::new(
                offset,
                format!("{} has no list", quoted(name)),
                "write `[` behind it, and `]` at its end",
            )),
        }
    }

    /// Reads the value of a name. `None` for a list, which is skipped.
    fn value(&mut self, name: &str, offset: usize) -> Result<Option<String>, Fault> {
        match self.tokens.next()? {
            Some((Token::Word(text) | Token::Text(text), _)) => Ok(Some(text)),
            Some((Token::Open, _)) => self.skip_list(offset).map(|()| None),
            _ => Err(Fault::new(
                offset,
                format!("{} has no value", quoted(name)),
                "write a number, a text or a list behind it",
            )),
        }
    }

    fn skip_list(&mut self, offset: usize) -> Result<(), Fault> {
        let mut depth = 1;
        while depth > 0 {
            match self.tokens.next()? {
                Some((Token::Open, _)) => depth += 1,
                Some((Token::Close, _)) => depth -= 1,
                Some(_) => {}
                None => return Err(unclosed(offset)),
            }
            if depth > DEPTH_MAX {
                let message = format!("lists nest more than {DEPTH_MAX} deep");
                return Err(Fault::new(offset, message, "a graph needs a depth of two"));
            }
        }
        Ok(())
    }

    fn value_of_graph(&mut self, name: &str, offset: usize) -> Result<(), Fault> {
        let value = self.value(name, offset)?;
        self.collector.graph_value(name, value.as_deref().unwrap_or("[…]"), offset)
    }

    /// Reads the list of the graph, which begins at `start`.
    fn graph(&mut self, start: usize) -> Result<(), Fault> {
        loop {
            let before = self.tokens.at;
            let Some((name, offset)) = self.name()? else {
                return if self.tokens.text[before..self.tokens.at].ends_with(']') {
                    Ok(())
                } else {
                    Err(unclosed(start))
                };
            };
            match name.to_ascii_lowercase().as_str() {
                "node" => {
                    let Item { values, ids: [id, ..] } = self.item(Of::Node, offset)?;
                    let id = id.ok_or_else(|| Fault::new(offset, "a node has no id", "give it one, such as `id 0`"))?;
                    self.collector.node(id, &values, offset)?;
                }
                "edge" => {
                    let Item { values, ids: [_, source, target] } = self.item(Of::Edge, offset)?;
                    let end = |id: Option<String>, name| {
                        id.ok_or_else(|| {
                            Fault::new(offset, format!("an edge has no {name}"), "give it the id of a node")
                        })
                    };
                    let (source, target) = (end(source, "source")?, end(target, "target")?);
                    self.collector.edge(&source, &target, self.is_directed, &values, offset)?;
                }
                "directed" => {
                    let value = self.value(&name, offset)?;
                    self.is_directed = match value.as_deref() {
                        Some("0" | "false" | "False") => false,
                        Some("1" | "true" | "True") => true,
                        other => {
                            let message = format!("`directed` is {}", quoted(other.unwrap_or("a list")));
                            return Err(Fault::new(offset, message, "write 0 or 1"));
                        }
                    };
                }
                _ => self.value_of_graph(&name, offset)?,
            }
        }
    }

    /// Reads the list of a node or edge.
    fn item(&mut self, of: Of, start: usize) -> Result<Item, Fault> {
        self.open(if of == Of::Node { "node" } else { "edge" }, start)?;
        let mut item = Item::default();
        loop {
            let before = self.tokens.at;
            let Some((name, offset)) = self.name()? else {
                return if self.tokens.text[before..self.tokens.at].ends_with(']') {
                    Ok(item)
                } else {
                    Err(unclosed(start))
                };
            };
            let value = self.value(&name, offset)?;
            let wanted: &[(&str, usize)] = if of == Of::Node { &[("id", 0)] } else { &[("source", 1), ("target", 2)] };
            match (wanted.iter().find(|(wanted, _)| name.eq_ignore_ascii_case(wanted)), value) {
                (Some(&(_, place)), Some(value)) => item.ids[place] = Some(value),
                (_, value) => {
                    let number = self.collector.name(of, &name, offset)?;
                    // networkx writes a list as several values of one name: not one of a network's data.
                    let text = value.unwrap_or_else(|| "[…]".to_owned());
                    item.values.push(Value { name: number, text, offset });
                }
            }
        }
    }
}

fn unclosed(offset: usize) -> Fault {
    Fault::new(
        offset,
        "the file ends before this list is closed",
        "compare the file with its source; it may be cut off",
    )
}

//! The ids by which a file names its nodes.

use super::NODES_MAX;
use parades_config::{Fault, quoted};
use std::collections::BTreeMap;

/// Node ids, numbered in the order in which edges and nodes first name them: an edge may stand before its
/// nodes.
#[derive(Debug, Default)]
pub(super) struct Ids {
    numbers: BTreeMap<String, u32>,
    /// The place of each id among the nodes, once its node is declared.
    pub(super) nodes: Vec<Option<u32>>,
}

impl Ids {
    /// Returns the number of `id`, which the element at `offset` names.
    pub(super) fn number(&mut self, id: &str, offset: usize) -> Result<u32, Fault> {
        if let Some(&number) = self.numbers.get(id) {
            return Ok(number);
        }
        let number = u32::try_from(self.nodes.len()).ok().filter(|&number| (number as usize) < NODES_MAX);
        let number = number
            .ok_or_else(|| Fault::new(offset, format!("the file has more than {NODES_MAX} node ids"), "split it"))?;
        self.numbers.insert(id.to_owned(), number);
        self.nodes.push(None);
        Ok(number)
    }

    /// Returns the fault of an edge at `offset` whose end no `<node>` declares.
    pub(super) fn unknown(&self, number: u32, offset: usize) -> Fault {
        let id = self.numbers.iter().find(|&(_, &other)| other == number).map_or("", |(id, _)| id);
        let message = format!("an edge ends at {}, which is no node of the graph", quoted(id));
        Fault::new(offset, message, "declare the node, or delete the edge")
    }
}

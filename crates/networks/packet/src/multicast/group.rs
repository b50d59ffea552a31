//! A group: who sends what to whom.

use crate::flow::{Flow, Limit};
use crate::source::Sending;
use crate::traffic::{Pattern, Sizes};
use parades_core::time::Time;
use parades_topology::NodeId;
use std::collections::BTreeSet;

/// What one source sends to many receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Where it starts.
    pub source: NodeId,
    /// Where it goes, each once.
    pub receivers: Vec<NodeId>,
    /// When it starts.
    pub start: Time,
    /// When it ends.
    pub limit: Limit,
    /// How much a packet carries.
    pub sizes: Sizes,
    /// When packets are sent.
    pub pattern: Pattern,
}

impl Group {
    pub(super) fn sending(&self) -> Sending<'_> {
        Sending { start: self.start, limit: self.limit, sizes: &self.sizes, pattern: &self.pattern }
    }

    /// What makes no sense about it, as the end of a sentence that begins with its number.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.receivers.is_empty() {
            return Err("has no receivers; give it some".into());
        }
        let mut seen = BTreeSet::from([self.source]);
        if let Some(twice) = self.receivers.iter().find(|&&node| !seen.insert(node)) {
            return Err(format!("leads to node {} twice, or from it to itself; name each node once", twice.0));
        }
        self.sending().check()
    }

    /// What it is to each receiver.
    pub(super) fn flows(&self) -> impl Iterator<Item = Flow> {
        self.receivers.iter().map(|&destination| Flow {
            source: self.source,
            destination,
            start: self.start,
            limit: self.limit,
            sizes: self.sizes.clone(),
            pattern: self.pattern.clone(),
        })
    }
}

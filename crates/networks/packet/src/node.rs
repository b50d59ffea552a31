//! The state of a node.

use crate::port::{LOSSES, Loss, Port};
use crate::protocols::Endpoint;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use std::collections::BTreeMap;

/// The state of a node: an LP.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub struct Node {
    pub(crate) egress: Egress,
    /// The ends of flows and the sources of groups, in the order of flows. An endpoint's place is its *slot*.
    pub(crate) endpoints: Box<[Endpoint]>,
}

/// The sending half of a node.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Egress {
    /// The port of each interface.
    pub(crate) ports: Box<[Port]>,
    /// Packets lost here, by direction and reason. Copies for a group are counted by their places in the
    /// tree, which come after all directions. Without losses, the map takes no memory.
    pub(crate) lost: BTreeMap<u32, [u64; LOSSES]>,
}

impl Node {
    pub(crate) fn new(ports: usize, endpoints: Box<[Endpoint]>) -> Node {
        let egress = Egress { ports: vec![Port::default(); ports].into(), lost: BTreeMap::new() };
        Node { egress, endpoints }
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.egress.ports.iter().for_each(|port| port.fold(digest));
        self.endpoints.iter().for_each(|endpoint| endpoint.fold(digest));
        for (&direction, lost) in &self.egress.lost {
            digest.word(u64::from(direction));
            lost.iter().for_each(|&packets| digest.word(packets));
        }
    }
}

impl<R: Recorder<EgressUndo>> EgressMut<'_, R> {
    /// Counts a lost packet.
    pub(crate) fn lose(&mut self, direction: u32, loss: Loss) {
        *self.lost().at_or_insert_with(direction, || [0; LOSSES]).at(loss as usize) += 1;
    }
}

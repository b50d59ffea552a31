//! The state of a node.

mod save;

use crate::port::{LOSSES, Loss, Port, fold_lost};
use crate::protocols::Endpoint;
use crate::store::Store;
use parades_core::digest::{Digest, Payload};
use parades_core::restore::{Recorder, Undoable, Whole};
use parades_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The state of a node: an LP. `P` is the type of packets.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct Node<P: Undoable> {
    pub(crate) egress: Egress<P>,
    /// The ends of flows and the sources of groups, in the order of flows. An endpoint's place is its *slot*.
    pub(crate) endpoints: Box<[Endpoint]>,
}

/// Time Warp keeps a record for each change, so records must stay small.
const _: () = assert!(size_of::<NodeUndo<crate::packet::Packet>>() == 56);

/// The sending half of a node.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Egress<P: Undoable> {
    /// The port of each interface.
    pub(crate) ports: Box<[Port]>,
    /// Packets lost here, by direction and reason. Copies for a group are counted by their places in the
    /// tree, which come after all directions. Without losses, the map takes no memory.
    pub(crate) lost: BTreeMap<u32, [u64; LOSSES]>,
    /// Boxed, as most nodes never need it.
    managed: Option<Box<Managed<P>>>,
}

/// The part of a node's state that only ports need that are more than a drop-tail queue.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Managed<P: Undoable> {
    /// The packets that ports hold.
    held: Store<P>,
    /// Copies that links made of packets, by the keys of `lost`.
    duplicated: BTreeMap<u32, u64>,
    /// The packets with copies that have arrived here.
    #[undoable(boxed)]
    arrived: BTreeSet<Identity>,
    /// Copies that arrived after their packets, by the slot of the endpoint.
    copies: BTreeMap<u32, u64>,
}

/// A packet at its receiver: the slot of the endpoint, the time at which the packet was sent, and its number.
/// Copies have the identity of their packet.
type Identity = (u32, Time, u32);

impl<P: Undoable> Managed<P> {
    fn new() -> Box<Managed<P>> {
        Box::new(Managed {
            held: Store::new(),
            duplicated: BTreeMap::new(),
            arrived: BTreeSet::new(),
            copies: BTreeMap::new(),
        })
    }
}

impl<P: Undoable> Egress<P> {
    pub(crate) fn new(ports: usize) -> Egress<P> {
        Egress { ports: vec![Port::default(); ports].into(), lost: BTreeMap::new(), managed: None }
    }

    /// Returns the packets that ports hold.
    pub(crate) fn held(&self) -> impl Iterator<Item = &P> {
        self.managed.iter().flat_map(|managed| managed.held.packets())
    }

    /// Returns the numbers of copies that links made of packets, by the keys of `lost`.
    pub(crate) fn duplicated(&self) -> impl Iterator<Item = (u32, u64)> {
        self.managed.iter().flat_map(|managed| managed.duplicated.iter().map(|(&key, &copies)| (key, copies)))
    }

    /// Returns the numbers of copies that arrived after their packets, by the slot of the endpoint.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (u32, u64)> {
        self.managed.iter().flat_map(|managed| managed.copies.iter().map(|(&slot, &copies)| (slot, copies)))
    }
}

impl<P: Whole + Payload> Node<P> {
    pub(crate) fn new(ports: usize, endpoints: Box<[Endpoint]>) -> Node<P> {
        Node { egress: Egress::new(ports), endpoints }
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.egress.ports.iter().for_each(|port| port.fold(digest));
        self.endpoints.iter().for_each(|endpoint| endpoint.fold(digest));
        for (&direction, lost) in &self.egress.lost {
            digest.word(u64::from(direction));
            fold_lost(lost, digest);
        }
        for (direction, copies) in self.egress.duplicated() {
            digest.word(u64::from(direction));
            digest.word(copies);
        }
        for (slot, copies) in self.egress.copies() {
            digest.word(u64::from(slot));
            digest.word(copies);
        }
        self.egress.held().for_each(|packet| packet.fold(digest));
    }
}

impl<P: Whole + Clone, R: Recorder<EgressUndo<P>>> EgressMut<'_, P, R> {
    /// Counts a lost packet.
    pub(crate) fn lose(&mut self, direction: u32, loss: Loss) {
        *self.lost().at_or_insert_with(direction, || [0; LOSSES]).at(loss as usize) += 1;
    }

    /// Counts a copy that a link makes of a packet.
    pub(crate) fn duplicate(&mut self, direction: u32) {
        *self.managed().get_or_insert_with(Managed::new).duplicated().at_or_insert_with(direction, || 0) += 1;
    }

    /// Notes the arrival of a packet with copies at an endpoint. Returns true if it has arrived before, so
    /// that this one is a copy.
    pub(crate) fn arrives_again(&mut self, slot: u32, sent: Time, number: u32) -> bool {
        let mut managed = self.managed();
        let mut managed = managed.get_or_insert_with(Managed::new);
        let is_copy = !managed.arrived().insert((slot, sent, number));
        if is_copy {
            *managed.copies().at_or_insert_with(slot, || 0) += 1;
        }
        is_copy
    }

    /// Keeps a packet for a port, and returns its place.
    pub(crate) fn keep(&mut self, packet: P) -> u32 {
        self.managed().get_or_insert_with(Managed::new).held().keep(packet)
    }

    /// Takes out the packet at a place.
    pub(crate) fn take(&mut self, place: u32) -> P {
        self.managed().get_or_insert_with(Managed::new).held().take(place)
    }
}

//! The state of a node.

use super::message::Carriage;
use crate::description::AppKind;
use crate::node::Egress;
use crate::protocols::tcp::Heard;
use crate::protocols::{Endpoint, TIMERS_MAX};
use parades_core::digest::{Digest, Payload};
use parades_core::event::TimerId;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::Time;
use parades_tcp::State;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The address at a place that no end has.
pub(super) const FREE: u32 = u32::MAX;

/// The largest number of ends of flows that a node has at one time.
pub(super) const PLACES_MAX: u32 = TimerId::MAX.0 / TIMERS_MAX;

/// The state of a node: its ports, and the ends of the flows that begin or end there.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub struct Node {
    pub(super) egress: Egress<Carriage>,
    /// By address.
    pub(super) ends: BTreeMap<u32, Box<FlowEnd>>,
    /// The address of the end at each place, or [`FREE`]. An end has the timers of its place.
    pub(super) places: Vec<u32>,
    /// The places that no end has. The last one is used next.
    pub(super) free: Vec<u32>,
    /// The flows whose fate was seen here, in the order of time.
    pub(super) ended: VecDeque<Ended>,
    pub(super) fates: Fates,
}

/// One end of a flow.
#[derive(Clone, Debug, PartialEq, Undoable)]
pub(super) struct FlowEnd {
    pub(super) endpoint: Endpoint,
    /// The place of the app in the list of all.
    #[undoable(constant)]
    pub(super) app: u32,
    #[undoable(constant)]
    pub(super) kind: Arc<AppKind>,
    /// The node of the other end.
    #[undoable(constant)]
    pub(super) peer: u32,
    #[undoable(constant)]
    pub(super) place: u32,
    #[undoable(constant)]
    pub(super) start: Time,
    /// The segments that it has sent over TCP: those repeated are retransmissions.
    pub(super) sent: Heard,
    /// The greatest [`Carriage::again`] of the packets that have arrived.
    pub(super) heard: u64,
    /// True if the fate of the flow has been noted here.
    pub(super) is_told: bool,
}

/// The fate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub enum Fate {
    /// The receiver has the last byte.
    Done,
    /// The connection has ended before: nothing was acknowledged for too long, or the other end has reset it.
    Failed,
    /// The program has given it up.
    Cancelled,
}

/// The end of a flow over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Ended {
    /// The number of the flow.
    pub flow: u32,
    /// The time.
    pub at: Time,
    /// The bytes of the stream that the receiver has; of a flow that failed, those acknowledged.
    pub bytes: u64,
    /// The segments that the sender had sent again, when it sent the latest packet that the receiver has. Of a
    /// flow that failed: all.
    pub retransmissions: u64,
    /// The fate.
    pub fate: Fate,
}

/// The flows that have ended at a node, also those that the program has taken note of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Fates {
    pub(super) count: u64,
    /// The digest of all of them.
    pub(super) digest: u64,
}

impl FlowEnd {
    /// Returns the digest's view of the end.
    fn fold(&self, digest: &mut Digest) {
        self.endpoint.fold(digest);
        digest.word(self.sent.repeated);
        digest.word(self.heard);
    }

    /// Returns true if nothing will happen here any more.
    pub(super) fn is_over(&self) -> bool {
        match &self.endpoint {
            Endpoint::TcpSender(sender) => sender.connection.state() == State::Closed,
            Endpoint::TcpReceiver(receiver) => receiver.connection.state() == State::Closed,
            _ => false,
        }
    }

    /// Returns the fate of the flow and its bytes, if this end sees one that has not been noted.
    pub(super) fn news(&self) -> Option<(Fate, u64)> {
        if self.is_told {
            return None;
        }
        match &self.endpoint {
            Endpoint::TcpReceiver(receiver) if receiver.progress.last < Time::MAX => {
                Some((Fate::Done, receiver.progress.bytes))
            }
            Endpoint::TcpSender(sender) => sender.ending().map(|_| (Fate::Failed, sender.connection.acknowledged())),
            _ => None,
        }
    }
}

impl Node {
    pub(super) fn new(ports: usize) -> Node {
        Node {
            egress: Egress::new(ports),
            ends: BTreeMap::new(),
            places: Vec::new(),
            free: Vec::new(),
            ended: VecDeque::new(),
            fates: Fates::default(),
        }
    }

    /// Returns the flows whose fate was seen here from a time on, in the order of time. Those of earlier
    /// times may have been forgotten.
    pub fn ended_since(&self, time: Time) -> impl Iterator<Item = &Ended> {
        self.ended.iter().skip_while(move |ended| ended.at < time)
    }

    /// Returns true if an end of a flow is here, and does not know of the flow's end.
    pub fn carries(&self, flow: u32) -> bool {
        let is_open = |address| self.ends.get(&address).is_some_and(|end| !end.is_told);
        is_open(flow * 2) || is_open(flow * 2 + 1)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        self.egress.ports.iter().for_each(|port| port.fold(digest));
        self.egress.held().for_each(|packet| packet.fold(digest));
        for (&address, end) in &self.ends {
            digest.word(u64::from(address));
            end.fold(digest);
        }
        digest.word(self.fates.count);
        digest.word(self.fates.digest);
    }
}

impl<R: Recorder<NodeUndo>> NodeMut<'_, R> {
    /// Forgets the flows that the program has taken note of: those that had ended before a time.
    pub(super) fn forget(&mut self, before: Time) {
        while self.ended.front().is_some_and(|ended| ended.at < before) {
            self.ended().pop_front();
        }
    }

    /// Takes a place for the end of this address. `None` if there are too many ends.
    pub(super) fn take_place(&mut self, address: u32) -> Option<u32> {
        if let Some(place) = self.free().pop() {
            *self.places().at(place as usize) = address;
            return Some(place);
        }
        let place = u32::try_from(self.places.len()).ok().filter(|&place| place < PLACES_MAX)?;
        self.places().push(address);
        Some(place)
    }

    /// Removes an end.
    pub(super) fn remove(&mut self, address: u32) {
        if let Some(end) = self.ends().remove(address) {
            *self.places().at(end.place as usize) = FREE;
            self.free().push(end.place);
        }
    }

    /// Notes the fate of a flow at one of its ends.
    pub(super) fn note(&mut self, address: u32, at: Time, fate: Fate, bytes: u64) {
        let end = &self.ends[&address];
        let is_sender = address.is_multiple_of(2);
        let retransmissions = if is_sender { end.sent.repeated } else { end.heard };
        let ended = Ended { flow: address / 2, at, bytes, retransmissions, fate };
        *self.ends().into_at(address).is_told() = true;
        let mut digest = Digest::default();
        let words = [self.fates.digest, ended.flow.into(), at.as_ps(), bytes, retransmissions, fate as u64];
        words.into_iter().for_each(|word| digest.word(word));
        let count = self.fates.count + 1;
        *self.fates() = Fates { count, digest: digest.value() };
        self.ended().push_back(ended);
    }
}

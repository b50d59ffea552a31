//! The swarm, as the drivers see it.

use super::peer::{At, Peer};
use super::tracker::Tracker;
use super::{Message, Swarm, TRACKER};
use crate::churn::Churn;
use crate::driver::{Dependencies, Protocol, Wait};
use parades_core::prelude::*;
use std::fmt::{self, Display as _};

/// The state of a node: the tracker or a peer.
#[derive(Clone, Debug, PartialEq)]
pub enum Machine {
    /// The tracker, node 0.
    Tracker(Tracker),
    /// A peer.
    Peer(Box<Peer>),
}

impl Protocol for Swarm {
    type Message = Message;
    type Machine = Machine;

    fn nodes(&self) -> u32 {
        self.parameters().peers + 1
    }

    fn describe(&self, message: &Message, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        message.fmt(to)
    }

    fn node_name(&self, node: LpId) -> String {
        if node.0 == TRACKER { "the tracker".to_owned() } else { format!("peer {}", node.0) }
    }

    fn bytes(message: &Message) -> f64 {
        message.bytes()
    }

    fn churn(&self) -> Option<&Churn> {
        self.parameters().churn.as_ref()
    }

    fn first_coming(&self, node: LpId) -> Option<Delay> {
        let is_apart = self.is_seed(node.0) && !self.parameters().crowd_seeds;
        let first = |churn: &Churn| if is_apart { churn.first_outside_crowd(node) } else { churn.first(node) };
        let first = self.churn().and_then(first).map(|first| first.since(Time::ZERO));
        first.or_else(|| self.join(node.0))
    }

    fn metrics(&self) -> Metrics {
        self.declare_metrics()
    }

    fn machine(&self, node: LpId, _: &Rng) -> Machine {
        match node.0 {
            TRACKER => Machine::Tracker(Tracker::new(self.nodes(), self.parameters().swarms)),
            id => Machine::Peer(Box::new(Peer::new(id, self))),
        }
    }

    fn wait(&self, machine: &Machine) -> Wait {
        match machine {
            Machine::Tracker(_) => Wait::Messages(Time::MAX),
            Machine::Peer(peer) => peer.wait(),
        }
    }

    fn begin(&self, machine: &mut Machine, end: Time, driver: &mut impl Dependencies<Message>) {
        if let Machine::Peer(peer) = machine {
            At { peer, swarm: self, driver }.begin(end);
        }
    }

    fn on_message(&self, machine: &mut Machine, from: LpId, message: Message, driver: &mut impl Dependencies<Message>) {
        match machine {
            Machine::Tracker(tracker) => {
                if let (Message::Announce(event), Some(swarm)) = (message, self.swarm_of(from.0)) {
                    tracker.on_announce(from, swarm, event, self.parameters().answer, driver);
                }
            }
            Machine::Peer(peer) => At { peer, swarm: self, driver }.on_message(from.0, message),
        }
    }

    fn on_timer(&self, machine: &mut Machine, driver: &mut impl Dependencies<Message>) {
        if let Machine::Peer(peer) = machine {
            At { peer, swarm: self, driver }.on_timer();
        }
    }

    fn leave(&self, machine: &mut Machine, _: Time, keeps_state: bool) {
        match machine {
            Machine::Tracker(_) if keeps_state => {}
            Machine::Tracker(tracker) => tracker.forget(),
            Machine::Peer(peer) => peer.forget(self, keeps_state),
        }
    }

    fn forget(&self, machine: &mut Machine) {
        self.leave(machine, Time::ZERO, false);
    }

    fn fold(&self, machine: &Machine, digest: &mut Digest) {
        match machine {
            Machine::Tracker(tracker) => {
                digest.word(tracker.announces);
                tracker.members().for_each(|peer| digest.word(u64::from(peer)));
            }
            Machine::Peer(peer) => peer.fold(digest),
        }
    }

    fn finish(&self, node: LpId, machine: &Machine, _: &End, metrics: &mut Metrics) {
        match machine {
            Machine::Tracker(tracker) => self.ids.finish_tracker(tracker, metrics),
            Machine::Peer(peer) => self.ids.finish(node, peer, self, metrics),
        }
    }

    fn conclude(&self, _: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.ids.conclude(self, metrics);
        Ok(())
    }
}

impl<D: Dependencies<Message>> At<'_, D> {
    fn on_message(&mut self, from: u32, message: Message) {
        if let Some(place) = self.peer.place(from) {
            self.peer.neighbours[place].last_heard = self.driver.now();
        }
        match message {
            Message::Announce(_) | Message::KeepAlive => {}
            Message::Peers(peers) => self.on_peers(&peers),
            Message::Handshake { is_answer, pieces } => self.on_handshake(from, is_answer, &pieces),
            Message::Bitfield(pieces) => self.on_bitfield(from, &pieces),
            Message::Have(piece) => self.on_have(from, piece),
            Message::Interested => self.on_interest(from, true),
            Message::NotInterested => self.on_interest(from, false),
            Message::Choke { coming } => self.on_choke(from, &coming),
            Message::Unchoke => self.on_unchoke(from),
            Message::Request(block) => self.on_request(from, block),
            Message::Cancel(block) => self.on_cancel(from, block),
            Message::Piece { block, bits } => self.on_block(from, block, bits),
            Message::Arrived(block) => self.on_arrived(from, block),
            Message::Close => self.on_close(from),
        }
    }
}

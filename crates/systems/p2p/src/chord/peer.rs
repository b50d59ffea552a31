//! The knowledge of a node of Chord, and its answers.

use super::message::Message;
use super::ring::Ring;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The number of successors that a node knows beyond the first, in case the first fails.
pub(crate) const BACKUPS: usize = 3;
/// The greatest number of nodes outside of the ring that a request to join passes through. The path from the
/// last node that joins to the first is far shorter.
const HOPS_OUTSIDE_MAX: u16 = 255;

/// The phase of a node's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    #[default]
    Outside,
    Joining,
    Member,
}

/// The knowledge of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    #[serde(skip)]
    pub(crate) id: u32,
    /// The node that it asks when it joins.
    pub(crate) known: u32,
    pub(crate) phase: Phase,
    /// The number of times that it has begun to join.
    pub(crate) session: u16,
    /// The finger that is fixed next.
    pub(crate) next_finger: u8,
    pub(crate) predecessor: Option<u32>,
    /// Its successor, and the nodes after that. The node's own identifier stands for no node.
    pub(crate) successors: [u32; BACKUPS + 1],
    /// By `k`: the first node after `id + 2^k`, as far as the node knows. The node's own identifier stands
    /// for no node.
    pub(crate) fingers: Box<[u32]>,
    /// The number of its last question.
    pub(crate) ticket: u32,
    pub(crate) books: Books,
    /// The time since which it is a member.
    pub(crate) since: Time,
    /// `None` as long as it is empty.
    pub(crate) past: Option<Box<Past>>,
    /// Its look-ups, where the parameters ask for them.
    pub(crate) look_ups: Vec<LookUp>,
}

/// A look-up that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LookUp {
    pub(crate) began: Time,
    pub(crate) took: Delay,
    pub(crate) key: u32,
    /// The successor of the key, and the number of nodes that the question reached; `None` without an answer.
    pub(crate) found: Option<(u32, u16)>,
}

/// Counters of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Books {
    pub(crate) messages: u32,
    pub(crate) bytes: u64,
    /// The bytes of messages that are no part of a user's look-up.
    pub(crate) maintenance_bytes: u64,
    pub(crate) timeouts: u32,
    pub(crate) joins: u32,
    pub(crate) departures: u32,
    /// Look-ups that were answered.
    pub(crate) answered: u32,
    /// Look-ups that were not answered.
    pub(crate) failed: u32,
    /// Look-ups that were under way when the node left.
    pub(crate) dropped: u32,
    /// Look-ups that got the right answer when the ring had settled.
    pub(crate) right: u32,
    /// Look-ups that got a wrong answer although the ring had settled.
    pub(crate) wrong: u32,
}

/// The past of a node, where nodes come and go: look-ups are judged by it at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Past {
    /// Sessions that have ended, from the end of the join on.
    pub(crate) sessions: Vec<(Time, Time)>,
    /// Look-ups that were answered before the ring had settled.
    pub(crate) answered: Vec<LookUp>,
}

/// A message to send: the identifier of its receiver, and the message.
pub(crate) type Send = (u32, Message);

/// The result of a look-up at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// This node knows it.
    Here(u32),
    /// Another node, which knows more, is asked.
    Ask(u32),
}

impl Peer {
    pub(crate) fn new(id: u32, bits: u32) -> Peer {
        Peer {
            id,
            known: id,
            phase: Phase::Outside,
            session: 0,
            next_finger: 0,
            predecessor: None,
            successors: [id; BACKUPS + 1],
            fingers: vec![id; bits as usize].into(),
            ticket: 0,
            books: Books::default(),
            since: Time::ZERO,
            past: None,
            look_ups: Vec::new(),
        }
    }

    /// Returns the identifiers of the nodes that it knows.
    pub(crate) fn known(&self) -> impl Iterator<Item = u32> {
        let Peer { known, predecessor, successors, fingers, .. } = self;
        [*known].into_iter().chain(*predecessor).chain(*successors).chain(fingers.iter().copied())
    }

    /// Returns its past.
    pub(crate) fn past(&mut self) -> &mut Past {
        self.past.get_or_insert_default()
    }

    /// Forgets the ring.
    pub(crate) fn forget(&mut self) {
        self.phase = Phase::Outside;
        self.predecessor = None;
        self.successors = [self.id; BACKUPS + 1];
        self.fingers.fill(self.id);
    }

    /// Returns the node that follows it, as far as it knows.
    pub(crate) fn successor(&self) -> u32 {
        self.successors[0]
    }

    /// Sets the node that follows it, and the nodes that follow that. The first fingers point to the
    /// successor too.
    pub(crate) fn set_successors(&mut self, ring: &Ring, successor: u32, others: &[u32]) {
        self.successors = [self.id; BACKUPS + 1];
        self.successors[0] = successor;
        // Behind this node itself there are no more backups.
        let others = others.iter().take_while(|&&other| other != self.id && other != successor);
        for (place, other) in self.successors[1..].iter_mut().zip(others) {
            *place = *other;
        }
        let distance = ring.distance(self.id, successor);
        if distance > 0 {
            self.fingers[..=distance.ilog2() as usize].fill(successor);
        }
    }

    /// Puts a newcomer between itself and its successor.
    fn insert(&mut self, ring: &Ring, newcomer: u32) {
        let others = self.successors;
        let others = if others[0] == newcomer { &others[1..] } else { &others[..] };
        self.set_successors(ring, newcomer, others);
    }

    /// Returns the successor of `key`, or a node that knows more about it.
    #[inline]
    pub(crate) fn way(&self, ring: &Ring, key: u32) -> Way {
        if key == self.id {
            return Way::Here(self.id);
        }
        if ring.is_in(key, self.id, self.successor()) {
            return Way::Here(self.successor());
        }
        Way::Ask(self.closest_preceding(ring, key))
    }

    /// Returns the last known node before `key`. The key is not between this node and its successor.
    #[inline]
    fn closest_preceding(&self, ring: &Ring, key: u32) -> u32 {
        let distance = ring.distance(self.id, key);
        // A finger of 2^k or more lies behind a key that is nearer than that.
        let highest = (distance - 1).checked_ilog2().map_or(0, |k| k as usize + 1);
        let fingers = self.fingers[..highest].iter().rev();
        let mut preceding = fingers.filter(|&&finger| {
            let to_finger = ring.distance(self.id, finger);
            to_finger > 0 && to_finger < distance
        });
        preceding.next().copied().unwrap_or(self.successor())
    }

    /// Forgets a finger that may not answer. The successor stays, since the node will ask it itself.
    pub(crate) fn forget_finger(&mut self, suspect: u32) {
        if suspect != self.successor() {
            self.fingers.iter_mut().filter(|finger| **finger == suspect).for_each(|finger| *finger = self.id);
        }
    }

    /// Forgets a neighbour that does not answer.
    pub(crate) fn forget_neighbour(&mut self, ring: &Ring, suspect: u32) {
        self.fingers.iter_mut().filter(|finger| **finger == suspect).for_each(|finger| *finger = self.id);
        if self.predecessor == Some(suspect) {
            self.predecessor = None;
        }
        if self.successor() == suspect {
            let next = self.successors[1];
            let others = self.successors;
            match next == self.id {
                // The nearest of the nodes that it knows, if there is one.
                true => {
                    let known = self.fingers.iter().copied().chain(self.predecessor);
                    let nearest = known.filter(|&id| id != self.id).min_by_key(|&id| ring.distance(self.id, id));
                    self.set_successors(ring, nearest.unwrap_or(self.id), &[]);
                }
                false => self.set_successors(ring, next, &others[2..]),
            }
        }
    }

    /// Learns the predecessor of its successor, and the nodes that follow the successor. Returns whether
    /// there is a nearer successor.
    pub(crate) fn stabilise(&mut self, ring: &Ring, between: Option<u32>, others: &[u32]) -> bool {
        let successor = self.successor();
        match between.filter(|&id| ring.is_between(id, self.id, successor)) {
            Some(nearer) => {
                let mut list = [successor; BACKUPS + 1];
                let len = others.len().min(BACKUPS);
                list[1..=len].copy_from_slice(&others[..len]);
                self.set_successors(ring, nearer, &list[..=len]);
            }
            None => self.set_successors(ring, successor, others),
        }
        self.successor() != successor
    }

    /// Sets a finger that was looked up.
    pub(crate) fn set_finger(&mut self, ring: &Ring, k: u8, node: u32) {
        let distance = ring.distance(self.id, node);
        // Further fingers that begin before the node point to it as well. Fingers that wrap round to this
        // node point to no node.
        for (j, finger) in self.fingers.iter_mut().enumerate().skip(usize::from(k)) {
            if j > usize::from(k) && (distance == 0 || distance >> j == 0) {
                break;
            }
            *finger = node;
        }
    }

    /// Returns the finger to fix now. Fingers are fixed from the furthest to the nearest beyond the
    /// successor, and again.
    pub(crate) fn finger_to_fix(&mut self, ring: &Ring) -> Option<u8> {
        let distance = ring.distance(self.id, self.successor());
        // The nearest finger that begins after the successor.
        let least = distance.checked_ilog2()? + 1;
        if least >= ring.bits() {
            return None;
        }
        let next = u32::from(self.next_finger);
        let k = if next < least || next >= ring.bits() { ring.bits() - 1 } else { next };
        #[expect(clippy::cast_possible_truncation, reason = "below 32")]
        let (k, next) = (k as u8, k.wrapping_sub(1) as u8);
        self.next_finger = next;
        Some(k)
    }

    /// Returns whether there are fingers beyond the successor that are nearer than the one that was fixed
    /// last.
    pub(crate) fn has_more_to_fix(&self, ring: &Ring) -> bool {
        let distance = ring.distance(self.id, self.successor());
        distance
            .checked_ilog2()
            .is_some_and(|k| u32::from(self.next_finger) > k && u32::from(self.next_finger) < ring.bits())
    }

    /// Handles a message that it has not waited for. Returns the answer, or the message passed on.
    #[inline]
    pub(crate) fn serve(&mut self, ring: &Ring, message: Message) -> Option<Send> {
        if self.phase != Phase::Member {
            return self.serve_outside(message);
        }
        match message {
            Message::Find { key, asker, ticket, hops, for_user } => Some(match self.way(ring, key) {
                Way::Here(successor) => (asker, Message::Found { ticket, successor, hops }),
                Way::Ask(next) => {
                    let hops = hops.saturating_add(1);
                    (next, Message::Find { key, asker, ticket, hops, for_user })
                }
            }),
            Message::Join { newcomer, session, hops, .. } => match self.way(ring, newcomer) {
                // The node has been here before, and would be its own predecessor: the ring has forgotten the
                // node, and the node the ring.
                _ if newcomer == self.id => None,
                Way::Here(successor) => {
                    // A newcomer that has been here before may still be known as the successor.
                    let skipped = usize::from(successor == newcomer);
                    let mut successors = [self.id; BACKUPS];
                    successors.copy_from_slice(&self.successors[skipped..skipped + BACKUPS]);
                    self.insert(ring, newcomer);
                    Some((newcomer, Message::Joined { session, predecessor: self.id, successors }))
                }
                Way::Ask(next) => {
                    let hops = hops.saturating_add(1);
                    Some((next, Message::Join { newcomer, session, hops, in_ring: true }))
                }
            },
            Message::GetPredecessor { asker, ticket } => {
                let [successors @ .., _] = self.successors;
                Some((asker, Message::Predecessor { ticket, predecessor: self.predecessor, successors }))
            }
            Message::Ping { asker, ticket } => Some((asker, Message::Pong { ticket })),
            Message::Notify { id } => {
                self.notified(ring, id);
                None
            }
            Message::PredecessorLeaves { leaver, predecessor } => {
                if self.predecessor == Some(leaver) {
                    self.predecessor = predecessor.filter(|&id| id != self.id);
                }
                None
            }
            Message::SuccessorLeaves { leaver, successor } => {
                self.successor_leaves(ring, leaver, successor);
                None
            }
            // Answers to questions whose time is over.
            Message::Found { .. } | Message::Predecessor { .. } | Message::Pong { .. } | Message::Joined { .. } => None,
        }
    }

    /// Handles a message outside of the ring. A node that has not joined passes requests to join on to the
    /// node that it knows; all else is for members.
    fn serve_outside(&mut self, message: Message) -> Option<Send> {
        match message {
            Message::Join { newcomer, session, hops, in_ring: false }
                if hops < HOPS_OUTSIDE_MAX && self.phase == Phase::Joining && self.known != newcomer =>
            {
                Some((self.known, Message::Join { newcomer, session, hops: hops + 1, in_ring: false }))
            }
            _ => None,
        }
    }

    /// Handles the notice of a node that it might be the predecessor.
    pub(crate) fn notified(&mut self, ring: &Ring, id: u32) {
        if self.predecessor.is_none_or(|old| ring.is_between(id, old, self.id)) && id != self.id {
            self.predecessor = Some(id);
        }
        if self.successor() == self.id {
            self.set_successors(ring, id, &[]);
        }
    }

    fn successor_leaves(&mut self, ring: &Ring, leaver: u32, successor: u32) {
        for finger in self.fingers.iter_mut().filter(|finger| **finger == leaver) {
            *finger = successor;
        }
        if self.successor() == leaver {
            let others = self.successors;
            let others = &others[1..];
            let others = if others[0] == successor { &others[1..] } else { others };
            self.set_successors(ring, successor, others);
        }
    }

    /// Returns what is folded into the digest.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let two = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let Books { messages, timeouts, answered, failed, wrong, .. } = self.books;
        [
            two(self.successor(), self.predecessor.unwrap_or(self.id)),
            two(messages, timeouts),
            two(answered, failed),
            two(wrong, self.phase as u32),
        ]
        .into_iter()
    }
}

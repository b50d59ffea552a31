//! Decorations of links: delays, losses and records that peers know nothing of.

use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A part between peers and the underlay, which sees each message when it is sent, and may delay or lose it.
/// Neither peer knows of it. Any crate may write one.
///
/// It must be a pure function of its fields and arguments, because an event may be executed again after a
/// rollback. It can only add to a latency, so the lookahead stays right.
///
/// # Examples
///
/// Peer 3 has a slow access link, and loses every message to peer 0 from the second second on:
///
/// ```
/// use parades_carriers::underlay::{Decoration, Effect, Passage};
/// use parades_core::prelude::*;
///
/// #[derive(Debug)]
/// struct SlowPeer;
///
/// impl Decoration for SlowPeer {
///     fn on_message(&self, passage: Passage, _: &Rng) -> Effect {
///         match passage {
///             Passage { from: LpId(3), to: LpId(0), departs, .. } if departs >= Time::from_secs(2) => Effect::Lose,
///             Passage { from: LpId(3), .. } | Passage { to: LpId(3), .. } => Effect::Delay(Delay::from_ms(80)),
///             _ => Effect::None,
///         }
///     }
/// }
///
/// let rng = Rng::stream(1, 3);
/// let passage = Passage { from: LpId(3), to: LpId(1), departs: Time::ZERO, delay: Delay::from_ms(20) };
/// assert_eq!(SlowPeer.on_message(passage, &rng), Effect::Delay(Delay::from_ms(80)));
/// ```
pub trait Decoration: Send + Sync + fmt::Debug + 'static {
    /// Returns the effect on a message. Random numbers come from `rng`, the sender's stream.
    fn on_message(&self, passage: Passage, rng: &Rng) -> Effect;
}

/// A message on a link between two peers, when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// The sender.
    pub from: LpId,
    /// The receiver.
    pub to: LpId,
    /// The time at which it is sent.
    pub departs: Time,
    /// The time that it takes, with its jitter and with the delays of decorations before this one.
    pub delay: Delay,
}

/// The effect of a decoration on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// There is none.
    None,
    /// The message takes this much longer.
    Delay(Delay),
    /// The message is lost.
    Lose,
}

/// The selection of messages that a record keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The peer whose messages are kept, to it and from it; `None`: those of all peers.
    pub peer: Option<LpId>,
    /// The greatest number of messages that are kept of each sender: the first ones.
    pub messages_max: u32,
}

impl Recorded {
    /// Returns true if the message is one of those that the record keeps.
    pub(super) fn has(&self, passage: &Passage) -> bool {
        self.peer.is_none_or(|peer| peer == passage.from || peer == passage.to)
    }
}

/// The record of messages that a peer has sent. A copy takes constant time: the entries are a list, the last
/// one first, and copies share it. So a rollback is cheap, however long the record is.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<(Passage, bool)>", into = "Vec<(Passage, bool)>")]
pub(super) struct Record {
    last: Option<Arc<Entry>>,
}

/// An entry of a record, and the entries before it.
struct Entry {
    passage: Passage,
    arrives: bool,
    number: u32,
    before: Option<Arc<Entry>>,
}

impl Record {
    pub(super) fn len(&self) -> u32 {
        self.last.as_ref().map_or(0, |entry| entry.number)
    }

    /// Adds a message, unless the record is full.
    pub(super) fn push(&mut self, passage: Passage, arrives: bool, messages_max: u32) {
        if self.len() < messages_max {
            let number = self.len() + 1;
            self.last = Some(Arc::new(Entry { passage, arrives, number, before: self.last.take() }));
        }
    }

    /// Returns the messages in their order, each with true if it arrives.
    pub(super) fn messages(&self) -> Vec<(Passage, bool)> {
        let entries = std::iter::successors(self.last.as_deref(), |entry| entry.before.as_deref());
        let mut messages: Vec<_> = entries.map(|entry| (entry.passage, entry.arrives)).collect();
        messages.reverse();
        messages
    }
}

impl From<Record> for Vec<(Passage, bool)> {
    fn from(record: Record) -> Vec<(Passage, bool)> {
        record.messages()
    }
}

impl From<Vec<(Passage, bool)>> for Record {
    fn from(messages: Vec<(Passage, bool)>) -> Record {
        let mut record = Record::default();
        messages.into_iter().for_each(|(passage, arrives)| record.push(passage, arrives, u32::MAX));
        record
    }
}

impl Drop for Record {
    /// Frees the list in a loop: a long list would overflow the stack by recursion.
    fn drop(&mut self) {
        let mut next = self.last.take();
        while let Some(entry) = next {
            next = Arc::into_inner(entry).and_then(|mut entry| entry.before.take());
        }
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        self.messages() == other.messages()
    }
}

impl Eq for Record {}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} messages)", self.len())
    }
}

//! Links that a program changes while the network runs: their values before and from a time on.
//!
//! A change is an event of the description at the time of the cut. Of the events of a changed link, the last
//! change replaces all that came before. So a description does not grow with the number of changes.

use parades_core::time::{Delay, Time};
use parades_packet::description::{Change, Description, Event, Link};
use parades_packet::impairment::Impairments;
use parades_packet::queue::Discipline;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first time of an event: a description has none at the start.
const FIRST: Time = Time::from_ps(1);

/// A change of a link of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketLinkChange {
    /// The link has this rate in bits per second: both ways, or the way there if the ways differ.
    Rate(u64),
    /// The way back has this rate in bits per second, on a link whose ways differ.
    RateBack(u64),
    /// The link has this propagation delay. Routes by delay follow.
    Delay(Delay),
    /// Packets are lost after their transmission with this probability.
    Loss(f64),
    /// The link goes down, and loses the packets that wait for it, are transmitted or are on their way. Only
    /// a link with drop-tail queues can: its packets are known in advance. Routes follow after the
    /// convergence.
    Down,
    /// The link comes up again, empty.
    Up,
}

/// The values of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Values {
    rate_bps: u64,
    rate_back_bps: Option<u64>,
    delay: Delay,
    loss: f64,
    is_up: bool,
}

/// The last change of a link by the program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Changed {
    at: Time,
    /// The values before this time.
    before: Values,
    /// The values from this time on.
    from: Values,
}

impl PacketLinkChange {
    /// Returns `Ok` if the link can have the value.
    ///
    /// # Errors
    ///
    /// The reason why it cannot, as a sentence.
    pub(super) fn check(self, link: &Link) -> Result<(), String> {
        let name = &link.name;
        match self {
            PacketLinkChange::Rate(0) | PacketLinkChange::RateBack(0) => {
                Err(format!("the link `{name}` cannot have a rate of zero"))
            }
            PacketLinkChange::RateBack(_) if link.back.is_none() => {
                Err(format!("the link `{name}` has one rate for both ways"))
            }
            PacketLinkChange::Loss(loss) if !(0.0..=1.0).contains(&loss) => {
                Err(format!("the link `{name}` cannot lose packets with the probability {loss}"))
            }
            PacketLinkChange::Down if !is_plain(link) => Err(format!(
                "the link `{name}` cannot be taken down, since its queues decide late which packets leave; set its \
                 loss to 1, or have an event in the description"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns true if a link has drop-tail queues, and nothing else.
fn is_plain(link: &Link) -> bool {
    let has_devices = link.device > 0 || link.back.as_ref().is_some_and(|back| back.device > 0);
    let is_plain = |queue: &Discipline| matches!(queue, Discipline::DropTail(_));
    link.queues().all(is_plain) && !has_devices && link.impairments == Impairments::default()
}

/// Returns the link of a change; `None` for a change of a node.
fn link_of(change: &Change) -> Option<u32> {
    match *change {
        Change::Link { link, .. } | Change::Quality { link, .. } => Some(link),
        Change::Node { .. } => None,
    }
}

impl Changed {
    /// Returns a change of a link now, as yet to the values that it has. `last` is its last change.
    pub(super) fn at(description: &Description, last: Option<&Changed>, link: u32, now: Time) -> Changed {
        let Link { rate_bps, ref back, delay, loss, .. } = description.links[link as usize];
        let rate_back_bps = back.as_ref().map(|back| back.rate_bps);
        let first = Values { rate_bps, rate_back_bps, delay, loss, is_up: true };
        // The changes of the program, as an event among those of the description.
        let (since, mut before) = last.map_or((None, first), |last| (Some(last.at), last.before));
        if let Some(last) = last
            && last.at < now
        {
            before = last.from;
        }
        let mut events: Vec<&Event> = description.events.iter().collect();
        events.sort_by_key(|event| event.at);
        events.retain(|event| link_of(&event.change) == Some(link) && since.is_none_or(|since| event.at > since));
        let mut from = last.filter(|last| last.at == now).map_or(before, |last| last.from);
        for event in events.into_iter().filter(|event| event.at <= now) {
            if event.at < now {
                before.apply(&event.change);
            }
            from.apply(&event.change);
        }
        Changed { at: now, before, from }
    }

    /// Returns the change with another value.
    pub(super) fn with(mut self, change: PacketLinkChange) -> Changed {
        match change {
            PacketLinkChange::Rate(rate_bps) => self.from.rate_bps = rate_bps,
            PacketLinkChange::RateBack(rate_bps) => self.from.rate_back_bps = Some(rate_bps),
            PacketLinkChange::Delay(delay) => self.from.delay = delay,
            PacketLinkChange::Loss(loss) => self.from.loss = loss,
            PacketLinkChange::Down => self.from.is_up = false,
            PacketLinkChange::Up => self.from.is_up = true,
        }
        self
    }
}

impl Values {
    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Link { is_up, .. } => self.is_up = is_up,
            Change::Quality { rate_bps, rate_back_bps, delay, loss, .. } => {
                self.rate_bps = rate_bps.unwrap_or(self.rate_bps);
                self.rate_back_bps = self.rate_back_bps.map(|before| rate_back_bps.unwrap_or(before));
                self.delay = delay.unwrap_or(self.delay);
                self.loss = loss.unwrap_or(self.loss);
            }
            Change::Node { .. } => {}
        }
    }

    /// Gives a link these values from the start on.
    fn give(&self, link: &mut Link) {
        let Values { rate_bps, rate_back_bps, delay, loss, .. } = *self;
        (link.rate_bps, link.delay, link.loss) = (rate_bps, delay, loss);
        if let (Some(back), Some(rate_bps)) = (&mut link.back, rate_back_bps) {
            back.rate_bps = rate_bps;
        }
    }
}

/// Returns the description of the network with these changes, for a run that goes on from `now`. A link that
/// changes now has its values from before until then, as plans rest on them; nothing looks further back.
pub(super) fn with_changes(description: &Description, changed: &BTreeMap<u32, Changed>, now: Time) -> Description {
    let mut description = description.clone();
    let is_past = |event: &Event| {
        let changed = link_of(&event.change).and_then(|link| changed.get(&link));
        changed.is_some_and(|changed| event.at <= changed.at)
    };
    description.events.retain(|event| !is_past(event));
    let mut events = Vec::new();
    for (&link, &Changed { at, before, from }) in changed {
        let is_new = at == now && at > Time::ZERO;
        let first = if is_new { before } else { from };
        first.give(&mut description.links[link as usize]);
        if !first.is_up {
            events.push(Event { at: FIRST, change: Change::Link { link, is_up: false } });
        }
        if !is_new {
            continue;
        }
        let change = Change::Quality {
            link,
            rate_bps: Some(from.rate_bps),
            rate_back_bps: from.rate_back_bps,
            delay: (from.delay != before.delay).then_some(from.delay),
            loss: Some(from.loss),
        };
        events.push(Event { at, change });
        if from.is_up != before.is_up {
            events.push(Event { at, change: Change::Link { link, is_up: from.is_up } });
        }
    }
    events.append(&mut description.events);
    description.events = events;
    description
}

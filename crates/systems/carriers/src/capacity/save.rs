//! The states of the carrier as bytes.
//!
//! A solver writes its access links, and for each transfer in progress the messages between its two peers:
//! the one that is being transferred, and those that follow. The peers, the bits of a message and the timer
//! follow from these.

use super::Capacity;
use super::journal::{Counts, Recording};
use super::solver::{OnItsWay, Solver};
use parades_core::digest::Payload;
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed, Wire};
use parades_flow::access::Access;
use parades_program::{Layout, Receipt, SaveCarrier};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A message on its way.
#[derive(Serialize, Deserialize)]
struct Saved<M> {
    rest: Delay,
    receipt: Option<Receipt>,
    message: M,
}

impl<M> OnItsWay<M> {
    fn saved(&self) -> Saved<&M> {
        let OnItsWay { rest, receipt, message, .. } = self;
        Saved { rest: *rest, receipt: *receipt, message }
    }
}

impl<M: Payload + Clone + Wire> SaveCarrier<M> for Capacity<M> {
    fn write_access(&self, cut: &u64, to: &mut Vec<u8>) {
        wire::write(cut, to);
    }

    fn read_access(&self, _: LpId, _: Layout, from: &mut &[u8]) -> Result<u64, Malformed> {
        wire::read(from)
    }

    fn write_lp(&self, solver: &Box<Solver<M>>, to: &mut Vec<u8>) {
        let Solver { access, messages, queues, counts: Counts { transfers, bits, .. }, .. } = &**solver;
        wire::write(&(access, transfers, bits), to);
        for id in access.in_order() {
            let first = messages[id.index()].as_ref().expect("a transfer has its message");
            let others = &queues[&(first.from, first.to)];
            let all: Vec<Saved<&M>> = std::iter::once(first).chain(others).map(OnItsWay::saved).collect();
            wire::write(&all, to);
        }
    }

    fn read_lp(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Box<Solver<M>>, Malformed> {
        let group = layout.index(lp).ok_or_else(|| Malformed::new("it is no LP of the carrier"))?;
        let members = self.groups.members(group);
        let (access, transfers, bits): (Access, u64, f64) = wire::read(from)?;
        if access.peers() != members.len() {
            let why = format!("{} peers share their links, and the group has {}", access.peers(), members.len());
            return Err(Malformed::new(why));
        }
        let (mut messages, mut queues) = (Vec::new(), BTreeMap::new());
        let mut counts = Counts { on_their_way: 0, transfers, bits };
        for id in access.in_order() {
            let ends = access.ends(id);
            let [from_peer, to_peer] = ends.map(|end| LpId(members[end as usize]));
            let all: Vec<Saved<M>> = wire::read(from)?;
            let all = all.into_iter().map(|Saved { rest, receipt, message }| {
                let bits = (self.bits)(&message);
                let is_possible = bits > 0.0 && bits.is_finite() && rest >= self.lead;
                let message = OnItsWay { from: from_peer, to: to_peer, ends, bits, rest, receipt, message };
                is_possible.then_some(message)
            });
            let all: Option<VecDeque<OnItsWay<M>>> = all.collect();
            let mut all = all.ok_or_else(|| Malformed::new("a message is no transfer"))?;
            counts.on_their_way += all.len() as u64;
            messages.push(Some(all.pop_front().ok_or_else(|| Malformed::new("a transfer has no message"))?));
            if queues.insert((from_peer, to_peer), all).is_some() {
                return Err(Malformed::new("two peers have two transfers"));
            }
        }
        let armed = access.next_end().unwrap_or(Time::MAX);
        Ok(Box::new(Solver { access, messages, queues, armed, counts, recording: Recording(None) }))
    }
}

//! The bytes of the state of CAKE. Sums and the counts of bulk queues follow from the queues.

use super::{Account, Cake, Cobalt, Flow, Queues, Shaper, Sums, Turn};
use crate::queue::holding::{Held, bytes_of};
use parades_core::wire::{self, Malformed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

impl Queues {
    /// Appends the bytes of the state.
    pub(in crate::queue) fn write(&self, to: &mut Vec<u8>) {
        let Queues { flows, new, old, decaying: _, sources: _, destinations: _, sums, shaper } = self;
        wire::write(&(new, old, sums.ticket, shaper, flows.len() as u64), to);
        for (number, Flow { packets, bytes: _, account, cobalt }) in
            flows.iter().map(|(number, flow)| (number, &**flow))
        {
            wire::write(&(number, packets, account, cobalt), to);
        }
    }

    /// Reads a state.
    pub(in crate::queue) fn read(of: &Cake, from: &mut &[u8]) -> Result<Queues, Malformed> {
        let (new, old, ticket, shaper, count): (VecDeque<u32>, VecDeque<u32>, u64, Shaper, u64) = wire::read(from)?;
        let mut read = Queues { new, old, shaper, sums: Sums { ticket, ..Sums::default() }, ..Queues::default() };
        for _ in 0..count {
            let (number, packets, account, cobalt): (u32, VecDeque<Held>, Account, Cobalt) = wire::read(from)?;
            // A packet makes a deficit of at most its own bytes on the link below.
            if number >= of.queues || !(-(1_i64 << 40)..1 << 40).contains(&account.deficit) {
                return Err(Malformed::new("CAKE has no such queue"));
            }
            let bytes = bytes_of(&packets);
            read.flows.insert(number, Box::new(Flow { packets, bytes, account, cobalt }));
        }
        read.check_lists()?;
        read.add_up(of)?;
        Ok(read)
    }

    /// Checks that each queue is in the one list that its turn names, and finds the decaying queues.
    fn check_lists(&mut self) -> Result<(), Malformed> {
        let wrong = || Malformed::new("CAKE lists a queue twice, or none, or one at a wrong place");
        let mut listed = BTreeSet::new();
        for (list, is_new) in [(&self.new, true), (&self.old, false)] {
            for number in list {
                let flow = self.flows.get(number).ok_or_else(wrong)?;
                let is_right = match flow.account.turn {
                    Turn::Sparse => is_new,
                    Turn::Waiting => !is_new && flow.packets.is_empty(),
                    Turn::Bulk => !is_new,
                    Turn::Decaying(_) => false,
                };
                if !is_right || !listed.insert(*number) {
                    return Err(wrong());
                }
            }
        }
        for (&number, flow) in &self.flows {
            if let Turn::Decaying(ticket) = flow.account.turn {
                let is_right = flow.packets.is_empty() && flow.account.deficit > 0 && ticket <= self.sums.ticket;
                if !is_right || self.decaying.insert(ticket, number).is_some() {
                    return Err(wrong());
                }
            } else if !listed.contains(&number) {
                return Err(wrong());
            }
        }
        Ok(())
    }

    /// Adds up packets and bytes, and the bulk queues of each host.
    fn add_up(&mut self, of: &Cake) -> Result<(), Malformed> {
        let too_much = || Malformed::new("CAKE holds more than is possible");
        let count = |counts: &mut BTreeMap<u32, u32>, host| *counts.entry(host).or_default() += 1;
        for flow in self.flows.values() {
            let packets = u32::try_from(flow.packets.len()).map_err(|_| too_much())?;
            self.sums.packets = self.sums.packets.checked_add(packets).ok_or_else(too_much)?;
            self.sums.bytes = self.sums.bytes.checked_add(flow.bytes).ok_or_else(too_much)?;
            if flow.account.turn == Turn::Bulk {
                self.sums.bulk += 1;
                if of.isolation.is_by_source() {
                    count(&mut self.sources, flow.account.source);
                }
                if of.isolation.is_by_destination() {
                    count(&mut self.destinations, flow.account.destination);
                }
            }
        }
        Ok(())
    }
}

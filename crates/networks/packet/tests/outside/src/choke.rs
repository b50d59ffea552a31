//! CHOKe (R. Pan, B. Prabhakar, K. Psounis, "CHOKe, a stateless active queue management scheme for
//! approximating fair bandwidth allocation", IEEE INFOCOM, 2000), without RED's average: a packet that finds
//! a long queue is compared with one that waits, drawn at random. If both are of one flow, both are dropped.

use parades_core::digest::Digest;
use parades_packet::queue::{Departure, DepartureQueue, Discipline, Drops, HeldPacket, PortView, QueueLimit};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
struct Choke {
    /// The number of waiting packets from which on packets are compared.
    from: usize,
    limit: QueueLimit,
    packets: VecDeque<HeldPacket>,
}

/// Returns the discipline for links.
pub(crate) fn discipline(from: usize, limit: QueueLimit) -> Discipline {
    Discipline::on_departure("choke", Choke { from, limit, packets: VecDeque::new() })
}

impl DepartureQueue for Choke {
    fn enqueue(&mut self, packet: HeldPacket, port: &PortView<'_>, drops: &mut Drops<'_>) {
        if port.waiting >= self.from {
            let place = port.rng.below(port.waiting as u64) as usize;
            if self.packets[place].offered.flow == packet.offered.flow {
                self.packets.remove(place).into_iter().for_each(|victim| drops.early(victim));
                return drops.early(packet);
            }
        }
        if port.has_room(self.limit, packet.offered.bytes) {
            self.packets.push_back(packet);
        } else {
            drops.full(packet);
        }
    }

    fn dequeue(&mut self, _: &PortView<'_>, _: &mut Drops<'_>) -> Option<Departure> {
        self.packets.pop_front().map(Departure::Pass)
    }

    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket)) {
        self.packets.iter().for_each(visitor);
    }

    fn check(&self) -> Result<(), String> {
        if self.from == 0 { Err("compares with an empty queue; let it begin at 1 or more".into()) } else { Ok(()) }
    }

    fn copy(&self) -> Box<dyn DepartureQueue> {
        Box::new(self.clone())
    }

    fn fold(&self, _: &mut Digest) {
        // The packets are all of its state, and are folded already.
    }
}

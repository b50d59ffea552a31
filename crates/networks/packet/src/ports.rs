//! The way of a packet through a port that is more than a drop-tail queue, for any owner of the port's node.

use crate::line::ManagedLink;
use crate::node::{EgressMut, EgressUndo};
use crate::port::{Arrival, Loss, Passage};
use crate::queue::Offered;
use crate::queue::holding::Dropped;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Whole};
use parades_core::time::{Delay, Time};

/// A node whose ports packets `P` leave by, and its surroundings.
pub(crate) trait PortOwner<'a, P: Whole + Clone + 'static, R: Recorder<EgressUndo<P>>> {
    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns true if the packet arrives before another one leaves the port at the same time. `None` if the
    /// port decides.
    fn precedes(&self, port: u32) -> Option<bool>;

    /// Returns the ports, and the random stream of the node.
    fn parts(&mut self) -> (&mut EgressMut<'a, P, R>, &Rng);

    /// Notes that a packet was offered to a port, and the reason if the port refused it.
    fn note_offer(&mut self, packet: &P, port: u32, refusal: Option<Loss>);

    /// Sends a packet on its way behind the transmitter, and its copy, if the link makes one.
    fn launch(&mut self, port: u32, packet: P, passage: &Passage);

    /// Counts a packet as lost that the port has held.
    fn lose_held(&mut self, packet: &P, port: u32, loss: Loss);

    /// Calls [`wake`] for the port after a delay.
    fn wake_after(&mut self, port: u32, delay: Delay);
}

/// Sends a packet by a managed port.
#[inline(never)]
pub(crate) fn send<'a, P: Whole + Clone + 'static, R: Recorder<EgressUndo<P>>, O: PortOwner<'a, P, R>>(
    owner: &mut O,
    packet: P,
    port: u32,
    offered: &Offered,
    link: ManagedLink<'_>,
) -> Result<(), Loss> {
    let now = owner.now();
    if !link.rules.discipline.decides_on_departure() {
        let arrival = Arrival { now, precedes: owner.precedes(port) };
        let (egress, rng) = owner.parts();
        let passage = egress.ports().at(port as usize).admit(arrival, offered, link, rng);
        owner.note_offer(&packet, port, passage.err());
        owner.launch(port, packet, &passage?);
        return Ok(());
    }
    let refused = owner.parts().0.ports().at(port as usize).refuse_if_down(now, link);
    owner.note_offer(&packet, port, refused.err());
    refused?;
    let (egress, rng) = owner.parts();
    let slot = egress.keep(packet);
    let mut dropped = Dropped::new();
    egress.ports().at(port as usize).hold(now, rng, slot, offered, link, &mut dropped);
    release(owner, port, link, dropped);
    Ok(())
}

/// Handles the event of a port: its device takes the next packet.
#[inline(never)]
pub(crate) fn wake<'a, P: Whole + Clone + 'static, R: Recorder<EgressUndo<P>>, O: PortOwner<'a, P, R>>(
    owner: &mut O,
    port: u32,
    link: ManagedLink<'_>,
) {
    owner.parts().0.ports().at(port as usize).wake();
    release(owner, port, link, Dropped::new());
}

/// Sends the packets that the device of a port takes from its discipline, unless an event of the port is
/// still to come.
fn release<'a, P: Whole + Clone + 'static, R: Recorder<EgressUndo<P>>, O: PortOwner<'a, P, R>>(
    owner: &mut O,
    port: u32,
    link: ManagedLink<'_>,
    mut dropped: Dropped,
) {
    let now = owner.now();
    if !owner.parts().0.ports[port as usize].is_waking() {
        loop {
            let (egress, rng) = owner.parts();
            let released = egress.ports().at(port as usize).release(now, link, rng, &mut dropped);
            let Some((slot, passage)) = released else { break };
            let packet = egress.take(slot);
            owner.launch(port, packet, &passage);
        }
    }
    for (held, loss) in dropped {
        let packet = owner.parts().0.take(held.slot());
        owner.lose_held(&packet, port, loss);
    }
    if let Some(delay) = owner.parts().0.ports().at(port as usize).wake_after(now, link.rules) {
        owner.wake_after(port, delay);
    }
}

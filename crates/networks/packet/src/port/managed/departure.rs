//! The steps of a port whose discipline holds packets until the device takes one.

use super::{Managed, MemoryMut, Passage};
use crate::line::{ManagedLink, PortRules};
use crate::port::{Loss, PortMut, PortUndo, Queue};
use crate::queue::holding::{Dropped, Held};
use crate::queue::{Offered, Waiting};
use parades_core::random::Rng;
use parades_core::restore::Recorder;
use parades_core::time::{Delay, Time};

impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Returns the reason why a packet cannot enter the queue, and counts it.
    pub(crate) fn refuse_if_down(&mut self, now: Time, link: ManagedLink<'_>) -> Result<(), Loss> {
        if link.line.at(now).is_up {
            return Ok(());
        }
        self.count_lost(Loss::Down, link.rules);
        Err(Loss::Down)
    }

    /// Adds a packet, whose place in the node's store is `slot`. Packets that find no room are added to
    /// `dropped`; that may be the packet itself.
    pub(crate) fn hold(
        &mut self,
        now: Time,
        rng: &Rng,
        slot: u32,
        offered: &Offered,
        link: ManagedLink<'_>,
        dropped: &mut Dropped,
    ) {
        let before = dropped.len();
        let port = self.seen(now, link.line, rng);
        let held = Held::new(slot, offered.bytes, now, offered.is_capable);
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&link.rules.discipline));
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        if let MemoryMut::Held(mut holding) = managed.memory() {
            holding.enqueue(held, offered, &link.rules.discipline, &port, dropped);
        }
        self.count_dropped(now, &dropped[before..]);
    }

    /// Lets the discipline select a packet, if the device takes one. Returns its place in the node's store
    /// and its way. Packets that are lost are added to `dropped`.
    pub(crate) fn release(
        &mut self,
        now: Time,
        link: ManagedLink<'_>,
        rng: &Rng,
        dropped: &mut Dropped,
    ) -> Option<(u32, Passage)> {
        let before = dropped.len();
        let released = self.try_release(now, link, rng, dropped);
        self.count_dropped(now, &dropped[before..]);
        if let Some((_, passage)) = &released {
            self.count_passage(passage);
        }
        released
    }

    fn try_release(
        &mut self,
        now: Time,
        link: ManagedLink<'_>,
        rng: &Rng,
        dropped: &mut Dropped,
    ) -> Option<(u32, Passage)> {
        self.drain(now, link.rules);
        loop {
            let is_up = link.line.at(now).is_up;
            if is_up && self.takes_from(now, link.rules) > now {
                return None;
            }
            let port = self.seen(now, link.line, rng);
            let mut queue = self.queue().into_option()?;
            let mut managed = queue.managed();
            let mut managed = managed.as_mut()?;
            let MemoryMut::Held(mut holding) = managed.memory() else { return None };
            if !is_up {
                holding.clear(&link.rules.discipline, dropped);
                return None;
            }
            if holding.ready_at(&link.rules.discipline) > now {
                return None;
            }
            let (mut packet, is_marked) = holding.dequeue(&link.rules.discipline, &port, dropped)?;
            let start = self.sent.busy_until.max(now);
            self.leave(now, start, packet);
            match self.pass(now, packet.since, start, packet.bytes, link, rng) {
                Ok(passage) => return Some((packet.slot(), Passage { is_marked, ..passage })),
                // The packet has been counted as one that leaves, so it has not waited here any more.
                Err(loss) => {
                    packet.since = now;
                    dropped.push((packet, loss));
                }
            }
        }
    }

    /// Moves a packet from the discipline to the device.
    fn leave(&mut self, now: Time, start: Time, packet: Held) {
        let mut queue = self.queue();
        let Some(mut queue) = queue.as_mut() else { return };
        if packet.since < now {
            queue.backlog().add_waited(now.since(packet.since));
        }
        if start > now {
            queue.backlog().add(Waiting { start, bytes: packet.bytes }, now);
        }
    }

    /// Notes the length of the queue. If packets are held, returns the delay until the device has room for
    /// the next one, and expects an event of the port then.
    pub(crate) fn wake_after(&mut self, now: Time, rules: &PortRules) -> Option<Delay> {
        let from = self.takes_from(now, rules);
        let mut queue = self.queue();
        let mut queue = queue.as_mut()?;
        let held = queue.managed.as_ref().map_or(0, |managed| managed.held());
        let planned = u32::try_from(queue.backlog.packets().len()).unwrap_or(u32::MAX);
        queue.backlog().note_length(held.saturating_add(planned));
        let ready_at = |managed: &Managed| managed.ready_at(&rules.discipline);
        let from = from.max(queue.managed.as_deref().map_or(Time::ZERO, ready_at));
        let mut managed = queue.managed();
        let mut managed = managed.as_mut()?;
        if held == 0 || managed.is_waking {
            return None;
        }
        *managed.is_waking() = true;
        Some(from.since(now))
    }

    /// Notes that the event of the port has come.
    pub(crate) fn wake(&mut self) {
        if let Some(mut queue) = self.queue().as_mut()
            && let Some(mut managed) = queue.managed().as_mut()
        {
            *managed.is_waking() = false;
        }
    }

    /// Counts packets that the discipline has dropped.
    fn count_dropped(&mut self, now: Time, dropped: &[(Held, Loss)]) {
        let mut queue = self.queue();
        let Some(mut queue) = queue.as_mut() else { return };
        for (packet, loss) in dropped {
            *queue.lost().at(*loss as usize) += 1;
            if packet.since < now {
                queue.backlog().add_waited(now.since(packet.since));
            }
        }
    }
}

//! The steps of a port whose discipline decides when a packet arrives.

use super::{MemoryMut, MemoryUndo, Passage};
use crate::line::{ManagedLink, PortRules};
use crate::port::{Arrival, Loss, PortMut, PortUndo, Queue};
use crate::queue::{Admission, Discipline, Offered, PortView, QueueLimit, Threshold, Waiting};
use parades_core::random::Rng;
use parades_core::restore::Recorder;
use parades_core::time::Time;

impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Accepts a packet. Returns its way, or the reason why it is lost.
    pub(crate) fn admit(
        &mut self,
        arrival: Arrival,
        offered: &Offered,
        link: ManagedLink<'_>,
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        // Without a tie seed, a packet that arrives at the moment at which a device takes the next one finds
        // the queue as it was before, as in ns-3.
        self.drain(arrival.after(link.rules.device > 0), link.rules);
        let verdict = self.try_admit(arrival, offered, link, rng);
        match &verdict {
            Ok(passage) => self.count_passage(passage),
            Err(loss) => self.count_lost(*loss, link.rules),
        }
        verdict
    }

    fn try_admit(
        &mut self,
        arrival: Arrival,
        offered: &Offered,
        link: ManagedLink<'_>,
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        let now = arrival.now;
        let quality = link.line.at(now);
        if !quality.is_up {
            return Err(Loss::Down);
        }
        let port = self.seen(now, link.line, rng);
        let (start, is_marked) = self.decide(arrival, port, offered, link.rules)?;
        self.drain(now, link.rules);
        let passage = self.pass(now, now, start, offered.bytes, link, rng);
        self.settle(now, start, link.line.next_down(now), offered, link.rules);
        passage.map(|passage| Passage { is_marked, ..passage })
    }

    /// Asks the discipline. Returns the start of the packet's transmission, and true if the packet is marked.
    fn decide(
        &mut self,
        arrival: Arrival,
        mut port: PortView<'_>,
        offered: &Offered,
        rules: &PortRules,
    ) -> Result<(Time, bool), Loss> {
        let free = port.busy_until.max(port.now);
        let meets_an_end = self.meets_an_end(arrival);
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&rules.discipline));
        let is_in_device = queue.backlog.packets().len() < rules.device as usize;
        (port.waiting, port.waiting_bytes) = queue.backlog.beyond(rules.device as usize);
        port.must_wait = (free > port.now || meets_an_end) && !is_in_device;
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        let (admission, limit, start) = ask(managed.memory(), &rules.discipline, &port, free, offered);
        let waits = (start > port.now || meets_an_end) && !is_in_device;
        let has_room =
            |limit: QueueLimit| limit.allows(port.waiting + 1, port.waiting_bytes + u64::from(offered.bytes));
        match admission {
            Admission::Early => Err(Loss::Early),
            Admission::Full => Err(Loss::Queue),
            Admission::Pass | Admission::Mark if waits && limit.is_some_and(|limit| !has_room(limit)) => {
                Err(Loss::Queue)
            }
            Admission::Pass => Ok((start, false)),
            Admission::Mark => Ok((start, true)),
        }
    }

    /// Notes a packet whose transmission starts at `start`, after it has been given to the transmitter. At
    /// `down` the link goes down, and loses the packets that wait.
    fn settle(&mut self, now: Time, start: Time, down: Time, offered: &Offered, rules: &PortRules) {
        let bytes = offered.bytes;
        let waiting = Waiting { start: start.min(down), bytes };
        if start > now
            && let Some(mut queue) = self.queue().as_mut()
        {
            queue.backlog().add(waiting, now);
        }
        let idle_from = self.takes_from(now, rules);
        let mut queue = self.queue();
        let Some(mut queue) = queue.as_mut() else { return };
        let mut managed = queue.managed();
        let Some(mut managed) = managed.as_mut() else { return };
        match (managed.memory(), &rules.discipline) {
            (MemoryMut::Red(state), _) => state.into_mut().idle_from = idle_from,
            (MemoryMut::Bucket(state), Discipline::TokenBucket(bucket)) if start < down => {
                state.into_mut().take(bucket, bytes, start);
            }
            _ => {}
        }
        if rules.discipline.shapes() && start <= now && start < down {
            *managed.last_started() = waiting;
        }
    }
}

/// Asks a discipline about a packet. `free` is the time from which on the transmitter can send it. Returns
/// the answer, the limit that the packet must keep if it waits, and the start of its transmission.
fn ask<R: Recorder<MemoryUndo>>(
    memory: MemoryMut<'_, R>,
    discipline: &Discipline,
    port: &PortView<'_>,
    free: Time,
    offered: &Offered,
) -> (Admission, Option<QueueLimit>, Time) {
    match (memory, discipline) {
        (_, Discipline::DropTail(limit)) => (Admission::Pass, Some(*limit), free),
        (_, Discipline::Threshold(Threshold { mark_at, limit })) => {
            let is_marked = offered.is_capable && port.waiting >= *mark_at as usize;
            (if is_marked { Admission::Mark } else { Admission::Pass }, Some(*limit), free)
        }
        (MemoryMut::Red(state), Discipline::Red(red)) => {
            let PortView { now, rate_bps, waiting, rng, .. } = *port;
            let admission = state.into_mut().admit(red, now, rate_bps, waiting, offered.is_capable, rng);
            (admission, Some(red.limit), free)
        }
        (MemoryMut::Pie(state), Discipline::Pie(pie)) => {
            (state.into_mut().admit(pie, port, offered.is_capable), Some(pie.limit), free)
        }
        (MemoryMut::Bucket(state), Discipline::TokenBucket(bucket)) => match state.start(bucket, offered.bytes, free) {
            Some(start) => (Admission::Pass, Some(bucket.limit), start),
            None => (Admission::Full, None, free),
        },
        (MemoryMut::Other(state), Discipline::Other(_)) => {
            let queue = &mut state.into_mut().0;
            match queue.on_arrival(offered, port) {
                admission @ (Admission::Pass | Admission::Mark) => {
                    (admission, None, queue.start(offered, port).max(free))
                }
                refusal => (refusal, None, free),
            }
        }
        _ => unreachable!("a port keeps its discipline"),
    }
}

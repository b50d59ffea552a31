//! Ports that are more than a drop-tail queue: other disciplines, devices with queues, impaired links.

use super::{Loss, Port, PortMut, PortUndo, Queue};
use crate::impairment::{self, Impairments};
use crate::line::{Line, PortRules};
use crate::queue::bucket;
use crate::queue::holding::{Dropped, Held, Holding};
use crate::queue::{Admission, Discipline, Offered, Threshold, Waiting, red};
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};

/// The state of a managed port, beside its backlog. If the discipline decides on arrival, the backlog lists
/// all packets that wait. Otherwise it lists those in the device.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Managed {
    /// Packets that were marked.
    pub(super) marked: u64,
    /// Copies that the link made.
    pub(super) duplicated: u64,
    impaired: impairment::State,
    /// True if an event of the port is pending, at which the device has room again.
    is_waking: bool,
    memory: Memory,
}

/// The state of a discipline.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
enum Memory {
    /// The discipline needs none.
    None,
    Red(red::State),
    Bucket(bucket::State),
    Held(Box<Holding>),
}

/// The way of a packet behind the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    /// The delay until it is at the far end.
    pub(crate) delay: Delay,
    /// The delay until its copy is there, if the link makes one.
    pub(crate) copy: Option<Delay>,
    /// True if it is marked.
    pub(crate) is_marked: bool,
}

impl Managed {
    fn new(discipline: &Discipline) -> Managed {
        let memory = match discipline {
            Discipline::Red(_) => Memory::Red(red::State::default()),
            Discipline::TokenBucket(_) => Memory::Bucket(bucket::State::default()),
            other => Holding::new(other).map_or(Memory::None, |holding| Memory::Held(Box::new(holding))),
        };
        Managed { marked: 0, duplicated: 0, impaired: impairment::State::default(), is_waking: false, memory }
    }

    fn holding(&self) -> Option<&Holding> {
        match &self.memory {
            Memory::Held(holding) => Some(holding),
            _ => None,
        }
    }

    /// Returns the number of packets that are held.
    pub(super) fn held(&self) -> u32 {
        self.holding().map_or(0, Holding::len)
    }

    /// Returns the bytes of the packets that are held.
    pub(super) fn held_bytes(&self) -> u64 {
        let packets = self.holding().into_iter().flat_map(Holding::packets);
        packets.map(|packet| u64::from(packet.bytes)).sum()
    }

    /// Returns the sum of the times that the held packets have waited.
    pub(super) fn waited_at(&self, now: Time) -> Delay {
        self.holding().map_or(Delay::ZERO, |holding| holding.waited_at(now))
    }

    /// Returns the last packet that a token bucket has started. `None` for other disciplines.
    pub(super) fn last_started(&self) -> Option<Waiting> {
        match &self.memory {
            Memory::Bucket(state) => Some(state.last_started),
            _ => None,
        }
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        [self.marked, self.duplicated].into_iter().for_each(|word| digest.word(word));
        for packet in self.holding().into_iter().flat_map(Holding::packets) {
            digest.word(packet.since.as_ps());
            digest.word(u64::from(packet.bytes));
        }
    }
}

impl Queue {
    fn managed(discipline: &Discipline) -> Box<Queue> {
        Box::new(Queue { managed: Some(Box::new(Managed::new(discipline))), ..Queue::default() })
    }
}

impl Port {
    /// Returns the time after `now` that the transmitter is busy with accepted packets, at a port whose
    /// transmitter may pause between two packets. `started` is the last packet that is known to have started.
    pub(super) fn planned(&self, now: Time, started: Waiting, line: &Line) -> Delay {
        let backlog = self.queue.iter().flat_map(|queue| queue.backlog.packets());
        let busy = |Waiting { start, bytes }: Waiting| {
            let serialisation = Delay::serialisation(u64::from(bytes), line.at(start).rate_bps);
            start.saturating_add(serialisation).min(line.next_down(start)).since(start.max(now))
        };
        std::iter::once(started).chain(backlog.copied()).map(busy).fold(Delay::ZERO, Delay::saturating_add)
    }

    /// Returns the time from which on the device takes a packet from the discipline.
    fn takes_from(&self, now: Time, rules: &PortRules) -> Time {
        match (rules.device, &self.queue) {
            (0, _) => self.sent.busy_until.max(now),
            (device, Some(queue)) => queue.backlog.has_room_from(device as usize, now),
            (_, None) => now,
        }
    }

    /// Returns true if an event of the port is pending, at which it releases packets.
    pub(crate) fn is_waking(&self) -> bool {
        self.managed().is_some_and(|managed| managed.is_waking)
    }
}

/// The steps of a port whose discipline decides on arrival.
impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Accepts a packet. Returns its way, or the reason why it is lost.
    pub(crate) fn admit(
        &mut self,
        now: Time,
        offered: &Offered,
        (line, rules): (&Line, &PortRules),
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        self.drain(now, rules);
        let verdict = self.try_admit(now, offered, (line, rules), rng);
        match &verdict {
            Ok(passage) => self.count_passage(passage),
            Err(loss) => self.count_lost(*loss, rules),
        }
        verdict
    }

    fn try_admit(
        &mut self,
        now: Time,
        offered: &Offered,
        (line, rules): (&Line, &PortRules),
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        let quality = line.at(now);
        if !quality.is_up {
            return Err(Loss::Down);
        }
        let free = self.sent.busy_until.max(now);
        let (start, is_marked) = self.decide((now, free), offered, (rules, quality.rate_bps), rng)?;
        let passage = self.pass(now, (start, offered.bytes), (line, rules), rng);
        self.settle((now, start, line.next_down(now)), offered, rules);
        passage.map(|passage| Passage { is_marked, ..passage })
    }

    /// Asks the discipline. Returns the start of the packet's transmission, and true if the packet is marked.
    fn decide(
        &mut self,
        (now, free): (Time, Time),
        offered: &Offered,
        (rules, rate_bps): (&PortRules, u64),
        rng: &Rng,
    ) -> Result<(Time, bool), Loss> {
        let bytes = offered.bytes;
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&rules.discipline));
        let (waiting, waiting_bytes) = queue.backlog.beyond(rules.device as usize);
        let is_in_device = queue.backlog.packets().len() < rules.device as usize;
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        let mut start = free;
        let (admission, limit) = match (managed.memory(), &rules.discipline) {
            (_, Discipline::DropTail(limit)) => (Admission::Pass, *limit),
            (_, Discipline::Threshold(Threshold { mark_at, limit })) => {
                let is_marked = offered.is_capable && waiting >= *mark_at as usize;
                (if is_marked { Admission::Mark } else { Admission::Pass }, *limit)
            }
            (MemoryMut::Red(state), Discipline::Red(red)) => {
                let queued = (waiting, offered.is_capable);
                (state.into_mut().admit(red, (now, rate_bps), queued, rng), red.limit)
            }
            (MemoryMut::Bucket(state), Discipline::TokenBucket(bucket)) => {
                let (admission, time) = match state.start(bucket, bytes, free) {
                    Some(time) => (Admission::Pass, time),
                    None => (Admission::Full, free),
                };
                start = time;
                (admission, bucket.limit)
            }
            _ => unreachable!("a port keeps its discipline"),
        };
        let has_room = || limit.allows(waiting + 1, waiting_bytes + u64::from(bytes));
        match admission {
            Admission::Early => Err(Loss::Early),
            Admission::Full => Err(Loss::Queue),
            Admission::Pass | Admission::Mark if start > now && !is_in_device && !has_room() => Err(Loss::Queue),
            Admission::Pass => Ok((start, false)),
            Admission::Mark => Ok((start, true)),
        }
    }

    /// Notes a packet whose transmission starts at `start`, after it has been given to the transmitter. At
    /// `down` the link goes down, and loses the packets that wait.
    fn settle(&mut self, (now, start, down): (Time, Time, Time), offered: &Offered, rules: &PortRules) {
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
                let state = state.into_mut();
                state.take(bucket, bytes, start);
                if start <= now {
                    state.last_started = waiting;
                }
            }
            _ => {}
        }
    }
}

/// The steps of a port whose discipline decides on departure.
impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Returns the reason why a packet cannot enter the queue, and counts it.
    pub(crate) fn refuse_if_down(&mut self, now: Time, (line, rules): (&Line, &PortRules)) -> Result<(), Loss> {
        if line.at(now).is_up {
            return Ok(());
        }
        self.count_lost(Loss::Down, rules);
        Err(Loss::Down)
    }

    /// Adds a packet, whose place in the node's store is `slot`. Packets that find no room are added to
    /// `dropped`; that may be the packet itself.
    pub(crate) fn hold(
        &mut self,
        now: Time,
        (slot, offered): (u32, &Offered),
        rules: &PortRules,
        dropped: &mut Dropped,
    ) {
        let before = dropped.len();
        let held = Held::new((slot, offered.bytes), now, offered.is_capable);
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&rules.discipline));
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        if let MemoryMut::Held(mut holding) = managed.memory() {
            holding.enqueue(held, (offered, &rules.discipline), dropped);
        }
        self.count_dropped(now, &dropped[before..]);
    }

    /// Lets the discipline select a packet, if the device takes one. Returns its place in the node's store and
    /// its way. Packets that are lost are added to `dropped`.
    pub(crate) fn release(
        &mut self,
        now: Time,
        (line, rules): (&Line, &PortRules),
        rng: &Rng,
        dropped: &mut Dropped,
    ) -> Option<(u32, Passage)> {
        let before = dropped.len();
        let released = self.try_release(now, (line, rules), rng, dropped);
        self.count_dropped(now, &dropped[before..]);
        if let Some((_, passage)) = &released {
            self.count_passage(passage);
        }
        released
    }

    fn try_release(
        &mut self,
        now: Time,
        (line, rules): (&Line, &PortRules),
        rng: &Rng,
        dropped: &mut Dropped,
    ) -> Option<(u32, Passage)> {
        self.drain(now, rules);
        loop {
            let is_up = line.at(now).is_up;
            if is_up && self.takes_from(now, rules) > now {
                return None;
            }
            let mut queue = self.queue().into_option()?;
            let mut managed = queue.managed();
            let mut managed = managed.as_mut()?;
            let MemoryMut::Held(mut holding) = managed.memory() else { return None };
            if !is_up {
                holding.clear(dropped);
                return None;
            }
            let (mut packet, is_marked) = holding.dequeue(&rules.discipline, now, dropped)?;
            let start = self.sent.busy_until.max(now);
            self.leave(now, start, packet);
            match self.pass(now, (start, packet.bytes), (line, rules), rng) {
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

    /// Notes the length of the queue. If packets are held, returns the delay until the device has room for the
    /// next one, and expects an event of the port then.
    pub(crate) fn wake_after(&mut self, now: Time, rules: &PortRules) -> Option<Delay> {
        let from = self.takes_from(now, rules);
        let mut queue = self.queue();
        let mut queue = queue.as_mut()?;
        let held = queue.managed.as_ref().map_or(0, |managed| managed.held());
        let planned = u32::try_from(queue.backlog.packets().len()).unwrap_or(u32::MAX);
        queue.backlog().note_length(held.saturating_add(planned));
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

/// The steps of all managed ports.
impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Removes the packets whose transmissions have started from the backlog.
    fn drain(&mut self, now: Time, rules: &PortRules) {
        let mut queue = self.queue();
        let Some(mut queue) = queue.as_mut() else { return };
        if matches!(rules.discipline, Discipline::TokenBucket(_)) {
            let packets = queue.backlog.packets();
            let started = packets.partition_point(|packet| packet.start <= now);
            if let Some(&last) = started.checked_sub(1).and_then(|last| packets.get(last))
                && let Some(mut managed) = queue.managed().as_mut()
                && let MemoryMut::Bucket(state) = managed.memory()
            {
                state.into_mut().last_started = last;
            }
        }
        queue.backlog().drain(now);
    }

    /// Gives a packet to the transmitter, and finds its way behind it.
    fn pass(
        &mut self,
        now: Time,
        (start, bytes): (Time, u32),
        (line, rules): (&Line, &PortRules),
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        let down = line.next_down(now);
        let (delay, quality) = self.depart(now, (start, bytes), (down, |time| line.at(time)))?;
        let loss = quality.loss;
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&rules.discipline));
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        let mut state = managed.impaired;
        let passage = travel((&rules.impairments, &mut state), (now, delay), (loss, down), rng);
        if state != managed.impaired {
            *managed.impaired() = state;
        }
        passage
    }

    fn count_passage(&mut self, passage: &Passage) {
        if let Some(mut queue) = self.queue().as_mut()
            && let Some(mut managed) = queue.managed().as_mut()
        {
            if passage.is_marked {
                *managed.marked() += 1;
            }
            if passage.copy.is_some() {
                *managed.duplicated() += 1;
            }
        }
    }

    fn count_lost(&mut self, loss: Loss, rules: &PortRules) {
        let mut queue = self.queue();
        *queue.get_or_insert_with(|| Queue::managed(&rules.discipline)).lost().at(loss as usize) += 1;
    }
}

/// Finds the way of a packet behind the transmitter. Without impairments it would arrive after `delay`. `loss`
/// is the chance of a loss, and `down` the time at which the link next goes down.
fn travel(
    (impairments, state): (&Impairments, &mut impairment::State),
    (now, delay): (Time, Delay),
    (loss, down): (f64, Time),
    rng: &Rng,
) -> Result<Passage, Loss> {
    if loss > 0.0 && rng.chance(loss) || impairments.loses(state, rng) {
        return Err(Loss::Chance);
    }
    let has_copy = impairments.duplicates(rng);
    let before = *state;
    let arrives = |delay: &Delay| down == Time::MAX || *delay <= down.since(now);
    let first = impairments.delay(state, (now, delay), rng);
    if !arrives(&first) {
        // A packet that is lost holds up no other one.
        *state = before;
        return Err(Loss::Down);
    }
    let copy = has_copy.then(|| impairments.delay(state, (now, delay), rng)).filter(arrives);
    Ok(Passage { delay: first, copy, is_marked: false })
}

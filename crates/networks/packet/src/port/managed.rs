//! Ports that are more than a drop-tail queue: other disciplines, devices with queues, impaired links.
//!
//! The steps of a packet depend on the discipline: [`arrival`] or [`departure`]. This file has the state, and
//! the steps that both share.

mod arrival;
mod departure;
mod save;

use super::{Loss, Port, PortMut, PortUndo, Queue};
use crate::impairment::{self, Impairments};
use crate::line::{Line, ManagedLink, PortRules};
use crate::queue::bucket;
use crate::queue::holding::Holding;
use crate::queue::own::{Arriving, PortView};
use crate::queue::{Discipline, Waiting, pie, red};
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
    /// The last packet that has started, at the last look at the backlog, if the discipline shapes the
    /// traffic. It has no bytes before the first one.
    last_started: Waiting,
    memory: Memory,
}

/// The state of a discipline.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
enum Memory {
    /// The discipline needs none.
    None,
    Red(red::State),
    Pie(pie::State),
    Bucket(bucket::State),
    Held(Box<Holding>),
    Other(Arriving),
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
            Discipline::Pie(_) => Memory::Pie(pie::State::default()),
            Discipline::TokenBucket(_) => Memory::Bucket(bucket::State::default()),
            other => match (Holding::new(other), other) {
                (Some(holding), _) => Memory::Held(Box::new(holding)),
                (None, Discipline::Other(other)) => Memory::Other(other.arriving().expect("it holds no packets")),
                (None, _) => Memory::None,
            },
        };
        let (impaired, last_started) = (impairment::State::default(), Waiting::default());
        Managed { marked: 0, duplicated: 0, impaired, is_waking: false, last_started, memory }
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

    /// Returns the time from which on the discipline lets a held packet go.
    pub(super) fn ready_at(&self, discipline: &Discipline) -> Time {
        self.holding().map_or(Time::ZERO, |holding| holding.ready_at(discipline))
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

    /// Returns the last packet that has started, if the discipline shapes the traffic.
    pub(super) fn last_started(&self) -> Option<Waiting> {
        matches!(self.memory, Memory::Bucket(_) | Memory::Other(_)).then_some(self.last_started)
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        [self.marked, self.duplicated].into_iter().for_each(|word| digest.word(word));
        for packet in self.holding().into_iter().flat_map(Holding::packets) {
            digest.word(packet.since.as_ps());
            digest.word(u64::from(packet.bytes));
        }
        match &self.memory {
            Memory::Held(holding) => holding.fold(digest),
            Memory::Other(queue) => queue.0.fold(digest),
            Memory::None | Memory::Red(_) | Memory::Pie(_) | Memory::Bucket(_) => {}
        }
    }
}

impl Queue {
    pub(super) fn managed(discipline: &Discipline) -> Box<Queue> {
        Box::new(Queue { managed: Some(Box::new(Managed::new(discipline))), ..Queue::default() })
    }
}

impl Port {
    /// Returns the time after `now` that the transmitter is busy with accepted packets, at a port whose
    /// transmitter may pause between two packets. `started` is the last packet that is known to have started.
    pub(super) fn planned(&self, now: Time, started: Waiting, line: &Line) -> Delay {
        let backlog = self.queue.iter().flat_map(|queue| queue.backlog.packets());
        let busy = |Waiting { start, bytes }: Waiting| {
            let quality = line.at(start);
            // A packet that the link loses before its turn has the time of the failure as its start
            // (`settle`).
            if !quality.is_up {
                return Delay::ZERO;
            }
            start.saturating_add(quality.serialisation(bytes)).min(line.next_down(start)).since(start.max(now))
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

    /// Returns the port as a discipline sees it, before the number of packets that wait is known.
    fn seen<'a>(&self, now: Time, line: &Line, rng: &'a Rng) -> PortView<'a> {
        let (rate_bps, busy_until) = (line.at(now).rate_bps, self.sent.busy_until);
        PortView { now, rate_bps, waiting: 0, waiting_bytes: 0, busy_until, must_wait: true, rng }
    }

    /// Returns true if an event of the port is pending, at which it releases packets.
    pub(crate) fn is_waking(&self) -> bool {
        self.managed().is_some_and(|managed| managed.is_waking)
    }
}

/// The steps of all managed ports.
impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Removes the packets whose transmissions have started from the backlog.
    fn drain(&mut self, now: Time, rules: &PortRules) {
        let mut queue = self.queue();
        let Some(mut queue) = queue.as_mut() else { return };
        if rules.discipline.shapes() {
            let packets = queue.backlog.packets();
            let started = packets.partition_point(|packet| packet.start <= now);
            if let Some(&last) = started.checked_sub(1).and_then(|last| packets.get(last))
                && let Some(mut managed) = queue.managed().as_mut()
            {
                *managed.last_started() = last;
            }
        }
        queue.backlog().drain(now);
    }

    /// Gives a packet that arrived at `since` to the transmitter, and finds its way behind it.
    fn pass(
        &mut self,
        now: Time,
        since: Time,
        start: Time,
        bytes: u32,
        link: ManagedLink<'_>,
        rng: &Rng,
    ) -> Result<Passage, Loss> {
        let down = link.line.next_down(now);
        let (delay, quality) = self.depart(now, start, bytes, down, |time| link.line.at(time))?;
        if start > since {
            self.note_sojourn(start, start.since(since));
        }
        let loss = quality.loss;
        let mut queue = self.queue();
        let mut queue = queue.get_or_insert_with(|| Queue::managed(&link.rules.discipline));
        let mut managed = queue.managed();
        let mut managed = managed.as_mut().expect("a managed port has the state for it");
        let mut state = managed.impaired;
        let passage = travel(&link.rules.impairments, &mut state, now, delay, loss, down, rng);
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

/// Finds the way of a packet behind the transmitter. Without impairments it would arrive after `delay`.
/// `loss` is the chance of a loss, and `down` the time at which the link next goes down.
fn travel(
    impairments: &Impairments,
    state: &mut impairment::State,
    now: Time,
    delay: Delay,
    loss: f64,
    down: Time,
    rng: &Rng,
) -> Result<Passage, Loss> {
    if loss > 0.0 && rng.chance(loss) || impairments.loses(state, rng) {
        return Err(Loss::Chance);
    }
    let has_copy = impairments.duplicates(rng);
    let before = *state;
    let arrives = |delay: &Delay| down == Time::MAX || *delay <= down.since(now);
    let first = impairments.delay(state, now, delay, rng);
    if !arrives(&first) {
        // A packet that is lost holds up no other one.
        *state = before;
        return Err(Loss::Down);
    }
    let copy = has_copy.then(|| impairments.delay(state, now, delay, rng)).filter(arrives);
    Ok(Passage { delay: first, copy, is_marked: false })
}

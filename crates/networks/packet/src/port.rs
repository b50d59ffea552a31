//! A port: the sending half of an interface. It has a transmitter, and a queue before it.
//!
//! Nothing happens at most ports but arrivals of packets. When a packet arrives, its future at the port is
//! known. Packets leave in order, so the start of its transmission is known, with the link's rate then and
//! the departure of its last bit. The times of failures are constants, so it is known whether the link goes
//! down before the packet is at the far end. So there is one event a hop, the arrival at the neighbour. A
//! packet that a later failure destroys is lost at once.
//!
//! Ports with other disciplines than drop-tail, and ports of impaired links, are in [`managed`].

mod managed;
mod replan;
mod save;
mod sojourns;

pub(crate) use managed::Passage;
pub(crate) use replan::replan_ports;

use crate::line::{Line, Policy, Quality};
use crate::queue::{Backlog, QueueLimit, Waiting};
use managed::Managed;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};
pub(crate) use sojourns::SojournTotals;
use sojourns::{Sojourn, Sojourns};

/// The reason why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The queue is full.
    Queue,
    /// By chance, at the link's rate of loss.
    Chance,
    /// The link is down or goes down, or no path leads to the destination.
    Down,
    /// The discipline drops it early, before the queue is full.
    Early,
}

/// The number of reasons.
pub(crate) const LOSSES: usize = 4;

/// Folds the packets lost for each reason. Early drops are folded only if there are any.
pub(crate) fn fold_lost(lost: &[u64; LOSSES], digest: &mut Digest) {
    let [others @ .., early] = lost;
    others.iter().chain(Some(early).filter(|early| **early > 0)).for_each(|&packets| digest.word(packets));
}

/// The arrival of a packet at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Time,
    /// True if the packet comes before the packets that leave the queue at the same time, false if it comes
    /// after them. `None` without a tie seed: it comes after them, unless the port has a device.
    pub(crate) precedes: Option<bool>,
}

impl Arrival {
    /// Returns the latest time at which a transmission may have started that the packet comes after.
    #[inline]
    fn after(self, precedes_by_default: bool) -> Time {
        let precedes = self.precedes.unwrap_or(precedes_by_default);
        Time::from_ps(self.now.as_ps().saturating_sub(u64::from(precedes)))
    }
}

/// The part of a port's state that changes with every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct Sent {
    /// The departure of the last bit of all accepted packets.
    pub(crate) busy_until: Time,
    /// The sum of their transmission times, past and future.
    pub(crate) busy: Delay,
    /// Transmitted packets.
    pub(crate) packets: u64,
    /// The bytes of transmitted packets, headers included.
    pub(crate) bytes: u64,
}

/// The part of a port's state that changes when a packet waits or is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub(crate) struct Queue {
    /// Lost packets, by reason.
    lost: [u64; LOSSES],
    backlog: Backlog,
    /// The state of a port that is more than a drop-tail queue.
    managed: Option<Box<Managed>>,
    /// The times for which packets have waited, if a series of them is asked for.
    sojourns: Option<Box<Sojourns>>,
}

/// The state of a port. The queue is boxed, since most ports never have one. So a port takes 40 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub(crate) struct Port {
    pub(crate) sent: Sent,
    queue: Option<Box<Queue>>,
}

const _: () = assert!(size_of::<Port>() == 40);

/// The totals of a port's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Lost packets, by reason.
    pub(crate) lost: [u64; LOSSES],
    /// Packets that were marked.
    pub(crate) marked: u64,
    /// Copies that the link made.
    pub(crate) duplicated: u64,
    /// The largest number of packets that ever waited.
    pub(crate) waiting_max: u32,
    /// The sum of the times that packets have waited.
    pub(crate) waited: Delay,
}

impl Port {
    fn managed(&self) -> Option<&Managed> {
        self.queue.as_ref()?.managed.as_deref()
    }

    /// Begins to measure the times for which packets wait, at a port that has done nothing yet. The last
    /// sample of them is at `last`.
    pub(crate) fn measure_sojourns(&mut self, line: &Line, last: Time) {
        let queue = match &line.policy {
            Policy::Plain(_) => Box::default(),
            Policy::Managed(rules) => Queue::managed(&rules.discipline),
        };
        self.queue.insert(queue).sojourns = Some(Sojourns::until(last));
    }

    /// Takes the times for which packets have waited that have left the queue since the last call.
    pub(crate) fn take_sojourns(&mut self, now: Time) -> SojournTotals {
        let sojourns = self.queue.as_mut().and_then(|queue| queue.sojourns.as_mut());
        sojourns.map_or_else(SojournTotals::default, |sojourns| sojourns.take(now))
    }

    /// Returns the totals of the queue until `now`.
    pub(crate) fn totals(&self, now: Time) -> Totals {
        let Some(queue) = &self.queue else { return Totals::default() };
        let (lost, waiting_max) = (queue.lost, queue.backlog.most());
        let waited = queue.backlog.waited_at(now);
        match self.managed() {
            None => Totals { lost, waiting_max, waited, ..Totals::default() },
            Some(managed) => {
                let waited = waited.saturating_add(managed.waited_at(now));
                let Managed { marked, duplicated, .. } = *managed;
                Totals { lost, marked, duplicated, waiting_max, waited }
            }
        }
    }

    /// Returns the number of packets that wait at `now`.
    pub(crate) fn waiting_at(&self, now: Time) -> u64 {
        let planned = self.queue.as_ref().map_or(0, |queue| queue.backlog.waiting_at(now)) as u64;
        planned + u64::from(self.managed().map_or(0, Managed::held))
    }

    /// Returns the number of packets whose transmission has started until `now`.
    pub(crate) fn started_at(&self, now: Time) -> u64 {
        let planned = self.queue.as_ref().map_or(0, |queue| queue.backlog.waiting_at(now)) as u64;
        self.sent.packets.saturating_sub(planned)
    }

    /// Returns the bytes of the packets that wait at `now`, headers included.
    pub(crate) fn waiting_bytes_at(&self, now: Time) -> u64 {
        let planned = self.queue.iter().flat_map(|queue| queue.backlog.packets());
        let planned: u64 = planned.filter(|packet| packet.start > now).map(|packet| u64::from(packet.bytes)).sum();
        planned + self.managed().map_or(0, Managed::held_bytes)
    }

    /// Returns the time that the transmitter was busy until `now`.
    pub(crate) fn busy_at(&self, now: Time, line: &Line) -> Delay {
        self.busy_before(now, self.sent.busy, line)
    }

    /// Returns the part before `now` of `busy`, the transmission time of all accepted packets.
    pub(crate) fn busy_before(&self, now: Time, busy: Delay, line: &Line) -> Delay {
        let future = match self.managed().and_then(Managed::last_started) {
            Some(started) => self.planned(now, started, line),
            // From `now` on, the transmitter is busy without a pause until it has transmitted all accepted
            // packets.
            None => self.sent.busy_until.since(now),
        };
        Delay::from_ps(busy.as_ps().saturating_sub(future.as_ps()))
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let Sent { busy_until, busy, packets, bytes } = self.sent;
        let (lost, most) = self.queue.as_ref().map_or(([0; LOSSES], 0), |queue| (queue.lost, queue.backlog.most()));
        let words = [busy_until.as_ps(), busy.as_ps(), packets, bytes, u64::from(most)];
        words.into_iter().for_each(|word| digest.word(word));
        fold_lost(&lost, digest);
        // A port that no packet has passed has this state only if its sojourns are measured.
        let is_used = packets > 0 || lost.iter().any(|lost| *lost > 0);
        if let Some(managed) = self.managed().filter(|managed| is_used || managed.held() > 0) {
            managed.fold(digest);
        }
    }
}

impl<R: Recorder<PortUndo>> PortMut<'_, R> {
    /// Accepts a packet of `bytes` bytes at a port with a drop-tail queue and nothing else. Returns the delay
    /// until the packet is at the far end, or the reason why it is lost.
    #[inline(always)]
    pub(crate) fn accept(
        &mut self,
        arrival: Arrival,
        bytes: u32,
        line: &Line,
        limit: QueueLimit,
        rng: &Rng,
    ) -> Result<Delay, Loss> {
        if let Some(mut queue) = self.queue().as_mut() {
            queue.backlog().drain(arrival.after(false));
        }
        let verdict = self.transmit(arrival, bytes, line, limit, rng);
        if let Err(loss) = verdict {
            *self.queue().get_or_insert_with(Default::default).lost().at(loss as usize) += 1;
        }
        verdict
    }

    #[inline(always)]
    fn transmit(
        &mut self,
        arrival: Arrival,
        bytes: u32,
        line: &Line,
        limit: QueueLimit,
        rng: &Rng,
    ) -> Result<Delay, Loss> {
        if line.is_constant() {
            return self.transmit_over(arrival, bytes, limit, Time::MAX, |_| &line.first, rng);
        }
        self.transmit_over(arrival, bytes, limit, line.next_down(arrival.now), |time| line.at(time), rng)
    }

    /// Returns true if a packet meets a transmission that ends at this very time, and comes before that end.
    #[inline]
    fn meets_an_end(&self, arrival: Arrival) -> bool {
        arrival.precedes == Some(true) && self.sent.busy_until == arrival.now && self.sent.busy > Delay::ZERO
    }

    /// Transmits over a link that goes down next at `down`, and whose quality at a time is `at`.
    #[inline(always)]
    fn transmit_over<'l>(
        &mut self,
        arrival: Arrival,
        bytes: u32,
        limit: QueueLimit,
        down: Time,
        at: impl Fn(Time) -> &'l Quality,
        rng: &Rng,
    ) -> Result<Delay, Loss> {
        let now = arrival.now;
        if !at(now).is_up {
            return Err(Loss::Down);
        }
        let start = self.sent.busy_until.max(now);
        let waits = start > now || self.meets_an_end(arrival);
        if waits {
            let mut state = self.queue();
            let mut state = state.get_or_insert_with(Default::default);
            if !state.backlog().offer(Waiting { start, bytes }, now, limit) {
                return Err(Loss::Queue);
            }
        }
        let (delay, quality) = self.depart(now, start, bytes, down, at)?;
        if waits {
            self.note_sojourn(start, start.since(now));
        }
        if down < Time::MAX && delay > down.since(now) {
            return Err(Loss::Down);
        }
        if quality.loss > 0.0 && rng.chance(quality.loss) {
            return Err(Loss::Chance);
        }
        Ok(delay)
    }

    /// Notes the sojourn of a packet that leaves the queue at `start`, if sojourns are measured.
    #[inline]
    fn note_sojourn(&mut self, start: Time, waited: Delay) {
        if let Some(mut queue) = self.queue().as_mut()
            && let Some(mut sojourns) = queue.sojourns().as_mut()
            && start <= sojourns.last
        {
            sojourns.packets().push_back(Sojourn { start, waited });
        }
    }

    /// Occupies the transmitter with a packet from `start` on. Returns the delay from `now` to the arrival at
    /// the far end, and the quality of the link at the departure.
    #[inline(always)]
    fn depart<'l>(
        &mut self,
        now: Time,
        start: Time,
        bytes: u32,
        down: Time,
        at: impl Fn(Time) -> &'l Quality,
    ) -> Result<(Delay, &'l Quality), Loss> {
        let serialisation = at(start).serialisation(bytes);
        let departure = start.checked_add(serialisation).unwrap_or(Time::MAX);
        let sent = self.sent().into_mut();
        sent.busy_until = departure.min(down);
        sent.busy = sent.busy.saturating_add(sent.busy_until.since(start));
        if departure > down {
            return Err(Loss::Down);
        }
        sent.packets += 1;
        sent.bytes += u64::from(bytes);
        let quality = at(departure);
        // The delay is not computed from the departure, which never lies past the end of virtual time. So a
        // packet that departs after that end overflows where it is sent, with its true delay.
        Ok((start.since(now).saturating_add(serialisation).saturating_add(quality.delay), quality))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Framing;
    use crate::line::Policy;
    use parades_core::restore::UndoLog;

    /// A line on which 1000 bytes take 1 µs.
    fn line(queue: QueueLimit) -> Line {
        let (rate_bps, framing) = (8_000_000_000, Framing::None);
        let first = Quality { rate_bps, delay: Delay::ZERO, loss: 0.0, is_up: true, framing };
        Line { first, policy: Policy::Plain(queue), changes: Box::default() }
    }

    fn limit(line: &Line) -> QueueLimit {
        let Policy::Plain(limit) = line.policy else { panic!("the line has rules") };
        limit
    }

    fn at(us: u64) -> Time {
        Time::ZERO.checked_add(Delay::from_us(us)).expect("a short time")
    }

    fn arrival(us: u64) -> Arrival {
        Arrival { now: at(us), precedes: None }
    }

    /// Returns the time of departure in microseconds.
    fn arrive(port: &mut Port, us: u64, bytes: u32, line: &Line) -> Option<u64> {
        let delay = port.unrecorded().accept(arrival(us), bytes, line, limit(line), &Rng::stream(1, 1)).ok()?;
        Some(us + delay.as_ps() / 1_000_000)
    }

    #[test]
    fn packets_leave_in_order_and_a_full_queue_drops() {
        let (mut port, line) = (Port::default(), line(QueueLimit::Packets(2)));
        let departures: Vec<_> = [0, 0, 0, 0, 1].map(|us| arrive(&mut port, us, 1000, &line)).into();
        // At time 1 the second packet starts, which makes room in the queue.
        assert_eq!(departures, [Some(1), Some(2), Some(3), None, Some(4)]);
        assert_eq!(arrive(&mut port, 10, 1000, &line), Some(11));
        let Totals { lost, waiting_max, .. } = port.totals(at(10));
        assert_eq!((port.sent.packets, lost, waiting_max), (5, [1, 0, 0, 0], 2));
        assert_eq!(port.waiting_at(at(10)), 0);
    }

    #[test]
    fn a_packet_that_arrives_as_another_leaves_finds_the_queue_before_or_after_that() {
        let line = line(QueueLimit::Packets(1));
        for (precedes, is_accepted) in [(None, true), (Some(false), true), (Some(true), false)] {
            let mut port = Port::default();
            let mut accept = |us, precedes| {
                let arrival = Arrival { now: at(us), precedes };
                port.unrecorded().accept(arrival, 1000, &line, limit(&line), &Rng::stream(1, 1)).is_ok()
            };
            assert!(accept(0, precedes), "the idle transmitter takes the first packet");
            assert!(accept(0, precedes), "the second one waits, until 1 us");
            assert_eq!(accept(1, precedes), is_accepted, "{precedes:?}");
            assert!(accept(2, precedes), "the first packet or the one before it has left");
        }
        // Without a queue, a packet that comes before the end of a transmission is lost.
        let line = super::tests::line(QueueLimit::Packets(0));
        for (precedes, is_accepted) in [(None, true), (Some(false), true), (Some(true), false)] {
            let mut port = Port::default();
            let mut accept = |us| {
                let arrival = Arrival { now: at(us), precedes };
                port.unrecorded().accept(arrival, 1000, &line, limit(&line), &Rng::stream(1, 1)).is_ok()
            };
            assert_eq!([accept(0), accept(1)], [true, is_accepted], "{precedes:?}");
        }
    }

    #[test]
    fn a_departure_after_the_end_of_virtual_time_is_longer_than_any_delay() {
        let (delay, framing) = (Delay::from_secs(5), Framing::None);
        let first = Quality { rate_bps: 1, delay, loss: 0.0, is_up: true, framing };
        let line = Line { first, policy: Policy::Plain(QueueLimit::Packets(9)), changes: Box::default() };
        let mut port = Port::default();
        // Each packet takes ten million seconds, and virtual time ends after 18 million.
        let rng = Rng::stream(1, 1);
        let mut accept = || port.unrecorded().accept(arrival(0), 1_250_000, &line, limit(&line), &rng).ok();
        assert_eq!([accept(), accept()], [Some(Delay::from_secs(10_000_005)), Some(Delay::MAX)]);
    }

    #[test]
    fn a_limit_in_bytes_counts_the_packets_that_wait() {
        let (mut port, line) = (Port::default(), line(QueueLimit::Bytes(1500)));
        let sizes = [4000, 1000, 501, 500, 1];
        let departures = sizes.map(|bytes| arrive(&mut port, 0, bytes, &line).is_some());
        assert_eq!(departures, [true, true, false, true, false]);
    }

    #[test]
    fn a_link_that_goes_down_takes_the_packets_before_on_and_behind_it() {
        let up = line(QueueLimit::Packets(10));
        let down = Quality { is_up: false, ..up.first };
        let far = Quality { delay: Delay::from_us(4), ..up.first };
        let changes = [(at(5), down), (at(8), far)];
        let line = Line { changes: changes.into(), first: far, ..up };
        let mut port = Port::default();
        // Departures at 1, 2 (and arrival at 6), 6 and 7; then the link is down; then empty and up again.
        let arrivals: Vec<_> = [(0, 1000), (0, 1000), (0, 4000), (5, 1000), (8, 1000)]
            .map(|(us, bytes)| arrive(&mut port, us, bytes, &line))
            .into();
        assert_eq!(arrivals, [Some(5), None, None, None, Some(13)]);
        assert_eq!((port.sent.packets, port.totals(at(9)).lost), (3, [0, 0, 3, 0]));
    }

    #[test]
    fn undoing_restores_queue_and_totals() {
        let (mut port, line) = (Port::default(), line(QueueLimit::Packets(2)));
        for (us, bytes) in [(0, 1000), (0, 1000), (0, 1000), (0, 700), (1, 700), (5, 700), (5, 1)] {
            let (before, mut log) = (port.clone(), UndoLog::default());
            let rng = Rng::stream(1, 1);
            log.recording(|recorder| _ = port.view(recorder).accept(arrival(us), bytes, &line, limit(&line), &rng));
            assert_ne!(port, before);
            port.undo_all(&mut log);
            assert_eq!(port, before);
            _ = arrive(&mut port, us, bytes, &line);
        }
    }
}

//! The packets that wait in the order of arrival, whose transmissions are planned.

use super::QueueLimit;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Waiting {
    /// The start of its transmission.
    pub start: Time,
    /// Its size in bytes, headers included.
    pub bytes: u32,
}

/// The totals of a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable)]
#[undoable(whole)]
pub struct WaitingTotals {
    /// The bytes of the packets that wait.
    pub bytes: u64,
    /// The sum of the waiting times of all packets, past and future.
    pub waited: Delay,
}

/// The largest capacity that an empty backlog keeps, in packets.
const KEPT_CAPACITY: usize = 16;

/// The packets that wait, in the order in which they will be transmitted.
///
/// ```
/// use parades_core::restore::Undoable;
/// use parades_core::time::{Delay, Time};
/// use parades_packet::queue::{Backlog, QueueLimit, Waiting};
/// let at = |us| Time::ZERO.checked_add(Delay::from_us(us)).unwrap();
/// let packet = |us| Waiting { start: at(us), bytes: 1000 };
/// let mut backlog = Backlog::default();
/// let limit = QueueLimit::Packets(2);
/// assert_eq!([1, 2, 3].map(|us| backlog.unrecorded().offer(packet(us), at(0), limit)), [true, true, false]);
/// backlog.unrecorded().drain(at(1));
/// assert_eq!((backlog.waiting_at(at(1)), backlog.most()), (1, 2));
/// // The first packet has waited 1 us. The second one will have waited 2 us.
/// assert_eq!(backlog.waited_at(at(1)), Delay::from_us(1 + 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub struct Backlog {
    waiting: VecDeque<Waiting>,
    totals: WaitingTotals,
    most: u32,
}

impl<R: Recorder<BacklogUndo>> BacklogMut<'_, R> {
    /// Offers a packet, after [`BacklogMut::drain`]. Returns true if the packet may wait.
    #[inline]
    pub fn offer(&mut self, packet: Waiting, now: Time, limit: QueueLimit) -> bool {
        let bytes = self.totals.bytes.saturating_add(u64::from(packet.bytes));
        let is_accepted = limit.allows(self.waiting.len() + 1, bytes);
        if is_accepted {
            self.add(packet, now);
        }
        is_accepted
    }

    /// Adds a packet.
    #[inline]
    pub(crate) fn add(&mut self, packet: Waiting, now: Time) {
        self.waiting().push_back(packet);
        let totals = self.totals().into_mut();
        totals.bytes += u64::from(packet.bytes);
        totals.waited = totals.waited.saturating_add(packet.start.since(now));
        let packets = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        self.note_length(packets);
    }

    /// Notes the number of packets that wait, for [`Backlog::most`].
    #[inline]
    pub(crate) fn note_length(&mut self, packets: u32) {
        if packets > self.most {
            *self.most() = packets;
        }
    }

    /// Adds the time that a packet has waited elsewhere.
    pub(crate) fn add_waited(&mut self, waited: Delay) {
        let totals = self.totals().into_mut();
        totals.waited = totals.waited.saturating_add(waited);
    }

    /// Removes the packets whose transmissions have started by `now`.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        if !self.waiting.is_empty() {
            self.drain_some(now);
        }
    }

    fn drain_some(&mut self, now: Time) {
        while self.waiting.front().is_some_and(|first| first.start <= now)
            && let Some(first) = self.waiting().pop_front()
        {
            self.totals().into_mut().bytes -= u64::from(first.bytes);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT_CAPACITY {
            self.waiting().free_if_empty();
        }
    }
}

impl Backlog {
    /// Appends the bytes of the state.
    pub fn write(&self, to: &mut Vec<u8>) {
        wire::write(&(&self.waiting, self.totals.waited, self.most), to);
    }

    /// Reads a state.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state.
    pub fn read(from: &mut &[u8]) -> Result<Backlog, Malformed> {
        let (waiting, waited, most): (VecDeque<Waiting>, Delay, u32) = wire::read(from)?;
        let bytes = waiting.iter().map(|packet| u64::from(packet.bytes)).sum();
        Ok(Backlog { waiting, totals: WaitingTotals { bytes, waited }, most })
    }

    /// Moves the transmissions of the packets from the place `first` on to these starts.
    pub(crate) fn move_to(&mut self, first: usize, starts: &[Time]) {
        for (packet, &start) in self.waiting.iter_mut().skip(first).zip(starts) {
            let waited = u128::from(self.totals.waited.as_ps()) + u128::from(start.as_ps());
            let waited = waited.saturating_sub(packet.start.as_ps().into());
            self.totals.waited = Delay::from_ps(u64::try_from(waited).unwrap_or(u64::MAX));
            packet.start = start;
        }
    }

    /// Returns the number of packets that wait at `now`.
    pub fn waiting_at(&self, now: Time) -> usize {
        self.waiting.len() - self.waiting.partition_point(|packet| packet.start <= now)
    }

    /// Returns the largest number of packets that ever waited.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Returns the sum of the times that packets have waited until `now`. Divided by the time, it is the mean
    /// number of packets that wait.
    pub fn waited_at(&self, now: Time) -> Delay {
        let waits = self.waiting.iter().map(|packet| packet.start.since(now));
        let future = waits.fold(Delay::ZERO, Delay::saturating_add);
        Delay::from_ps(self.totals.waited.as_ps().saturating_sub(future.as_ps()))
    }

    /// Returns the packets that wait, in order. Those whose transmissions have started since the last
    /// [`BacklogMut::drain`] come first.
    pub(crate) fn packets(&self) -> &VecDeque<Waiting> {
        &self.waiting
    }

    /// Returns the number and the bytes of the packets beyond the first `device` ones, which the device
    /// holds. It counts packets that were there at the last [`BacklogMut::drain`].
    pub(crate) fn beyond(&self, device: usize) -> (usize, u64) {
        let in_device = self.waiting.iter().take(device).map(|packet| u64::from(packet.bytes)).sum::<u64>();
        (self.waiting.len().saturating_sub(device), self.totals.bytes - in_device)
    }

    /// Returns the time from which on fewer than `device` packets wait, if no more packets come. `now` if
    /// fewer wait already.
    pub(crate) fn has_room_from(&self, device: usize, now: Time) -> Time {
        match (self.waiting.len() + 1).checked_sub(device) {
            Some(started @ 1..) => self.waiting[started - 1].start,
            _ => now,
        }
    }
}

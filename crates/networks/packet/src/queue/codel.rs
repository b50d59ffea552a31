//! CoDel (RFC 8289): drops by the time that packets have waited.

use super::QueueLimit;
use super::holding::{Dropped, Held, bytes_of};
use crate::port::Loss;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Codel {
    /// The waiting time below which nothing is dropped. Longer waits are accepted only for `interval`.
    pub target: Delay,
    /// The time for which packets may wait longer than that before one is dropped. About the longest usual
    /// round-trip time.
    pub interval: Delay,
    /// No packet is dropped while no more than these bytes remain: about one packet.
    pub mtu: u32,
    /// True if packets whose senders understand marks are marked instead of dropped.
    pub marks: bool,
    /// The limit of the queue.
    pub limit: QueueLimit,
    /// True if the square root of the number of drops is exact (RFC 8289, section 5.4). Linux and ns-3 follow
    /// it by one step of Newton's method at each drop. So the second drop comes after half of the interval
    /// instead of
    /// 0.71 of it.
    pub has_exact_roots: bool,
}

impl Default for Codel {
    /// 5 ms and 100 ms (RFC 8289, sections 4.2 and 4.3), 1500 bytes, marks, 1000 packets, exact roots.
    fn default() -> Codel {
        Codel {
            target: Delay::from_ms(5),
            interval: Delay::from_ms(100),
            mtu: 1500,
            marks: true,
            limit: QueueLimit::Packets(1000),
            has_exact_roots: true,
        }
    }
}

impl Codel {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.limit.check_positive()?;
        let Codel { target, interval, .. } = *self;
        if target == Delay::ZERO || interval < target {
            return Err(format!(
                "has a target of {target} and an interval of {interval}; the target must be above zero, and the interval \
                 no shorter than the target"
            ));
        }
        Ok(())
    }
}

/// The state of the control law. The names are those of RFC 8289, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct Law {
    /// The time at which packets may be dropped, if they have waited too long until then.
    first_above: Option<Time>,
    /// The time of the next drop.
    drop_next: Time,
    /// The number of drops since the dropping state began.
    count: u32,
    /// The number of drops at the begin of the last dropping state.
    last_count: u32,
    is_dropping: bool,
    /// The estimate of `1 / sqrt(count)` by Newton's method, times 2^16.
    root: u16,
}

impl Law {
    const NEW: Law =
        Law { first_above: None, drop_next: Time::ZERO, count: 0, last_count: 0, is_dropping: false, root: u16::MAX };

    /// Returns true if a packet that has waited for `sojourn` may be dropped, while `remaining` bytes are
    /// behind it.
    fn may_drop(&mut self, codel: &Codel, now: Time, sojourn: Delay, remaining: u64) -> bool {
        if sojourn < codel.target || remaining <= u64::from(codel.mtu) {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now.saturating_add(codel.interval));
        now >= first_above && first_above < Time::MAX
    }

    /// Enters the dropping state.
    fn enter(&mut self, codel: &Codel, now: Time) {
        self.is_dropping = true;
        let delta = self.count - self.last_count;
        let is_recent = now.since(self.drop_next).as_ps() / 16 < codel.interval.as_ps();
        // The rate that controlled the queue a moment ago is a good one to start with.
        if delta > 1 && is_recent {
            self.count = delta;
            self.improve_root();
        } else {
            (self.count, self.root) = (1, u16::MAX);
        }
        self.last_count = self.count;
        self.schedule(codel, now);
    }

    /// Counts a drop or a mark in the dropping state.
    fn count(&mut self) {
        self.count = self.count.saturating_add(1);
        self.improve_root();
    }

    /// Sets the time of the next drop to an interval after `time`, divided by the root of the number of
    /// drops.
    fn schedule(&mut self, codel: &Codel, time: Time) {
        let factor = match codel.has_exact_roots {
            true => 1.0 / libm::sqrt(f64::from(self.count.max(1))),
            false => f64::from(self.root) / 65_536.0,
        };
        self.drop_next = time.saturating_add(codel.interval.scaled(factor));
    }

    /// Improves `root`, the estimate of `1 / sqrt(count)`, by one step of Newton's method. It uses
    /// fixed-point numbers, as Linux and ns-3 do.
    fn improve_root(&mut self) {
        let root = u64::from(self.root) << 16;
        let square = (root * root) >> 32;
        let rest = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square)) >> 2;
        let root = (rest.wrapping_mul(root) >> 31 >> 16) as u16;
        self.root = root;
    }
}

/// A queue with its control law.
#[derive(Clone, Debug, PartialEq, Eq, Undoable)]
pub(crate) struct Queue {
    pub(super) packets: VecDeque<Held>,
    pub(super) bytes: u64,
    #[undoable(boxed)]
    law: Law,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { packets: VecDeque::new(), bytes: 0, law: Law::NEW }
    }

    /// Appends the bytes of the state.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&(&self.packets, self.law), to);
    }

    /// Reads a state.
    pub(super) fn read(from: &mut &[u8]) -> Result<Queue, Malformed> {
        let (packets, law): (VecDeque<Held>, Law) = wire::read(from)?;
        if law.last_count > law.count {
            return Err(Malformed::new("CoDel has dropped fewer packets than before"));
        }
        Ok(Queue { bytes: bytes_of(&packets), packets, law })
    }
}

impl<R: Recorder<QueueUndo>> QueueMut<'_, R> {
    pub(super) fn enqueue(&mut self, packet: Held) {
        self.packets().push_back(packet);
        *self.bytes() += u64::from(packet.bytes);
    }

    /// Takes out the first packet.
    pub(super) fn pop(&mut self) -> Option<Held> {
        let packet = self.packets().pop_front()?;
        *self.bytes() -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Removes the next packet. Returns it, with true if it must be marked. Packets that the control
    /// law drops before it are added to `dropped`.
    pub(super) fn dequeue(&mut self, codel: &Codel, now: Time, dropped: &mut Dropped) -> Option<(Held, bool)> {
        let before = self.law;
        let mut law = before;
        let next = self.select(codel, now, &mut law, dropped);
        if law != before {
            *self.law() = law;
        }
        next
    }

    /// Takes out the first packet, with true if it may be dropped.
    fn look(&mut self, codel: &Codel, now: Time, law: &mut Law) -> Option<(Held, bool)> {
        let Some(packet) = self.pop() else {
            law.first_above = None;
            return None;
        };
        let may_drop = law.may_drop(codel, now, now.since(packet.since), self.bytes);
        Some((packet, may_drop))
    }

    fn select(&mut self, codel: &Codel, now: Time, law: &mut Law, dropped: &mut Dropped) -> Option<(Held, bool)> {
        let mut next = self.look(codel, now, law);
        let is_marked = |packet: &Held| codel.marks && packet.is_capable();
        if !law.is_dropping {
            let Some((packet, true)) = next else { return next.map(|(packet, _)| (packet, false)) };
            law.enter(codel, now);
            if is_marked(&packet) {
                return Some((packet, true));
            }
            dropped.push((packet, Loss::Early));
            return self.look(codel, now, law).map(|(packet, _)| (packet, false));
        }
        while let Some((packet, true)) = next
            && now >= law.drop_next
        {
            law.count();
            if is_marked(&packet) {
                law.schedule(codel, law.drop_next);
                return Some((packet, true));
            }
            dropped.push((packet, Loss::Early));
            next = self.look(codel, now, law);
            if let Some((_, true)) = next {
                law.schedule(codel, law.drop_next);
            }
        }
        law.is_dropping = matches!(next, Some((_, true)));
        next.map(|(packet, _)| (packet, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO.checked_add(Delay::from_us(us)).expect("soon")
    }

    fn packet(slot: u32, us: u64, is_capable: bool) -> Held {
        Held::new(slot, 1000, at(us), is_capable)
    }

    /// Fills a queue at time 0 with packets of 1000 bytes, and takes one out each millisecond. Returns the
    /// times in milliseconds at which packets are dropped and marked.
    fn drain(codel: &Codel, is_capable: bool) -> (Vec<u64>, Vec<u64>) {
        let mut queue = Queue::new();
        (0..2000).for_each(|slot| queue.unrecorded().enqueue(packet(slot, 0, is_capable)));
        let (mut drops, mut marks) = (Vec::new(), Vec::new());
        for ms in 0..1000 {
            let mut dropped = Dropped::new();
            let next = queue.unrecorded().dequeue(codel, at(ms * 1000), &mut dropped);
            drops.extend(dropped.iter().map(|_| ms));
            marks.extend(next.filter(|(_, is_marked)| *is_marked).map(|_| ms));
        }
        (drops, marks)
    }

    /// Returns the drops of RFC 8289: the first one an interval after the target is exceeded, and the n-th
    /// follows its predecessor by `interval / sqrt(n - 1)`. A packet leaves each millisecond, so each drop
    /// happens at the next whole millisecond.
    fn of_rfc(until: u64) -> Vec<u64> {
        let mut times = Vec::new();
        let (mut time, mut count) = (105.0, 1.0_f64);
        while time < until as f64 {
            times.extend((0..until).find(|&ms| ms as f64 >= time));
            time += 100.0 / count.sqrt();
            count += 1.0;
        }
        times
    }

    #[test]
    fn drops_come_at_the_interval_over_the_square_root_of_their_number() {
        let (drops, marks) = drain(&Codel::default(), false);
        assert_eq!((drops, marks), (of_rfc(1000), vec![]));
    }

    /// From 1, one step of Newton's method for 2 gives (3 - 2) / 2, for 3 then 0.5 (3 - 3 / 4) / 2, and for 4
    /// 0.5625 (3 - 4 * 0.5625^2) / 2.
    #[test]
    fn roots_by_newton_follow_the_number_of_drops() {
        let codel = Codel { has_exact_roots: false, ..Codel::default() };
        let (drops, _) = drain(&codel, false);
        assert_eq!(drops[..5], [105, 205, 255, 312, 361]);
    }

    #[test]
    fn packets_whose_senders_understand_marks_are_marked_at_the_same_times() {
        let (drops, marks) = drain(&Codel::default(), true);
        assert_eq!((drops, marks), (vec![], of_rfc(1000)));
        let (drops, marks) = drain(&Codel { marks: false, ..Codel::default() }, true);
        assert_eq!((drops, marks), (of_rfc(1000), vec![]));
    }

    #[test]
    fn short_waits_and_the_last_packet_are_never_dropped() {
        // Each packet waits 4.9 ms, below the target. Then each waits a second, but is alone.
        for (ahead, wait_us) in [(4, 4_900), (1, 1_000_000)] {
            let (mut queue, mut dropped) = (Queue::new(), Dropped::new());
            for number in 0..10_000_u32 {
                let arrival = u64::from(number) * 1000;
                queue.unrecorded().enqueue(packet(number, arrival, false));
                if queue.packets.len() > ahead {
                    let start = at(arrival - 1000 * ahead as u64 + wait_us);
                    assert!(queue.unrecorded().dequeue(&Codel::default(), start, &mut dropped).is_some());
                }
            }
            assert_eq!(dropped, []);
        }
    }
}

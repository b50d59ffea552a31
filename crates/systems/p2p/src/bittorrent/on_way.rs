//! The blocks on their way to a neighbour.
//!
//! A client writes a block into the buffer of a socket, and can no longer take it back. So it leaves requests
//! in its own queue, where `cancel` and `choke` find them, until the buffer has room. libtorrent's rule for
//! the room is half a second of data at the rate of the connection, and at least 10 KiB
//! (`send_buffer_watermark_factor` and `send_buffer_low_watermark` of its settings). Here the data of one
//! round trip is added, since TCP keeps that much on the path.

use super::Block;
use super::block::is_long;
use super::patience::Patience;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The time of data that a connection holds, beside that of a round trip.
const BUFFER: Delay = Delay::from_ms(500);

/// The time that a very slow connection, of 500 bit/s, takes for a bit, in picoseconds. A block counts as
/// lost no sooner than such a connection would deliver it.
const PS_PER_BIT_MAX: u64 = 2_000_000_000;

/// The least room of a connection, in bits.
const ROOM_MIN: u64 = 10 * 1024 * 8;

/// The blocks that have been sent to a neighbour and not been acknowledged, and the room for others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OnWay {
    sent: Vec<Sent>,
    /// The bits on their way.
    #[serde(skip)]
    bits: u64,
    /// The bits that have arrived so far.
    arrived: u64,
    /// Another block may set out while fewer bits are on their way.
    room: u64,
    /// The least time from the sending of a block to its acknowledgement.
    round_trip: Delay,
    /// The time after which a block counts as lost.
    patience: Patience,
}

/// A block on its way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Sent {
    block: Block,
    #[serde(skip)]
    bits: u64,
    at: Time,
    /// The bits that had arrived when it was sent.
    arrived: u64,
}

impl OnWay {
    pub(super) fn new() -> OnWay {
        let patience = Patience::default();
        OnWay { sent: Vec::new(), bits: 0, arrived: 0, room: ROOM_MIN, round_trip: Delay::MAX, patience }
    }

    /// Completes the blocks that have been read: `bits` returns the bits of a block, `None` if there is no
    /// such block. Returns false if the blocks are impossible.
    pub(super) fn complete(&mut self, bits: impl Fn(Block) -> Option<u64>) -> bool {
        for sent in &mut self.sent {
            let Some(bits) = bits(sent.block).filter(|_| sent.arrived <= self.arrived) else { return false };
            sent.bits = bits;
        }
        let mut all = self.sent.iter().map(|sent| sent.bits);
        let Some(bits) = all.try_fold(0_u64, |sum, bits| sum.checked_add(bits)) else { return false };
        self.bits = bits;
        // All that is on its way may still arrive.
        self.arrived.checked_add(bits).is_some()
    }

    /// Returns the number of blocks on their way.
    pub(super) fn len(&self) -> usize {
        self.sent.len()
    }

    /// Returns whether another block may set out.
    pub(super) fn has_room(&self) -> bool {
        self.bits < self.room
    }

    /// A block sets out.
    pub(super) fn send(&mut self, block: Block, bits: u64, now: Time) {
        self.sent.push(Sent { block, bits, at: now, arrived: self.arrived });
        self.bits += bits;
    }

    /// The blocks for which `is_it` holds have arrived. The rate of the connection is that of the data that
    /// has arrived while one of them was on its way.
    pub(super) fn arrive(&mut self, is_it: impl Fn(Block) -> bool, now: Time) {
        let mut latest = None;
        self.sent.retain(|sent| {
            let arrives = is_it(sent.block);
            if arrives {
                (self.bits, self.arrived) = (self.bits - sent.bits, self.arrived + sent.bits);
                latest = Some(*sent);
            }
            !arrives
        });
        let Some(sent) = latest else { return };
        let time = now.since(sent.at);
        self.patience.took(time);
        self.round_trip = self.round_trip.min(time);
        let holds = u128::from(BUFFER.saturating_add(self.round_trip).as_ps());
        let room = u128::from(self.arrived - sent.arrived) * holds / u128::from(time.as_ps().max(1));
        self.room = u64::try_from(room).unwrap_or(u64::MAX).max(ROOM_MIN);
    }

    /// Returns the blocks on their way that need more than one packet.
    pub(super) fn long_blocks(&self) -> Box<[Block]> {
        self.sent.iter().filter(|sent| is_long(sent.bits)).map(|sent| sent.block).collect()
    }

    /// Forgets blocks that were sent so long ago that they must have been lost: `least`, or more for long
    /// blocks and where blocks take long.
    pub(super) fn forget(&mut self, least: Delay, now: Time) {
        let (time, before) = (self.patience.time(least), self.sent.len());
        let longest = |bits: u64| Delay::from_ps(bits.saturating_mul(PS_PER_BIT_MAX));
        self.sent.retain(|sent| sent.at.saturating_add(time.max(longest(sent.bits))) > now);
        if self.sent.len() < before {
            self.patience.run_out(least);
            self.bits = self.sent.iter().map(|sent| sent.bits).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the greatest number of blocks of 16 KiB that are on their way over a link of `rate` bits per
    /// millisecond, with a round trip of `round_trip` milliseconds, once 200 of them have arrived.
    fn most_on_way(rate: u64, round_trip: u64) -> usize {
        const BITS: u64 = 16 * 1024 * 8;
        let at = |ms: u64| Time::ZERO.saturating_add(Delay::from_ms(ms));
        let (mut on_way, mut now, mut link_is_free, mut most) = (OnWay::new(), 0, 0, 0);
        let mut arrivals = std::collections::VecDeque::new();
        for index in 0..400 {
            while !on_way.has_room() {
                let (time, block): (u64, Block) = arrivals.pop_front().expect("a block is on its way");
                now = time;
                on_way.arrive(|it| it == block, at(now));
            }
            let block = Block { piece: 0, index };
            on_way.send(block, BITS, at(now));
            link_is_free = now.max(link_is_free) + BITS / rate;
            arrivals.push_back((link_is_free + round_trip, block));
            most = if index > 200 { most.max(on_way.len()) } else { 0 };
        }
        most
    }

    /// A link of 200 kbit/s takes 655 ms for a block: the one on the link, and one that follows. A link of
    /// 20 Mbit/s takes 6 ms: 83 blocks are half a second, and 17 are a round trip of 100 ms.
    #[test]
    fn half_a_second_of_data_is_on_its_way_beside_a_round_trip() {
        assert_eq!(most_on_way(200, 20), 2);
        assert!((95..=105).contains(&most_on_way(20_000, 100)), "{}", most_on_way(20_000, 100));
    }
}

//! The bytes of a connection's state.
//!
//! Parameters are not written: who reads a state takes them from the settings. Nor is the rest of the state
//! trusted: sums that the connection keeps must be right, places in their order, and numbers so small that
//! none can overflow later.

use crate::connection::{Connection, Core};
use crate::control::Control;
use crate::receiver::{Receiver, Span};
use crate::sender::{Sender, Sent, TimerUse};
use crate::settings::Settings;
use crate::state::State;
use parades_core::time::Delay;
use parades_core::wire::{self, Malformed};
use std::collections::VecDeque;

/// The bound of places in a stream, and of numbers of bytes and segments. No run reaches it.
const PLACE_MAX: u64 = 1 << 62;
/// The bound of numbers that are counted in 32 bits.
const COUNT_MAX: u32 = 1 << 31;
/// The bound of lengths in segments or seconds that are floating-point numbers. Their cubes are finite.
const LENGTH_MAX: f64 = 1e18;
/// The bound of a measured round trip: about 13 days.
const ROUND_TRIP_MAX: Delay = Delay::from_ps(1 << 60);
/// The greatest shift of a window (RFC 7323, section 2.3).
const SHIFT_MAX: u8 = 14;

/// Returns true if a state may have this place or number.
pub(crate) fn is_place(place: u64) -> bool {
    place < PLACE_MAX
}

/// Returns true if a state may have this number.
pub(crate) fn is_count(count: u32) -> bool {
    count < COUNT_MAX
}

/// Returns true if a state may have this length.
pub(crate) fn is_length(length: f64) -> bool {
    length.abs() < LENGTH_MAX
}

impl Connection {
    /// Appends the bytes of the state, without what the settings say.
    ///
    /// # Panics
    ///
    /// If the settings do not allow it ([`Settings::can_save`]).
    pub fn write(&self, to: &mut Vec<u8>) {
        wire::write(&self.core, to);
        self.control.write(to);
        wire::write(&(&self.outstanding, &self.arrived), to);
    }

    /// Reads the state of a connection with these settings.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of such a state.
    pub fn read(settings: &Settings, from: &mut &[u8]) -> Result<Connection, Malformed> {
        let core: Core = wire::read(from)?;
        let control = Control::read(&settings.algorithm, from)?;
        let (outstanding, arrived): (VecDeque<Sent>, Vec<Span>) = wire::read(from)?;
        let connection = Connection { core, control, outstanding, arrived };
        match connection.is_possible(settings) {
            true => Ok(connection),
            false => Err(Malformed::new("a TCP connection has a state that none can have")),
        }
    }

    /// Returns true if a connection with these settings may have this state.
    fn is_possible(&self, settings: &Settings) -> bool {
        let Core { state, send, receive, counts, .. } = &self.core;
        let spans = self.outstanding.iter().all(Sent::is_possible)
            && self.arrived.iter().all(|span| is_place(span.from) && span.from < span.to && is_place(span.to));
        let is_begun = send.una > 0 && receive.next > 0
            || matches!(state, State::Closed | State::Listen)
            || matches!(state, State::SynSent | State::SynReceived) && send.timer != TimerUse::KeepAlive;
        let delivered = self.outstanding.iter().all(|sent| sent.delivered <= send.rate.delivered);
        let fins = self.outstanding.iter().rev().skip(1).all(|sent| !sent.has_fin);
        send.is_possible(settings)
            && receive.is_possible()
            && counts.are_possible()
            && spans
            && is_begun
            && delivered
            && fins
            && self.is_consistent()
    }
}

impl Sent {
    fn is_possible(&self) -> bool {
        is_place(self.from) && is_count(self.len) && (self.len > 0 || self.has_fin) && is_place(self.delivered)
    }
}

impl Sender {
    fn is_possible(&self, settings: &Settings) -> bool {
        let places = [
            self.written,
            self.window_seq,
            self.window_ack,
            self.lost_total,
            self.sacked_end,
            self.marked_end,
            self.repaired_end,
            self.recover,
            self.rescue,
            self.frto,
            self.probe.end,
            self.rate.delivered,
            self.rate.app_limited,
            self.rack.end,
            self.rack.highest,
            self.rack.grown_until,
        ];
        let counts = [
            self.duplicates,
            self.retries,
            self.syn_retransmissions,
            self.persist_backoff,
            self.prior.retransmissions,
            self.round_trip.backoff,
        ];
        let spans = self.blocks.iter().flat_map(|span| [span.from, span.to]);
        places.into_iter().chain(spans).all(is_place)
            && counts.into_iter().all(is_count)
            && (1..=self.end()).contains(&self.written)
            && self.una <= self.next
            && self.next <= self.end()
            && self.written.saturating_sub(self.una) <= u64::from(settings.send_buffer) + 1
            && self.shift <= SHIFT_MAX
            && (1..=settings.mss).contains(&self.window.mss)
            && (self.round_trip.min == Delay::MAX || self.round_trip.min < ROUND_TRIP_MAX)
            && self.rack.quarters <= 64
    }
}

impl Receiver {
    fn is_possible(&self) -> bool {
        let duplicate = self.duplicate.unwrap_or_default();
        let places = [self.next, self.window_end, self.fin.unwrap_or(0), self.marked_at, duplicate.from, duplicate.to];
        let counts = [self.unacknowledged_segments, self.largest_segment];
        places.into_iter().chain(self.recent).all(is_place)
            && counts.into_iter().all(is_count)
            && [self.next_before, self.read, self.acknowledged].into_iter().all(|place| place <= self.next)
            && self.shift <= SHIFT_MAX
            && usize::from(self.recent_len) <= self.recent.len()
    }
}

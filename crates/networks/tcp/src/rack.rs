//! Loss detection by time (RACK, RFC 8985, section 6).
//!
//! A segment is lost if a segment that was sent later has arrived, and the time since its own transmission
//! exceeds the round trip and a *reordering window*.

use crate::connection::ConnectionUndo;
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Timer};
use crate::proportional::Progress;
use crate::scoreboard::Report;
use crate::sender::{Mode, Sent};
use crate::seq::Seq;
use parades_core::restore::Recorder;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The state of RACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rack {
    /// The transmission time of the newest segment that has arrived.
    pub sent_at: Time,
    /// The place after this segment.
    pub end: u64,
    /// The round trip of this segment.
    pub round_trip: Delay,
    /// The place after the highest segment that has arrived.
    pub highest: u64,
    /// True if segments were seen out of order.
    pub is_reordered: bool,
    /// The reordering window in quarters of the smallest round trip.
    pub quarters: u32,
    /// Recoveries until the reordering window becomes small again.
    pub persistence: u32,
    /// The reordering window grows at most once until this place is acknowledged.
    pub grown_until: u64,
}

/// The number of recoveries for which a larger reordering window is kept (RFC 8985, section 6.2, step 4).
const PERSISTENCE: u32 = 16;

impl Rack {
    pub(crate) const fn new() -> Rack {
        Rack {
            sent_at: Time::ZERO,
            end: 0,
            round_trip: Delay::ZERO,
            highest: 0,
            is_reordered: false,
            quarters: 1,
            persistence: 0,
            grown_until: 0,
        }
    }

    /// Notes that a segment has arrived (steps 1 to 3). `highest` is the place after the highest segment that
    /// had arrived before this acknowledgement. `is_earlier` is true if an earlier transmission of the
    /// segment may have arrived.
    pub(crate) fn on_delivered(&mut self, sent: &Sent, highest: u64, is_earlier: bool, now: Time) {
        if sent.end() < highest && !sent.was_retransmitted {
            self.is_reordered = true;
        }
        self.highest = self.highest.max(sent.end());
        if is_earlier {
            return;
        }
        self.round_trip = now.since(sent.sent_at);
        if (sent.sent_at, sent.end()) > (self.sent_at, self.end) {
            self.sent_at = sent.sent_at;
            self.end = sent.end();
        }
    }

    /// Notes a reported duplicate: the reordering window was too small (step 4).
    pub(crate) fn on_duplicate(&mut self, una: u64, next: u64) {
        if una >= self.grown_until {
            self.grown_until = next;
            self.quarters = (self.quarters + 1).min(64);
            self.persistence = PERSISTENCE;
        }
    }

    /// Notes the end of a recovery.
    pub(crate) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }
}

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns true if an acknowledgement of a retransmitted segment tells nothing about the retransmission:
    /// it echoes an older timestamp, or comes sooner than the shortest round trip (step 2). Without the first
    /// rule, a round trip that grows in a recovery has no end: the acknowledgement of each original would
    /// mark segments as lost whose retransmissions are under way.
    pub(crate) fn acknowledges_earlier(&self, sent: &Sent, echo: Option<u32>) -> bool {
        let is_older = |echo| Seq(echo).is_before(Seq(self.timestamp_at(sent.sent_at)));
        echo.is_some_and(is_older) || self.env.now().since(sent.sent_at) < self.send.round_trip.min
    }

    /// Returns the reordering window (step 4).
    fn reordering_window(&self) -> Delay {
        let send = &*self.send;
        if !send.rack.is_reordered {
            let is_recovering = matches!(send.mode, Mode::Recovery | Mode::Loss);
            if is_recovering || self.sacked_segments() >= self.settings.duplicate_threshold {
                return Delay::ZERO;
            }
        }
        let min = if send.round_trip.min == Delay::MAX { 0 } else { send.round_trip.min.as_ps() };
        Delay::from_ps(min / 4 * u64::from(send.rack.quarters)).min(send.round_trip.smoothed)
    }

    /// Returns the number of segments that are acknowledged selectively, at most the threshold.
    fn sacked_segments(&self) -> u32 {
        if self.send.sacked == 0 {
            return 0;
        }
        let threshold = self.settings.duplicate_threshold;
        let sacked = self.outstanding.iter().rev().filter(|sent| sent.is_sacked).take(threshold as usize);
        u32::try_from(sacked.count()).unwrap_or(threshold)
    }

    /// Marks segments as lost by time, and sets the timer for those that may be lost soon (step 5).
    pub(crate) fn detect_losses_by_time(&mut self) {
        if self.send.sacked == 0 && self.send.retransmitted == 0 && self.send.lost == 0 {
            self.env.cancel_timer(Timer::Reordering);
            return;
        }
        let now = self.env.now();
        let rack = self.send.rack;
        let allowed = rack.round_trip.saturating_add(self.reordering_window());
        let mut wait = Delay::ZERO;
        for index in 0..self.outstanding.len() {
            let sent = self.outstanding[index];
            let is_newer = (sent.sent_at, sent.end()) > (rack.sent_at, rack.end);
            if is_newer && !sent.was_retransmitted {
                break; // All segments behind it were sent later still.
            }
            if is_newer || sent.is_sacked || (sent.is_lost && !sent.is_retransmitted) {
                continue;
            }
            let elapsed = now.since(sent.sent_at);
            if elapsed >= allowed {
                self.forget_retransmission(index);
                self.mark_lost(index);
            } else {
                wait = wait.max(Delay::from_ps(allowed.as_ps() - elapsed.as_ps()));
            }
        }
        if wait > Delay::ZERO {
            self.env.set_timer(Timer::Reordering, wait);
        } else {
            self.env.cancel_timer(Timer::Reordering);
        }
    }

    /// Handles the end of a reordering window.
    pub(crate) fn on_reordering_timer(&mut self) {
        self.detect_losses_by_time();
        if self.has_unrepaired_loss() && matches!(self.send.mode, Mode::Open | Mode::Disorder) {
            self.enter_recovery();
            let in_flight = self.send.in_flight();
            self.shrink(&Report::default(), Progress { delivered: 0, has_new_loss: true, in_flight });
        }
        self.output();
        self.arm();
    }
}

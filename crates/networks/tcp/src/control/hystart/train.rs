//! HyStart as in ns-3.37: slow start ends by a train of acknowledgements or by delay.
//!
//! *Reference*: Ha, Rhee: Taming the elephants: new TCP slow start, Computer Networks 55(9), 2011.

use crate::control::{Ack, Window};
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// Parameters of HyStart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// The least window in segments at which slow start may end.
    pub low_window: u32,
    /// The largest gap between two acknowledgements of a train.
    pub gap_max: Delay,
    /// The number of first round trips in each round. The least of them is compared.
    pub samples: u32,
    /// The lower bound of the rise that ends slow start. The rise is the connection's least round trip,
    /// between the two bounds.
    pub rise_min: Delay,
    /// The upper bound of this rise.
    pub rise_max: Delay,
}

impl Train {
    /// Returns the parameters of ns-3.37.
    #[must_use]
    pub const fn ns3() -> Train {
        Train {
            low_window: 16,
            gap_max: Delay::from_ms(2),
            samples: 8,
            rise_min: Delay::from_ms(4),
            rise_max: Delay::from_secs(1),
        }
    }
}

/// The state of HyStart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::control) struct TrainState {
    #[serde(skip, default = "Train::ns3")]
    parameters: Train,
    /// The place of the stream after which the acknowledgements of the next round begin.
    round_end: u64,
    /// The first byte that was not sent at the last acknowledgement.
    next: u64,
    round_start: Time,
    /// The last acknowledgement of the train.
    last_of_train: Time,
    /// The least round trip since the last timeout; `Delay::MAX` if there is none.
    least_rtt: Delay,
    /// The least of the first round trips of this round; `Delay::MAX` if there is none.
    round_rtt: Delay,
    /// The number of round trips in `round_rtt`.
    taken: u32,
    /// True if the end was found. The search begins again after a timeout.
    is_found: bool,
}

impl TrainState {
    pub(super) const fn new(parameters: Train) -> TrainState {
        TrainState {
            parameters,
            round_end: 0,
            next: 0,
            round_start: Time::ZERO,
            last_of_train: Time::ZERO,
            least_rtt: Delay::MAX,
            round_rtt: Delay::MAX,
            taken: 0,
            is_found: false,
        }
    }

    /// Returns a state that was read, with its parameters.
    pub(super) const fn resume(self, parameters: Train) -> TrainState {
        TrainState { parameters, ..self }
    }

    /// Reads an acknowledgement. Round trips are the smoothed ones, as in ns-3.
    pub(super) fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.next = ack.next;
        if ack.srtt > Delay::ZERO {
            self.least_rtt = self.least_rtt.min(ack.srtt);
        }
        let low = self.parameters.low_window.saturating_mul(window.mss);
        if window.cwnd <= window.ssthresh && window.cwnd >= low && !self.is_found {
            self.search(ack, window);
        }
        if !ack.is_recovering && window.is_slow_start() && ack.unacked > self.round_end {
            self.start_round(ack.now);
        }
    }

    /// Sets `ssthresh` to the window if a train is longer than the least round trip, or if the round trip has
    /// risen.
    fn search(&mut self, ack: &Ack, window: &mut Window) {
        let least = self.least_rtt;
        if ack.now.since(self.last_of_train) <= self.parameters.gap_max {
            self.last_of_train = ack.now;
            self.is_found = ack.now.since(self.round_start) > least;
        }
        if self.taken < self.parameters.samples {
            self.round_rtt = self.round_rtt.min(ack.srtt);
            self.taken += 1;
        } else {
            let rise = least.clamp(self.parameters.rise_min, self.parameters.rise_max);
            self.is_found |= self.round_rtt > least.saturating_add(rise);
        }
        if self.is_found {
            window.ssthresh = window.cwnd;
        }
    }

    fn start_round(&mut self, now: Time) {
        self.round_end = self.next;
        (self.round_start, self.last_of_train) = (now, now);
        (self.round_rtt, self.taken) = (Delay::MAX, 0);
    }

    /// Searches again, after a timeout.
    pub(super) fn restart(&mut self, now: Time) {
        self.start_round(now);
        self.least_rtt = Delay::MAX;
        self.is_found = false;
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        digest.word(self.round_end);
        digest.word(self.round_start.as_ps());
        digest.word(self.last_of_train.as_ps());
        digest.word(self.least_rtt.as_ps());
        digest.word(self.round_rtt.as_ps());
        digest.word(u64::from(self.taken) << 1 | u64::from(self.is_found));
    }
}

//! BBR's model of the path (section 4.1 of the draft).

use crate::control::{Ack, RateSample};
use crate::save::{is_count, is_place};
use parades_core::digest::Digest;
use parades_core::time::{Delay, PS_PER_S, Time};
use serde::{Deserialize, Serialize};

/// The number of round trips over which the largest delivery rate counts: `BtlBwFilterLen`.
const ROUNDS: usize = 10;
/// The factor by which the bandwidth must grow in Startup.
const GROWTH: f64 = 1.25;
/// The number of rounds without such a growth after which the pipe is full.
const FULL_ROUNDS: u32 = 3;

/// The model of the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Model {
    /// The largest delivery rate of each of the last rounds up to `rates_round`, in bits per second.
    rates: [u64; ROUNDS],
    /// The round of the last delivery rate that counted. Rates do not age while none counts.
    rates_round: usize,
    /// The number of rounds.
    round: usize,
    /// The bytes delivered on the connection.
    delivered: u64,
    /// The delivered bytes at which a packet must be sent so that its acknowledgement ends the round.
    round_end: u64,
    /// True if the last acknowledgement began a round.
    pub(super) is_round_start: bool,
    /// The least round trip of the last ten seconds.
    pub(super) rtprop: Option<Delay>,
    /// The time of the last round trip that was as short as `rtprop`.
    rtprop_at: Time,
    /// True if `rtprop` was too old at the last acknowledgement.
    pub(super) is_rtprop_expired: bool,
    /// The bandwidth when it last grew enough in Startup.
    full_bps: u64,
    /// The rounds since the bandwidth last grew enough.
    full_rounds: u32,
    /// True if the pipe was full once.
    pub(super) is_full: bool,
    /// A packet was limited by ProbeRTT if the bytes delivered when it was sent are between these two
    /// numbers, or equal to one of them.
    limited: Option<(u64, u64)>,
}

impl Model {
    pub(super) const fn new() -> Model {
        Model {
            rates: [0; ROUNDS],
            rates_round: 0,
            round: 0,
            delivered: 0,
            round_end: 0,
            is_round_start: false,
            rtprop: None,
            rtprop_at: Time::ZERO,
            is_rtprop_expired: false,
            full_bps: 0,
            full_rounds: 0,
            is_full: false,
            limited: None,
        }
    }

    /// Returns true if this is a state of the algorithm. One that was read may be none.
    pub(super) fn is_possible(&self) -> bool {
        let (from, to) = self.limited.unwrap_or_default();
        self.rates_round <= self.round
            && [self.round as u64, self.delivered, self.round_end, from, to].into_iter().all(is_place)
            && is_count(self.full_rounds)
    }

    pub(super) fn start(&mut self, now: Time) {
        self.rtprop_at = now;
    }

    pub(super) fn bandwidth_bps(&self) -> u64 {
        self.rates.into_iter().max().unwrap_or(0)
    }

    /// Returns the bandwidth-delay product in bytes. `None` before the first round trip.
    pub(super) fn bdp(&self) -> Option<f64> {
        Some(self.bandwidth_bps() as f64 / 8.0 * self.rtprop?.as_secs_f64())
    }

    /// Returns the bytes delivered on the connection.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Updates rounds and bandwidth (section 4.1.1).
    pub(super) fn update_bandwidth(&mut self, ack: &Ack) {
        self.delivered = ack.delivered_total;
        self.is_round_start = false;
        let Some(sample) = ack.rate else { return };
        if sample.prior_delivered >= self.round_end {
            self.start_round();
            self.is_round_start = true;
            self.round += 1;
        }
        let bps = rate_bps(&sample);
        if bps >= self.bandwidth_bps() || !self.is_limited(&sample) {
            self.count_rate(bps);
        }
    }

    /// Counts a rate in this round, and forgets those of more than ten rounds ago.
    fn count_rate(&mut self, bps: u64) {
        for _ in 0..(self.round - self.rates_round).min(ROUNDS) {
            self.rates_round += 1;
            self.rates[self.rates_round % ROUNDS] = 0;
        }
        self.rates_round = self.round;
        let rate = &mut self.rates[self.round % ROUNDS];
        *rate = bps.max(*rate);
    }

    fn is_limited(&self, sample: &RateSample) -> bool {
        let is_in = |(from, to): (u64, u64)| (from..=to).contains(&sample.prior_delivered);
        sample.is_app_limited || self.limited.is_some_and(is_in)
    }

    /// Starts a round. It ends when a packet is acknowledged that is sent after this call.
    pub(super) fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// Starts to ignore low rates of packets, because ProbeRTT limits them (section 4.3.5).
    pub(super) fn start_limit(&mut self) {
        self.limited = Some((self.delivered, self.delivered));
    }

    /// Moves the end of the limit to the last packet in flight.
    pub(super) fn extend_limit(&mut self, in_flight: u32) {
        self.limited = self.limited.map(|(from, _)| (from, self.delivered + u64::from(in_flight)));
    }

    /// Ends Startup if the bandwidth has not grown by a quarter in three rounds (section 4.3.2.2).
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        let is_limited = ack.rate.is_none_or(|sample| self.is_limited(&sample));
        if self.is_full || !self.is_round_start || is_limited {
            return;
        }
        if self.bandwidth_bps() as f64 >= self.full_bps as f64 * GROWTH {
            self.full_bps = self.bandwidth_bps();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// Measures the growth in Startup again.
    pub(super) fn forget_full_pipe(&mut self) {
        (self.full_bps, self.full_rounds) = (0, 0);
    }

    /// Updates the round trip (section 4.1.2).
    pub(super) fn update_rtprop(&mut self, ack: &Ack, interval: Delay) {
        self.is_rtprop_expired = ack.now.since(self.rtprop_at) > interval;
        let Some(rtt) = ack.rtt else { return };
        if self.is_rtprop_expired || self.rtprop.is_none_or(|least| rtt <= least) {
            self.rtprop = Some(rtt);
            self.rtprop_at = ack.now;
        }
    }

    /// Confirms the round trip at the end of ProbeRTT.
    pub(super) fn confirm_rtprop(&mut self, now: Time) {
        self.rtprop_at = now;
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        self.rates.into_iter().for_each(|rate| digest.word(rate));
        digest.word(self.rates_round as u64);
        digest.word(self.round as u64);
        let words = [self.delivered, self.round_end, self.rtprop_at.as_ps(), self.full_bps];
        words.into_iter().for_each(|word| digest.word(word));
        digest.word(self.rtprop.unwrap_or(Delay::MAX).as_ps());
        let flags = [self.is_round_start, self.is_rtprop_expired, self.is_full];
        flags.into_iter().for_each(|flag| digest.word(u64::from(flag)));
        let (from, to) = self.limited.unwrap_or_default();
        [u64::from(self.full_rounds), from, to].into_iter().for_each(|word| digest.word(word));
    }
}

/// Returns a delivery rate in bits per second.
fn rate_bps(sample: &RateSample) -> u64 {
    let bits = u128::from(sample.delivered) * 8 * u128::from(PS_PER_S);
    let bps = bits.checked_div(u128::from(sample.interval.as_ps())).unwrap_or(0);
    u64::try_from(bps).unwrap_or(u64::MAX)
}

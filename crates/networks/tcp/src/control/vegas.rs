//! Vegas: the window follows the round trip, so that a few segments wait in queues.
//!
//! *Reference*: Brakmo, Peterson: TCP Vegas: end to end congestion avoidance on a global Internet, IEEE
//! Journal on Selected Areas in Communications 13(8), 1995. The decisions are those of Linux and ns-3, which
//! double the window in each round trip of slow start.

use super::{Ack, Congestion, CongestionControl, Growth, RenoGrowth, Window, whole};
use crate::save::{is_count, is_place};
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The number of round trips in a cycle up to which the cycle is not used. All of them may come from delayed
/// acknowledgements.
const UNUSED_SAMPLES: u32 = 2;

/// Parameters of Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vegas {
    /// The least number of segments in queues. Below it the window grows.
    pub alpha: u32,
    /// The largest number of segments in queues. Above it the window shrinks.
    pub beta: u32,
    /// The number of segments in queues above which slow start ends.
    pub gamma: u32,
    /// The unit in which acknowledgements make the window grow in slow start.
    pub growth: Growth,
    /// True if round trips are smoothed, as in ns-3.
    pub has_smoothed_rtt: bool,
    /// True if a loss halves the window, as in Linux. False if it takes one segment, as in ns-3.
    pub halves_after_loss: bool,
}

impl Vegas {
    /// Returns the parameters of Linux's `vegas`.
    #[must_use]
    pub const fn linux() -> Vegas {
        Vegas {
            alpha: 2,
            beta: 4,
            gamma: 1,
            growth: Growth::Segments,
            has_smoothed_rtt: false,
            halves_after_loss: true,
        }
    }

    /// Returns the parameters of ns-3.37's `TcpVegas`.
    #[must_use]
    pub const fn ns3() -> Vegas {
        Vegas { growth: Growth::Acks, has_smoothed_rtt: true, halves_after_loss: false, ..Vegas::linux() }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn start(self) -> VegasState {
        VegasState {
            parameters: self,
            growth: RenoGrowth::new(self.growth),
            base_rtt: Delay::MAX,
            cycle_rtt: Delay::MAX,
            samples: 0,
            cycle_end: 0,
            next: 0,
            reno_until: None,
        }
    }

    /// Returns a state that was read, with its parameters. `None` if it is no state of this algorithm.
    pub(super) fn resume(self, state: VegasState) -> Option<VegasState> {
        let VegasState { growth, base_rtt, cycle_rtt, samples, cycle_end, next, reno_until, .. } = state;
        let is_possible = Delay::ZERO < base_rtt
            && base_rtt <= cycle_rtt
            && is_count(samples)
            && [cycle_end, next, reno_until.unwrap_or(0)].into_iter().all(is_place);
        is_possible.then_some(VegasState { parameters: self, growth: growth.resume(self.growth), ..state })
    }
}

/// The state of Vegas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VegasState {
    #[serde(skip, default = "Vegas::linux")]
    parameters: Vegas,
    growth: RenoGrowth,
    /// The least round trip of the connection; `Delay::MAX` before the first.
    base_rtt: Delay,
    /// The least round trip of this cycle; `Delay::MAX` before the first.
    cycle_rtt: Delay,
    /// The number of round trips measured in this cycle.
    samples: u32,
    /// The place of the stream whose acknowledgement ends this cycle.
    cycle_end: u64,
    /// The first byte that was not sent at the last acknowledgement.
    next: u64,
    /// The place of the stream up to which the window grows as in Reno, after congestion.
    reno_until: Option<u64>,
}

impl VegasState {
    fn measure(&mut self, ack: &Ack) {
        self.next = ack.next;
        let Some(rtt) = ack.rtt else { return };
        let rtt = if self.parameters.has_smoothed_rtt { ack.srtt } else { rtt };
        self.base_rtt = self.base_rtt.min(rtt);
        self.cycle_rtt = self.cycle_rtt.min(rtt);
        self.samples += 1;
    }

    fn start_cycle(&mut self) {
        self.cycle_end = self.next;
        self.cycle_rtt = Delay::MAX;
        self.samples = 0;
    }

    /// Adjusts the window at the end of a cycle.
    fn adjust(&self, ack: &Ack, window: &mut Window, growth: &mut RenoGrowth) {
        let Vegas { alpha, beta, gamma, .. } = self.parameters;
        let segments = window.cwnd / window.mss;
        // The segments that an idle path would hold: the expected rate times the measured round trip is the
        // window, and the actual rate times the base round trip is the target.
        let ratio = self.base_rtt.as_secs_f64() / self.cycle_rtt.as_secs_f64();
        let target = whole(f64::from(segments) * ratio);
        let queued = segments - target.min(segments);
        if window.is_slow_start() && queued > gamma {
            window.cwnd = segments.min(target + 1) * window.mss;
            end_slow_start(window);
        } else if window.is_slow_start() {
            growth.grow(ack, window);
        } else if queued > beta {
            window.cwnd = (segments - 1).max(2) * window.mss;
            end_slow_start(window);
        } else if queued < alpha {
            window.cwnd = (segments + 1).saturating_mul(window.mss);
        }
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
    }
}

/// Sets `ssthresh` below the window. A recovery with few bytes in flight may leave less than a segment of it.
fn end_slow_start(window: &mut Window) {
    window.ssthresh = window.ssthresh.min(window.cwnd.saturating_sub(window.mss)).max(2 * window.mss);
}

impl CongestionControl for VegasState {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.measure(ack);
        if ack.is_recovering || !ack.is_window_limited || ack.acked == 0 {
            return;
        }
        if self.reno_until.is_some_and(|place| ack.unacked >= place) {
            self.reno_until = None;
            self.start_cycle();
        }
        let mut growth = self.growth;
        if self.reno_until.is_some() {
            growth.grow(ack, window);
        } else if ack.unacked >= self.cycle_end {
            match self.samples > UNUSED_SAMPLES {
                true => self.adjust(ack, window, &mut growth),
                false => growth.grow(ack, window),
            }
            self.start_cycle();
        } else if window.is_slow_start() {
            growth.grow(ack, window);
        }
        self.growth = growth;
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, _: u32, window: &mut Window) {
        match self.parameters.halves_after_loss {
            true => window.ssthresh = (window.cwnd / 2).max(2 * window.mss),
            false => end_slow_start(window),
        }
        self.reno_until = Some(self.next);
        self.growth.reset();
    }

    fn on_recovered(&mut self, _: Time, _: &mut Window) {
        self.reno_until = None;
        self.start_cycle();
    }

    fn on_undo(&mut self, _: Time, _: &mut Window) {
        self.reno_until = None;
        self.start_cycle();
    }

    fn on_idle_end(&mut self, _: Time, _: &mut Window) {
        self.start_cycle();
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(*self)
    }

    fn fold(&self, digest: &mut Digest) {
        self.growth.fold(digest);
        digest.word(self.base_rtt.as_ps());
        digest.word(self.cycle_rtt.as_ps());
        digest.word(u64::from(self.samples));
        digest.word(self.cycle_end);
        digest.word(self.reno_until.unwrap_or(u64::MAX));
    }
}

//! BBR's state machine (section 4.3 of the draft).

use super::BbrState;
use crate::control::{Ack, Window};
use parades_core::digest::Digest;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// The gains of the pacing rate in ProbeBW: more than the bottleneck's rate to probe for bandwidth, then less
/// to drain the queue, then the rate itself.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The mode of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Doubles the rate in each round trip until the pipe is full.
    Startup,
    /// Drains the queue that Startup made.
    Drain,
    /// Sends at the bottleneck's rate, and probes for more once in a cycle of eight phases.
    ProbeBw {
        /// The phase, from 0 to 7.
        phase: usize,
        /// The start of the phase.
        since: Time,
    },
    /// Keeps a few packets in flight, to measure the round trip without queues.
    ProbeRtt {
        /// The earliest end. `None` until the packets in flight are few.
        until: Option<Time>,
        /// True if a round trip with few packets in flight is over.
        is_round_done: bool,
    },
}

impl Mode {
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Mode::ProbeBw { .. })
    }

    pub(super) fn is_probe_rtt(self) -> bool {
        matches!(self, Mode::ProbeRtt { .. })
    }

    /// Returns the gain of the pacing rate.
    pub(super) fn pacing_gain(self, high_gain: f64) -> f64 {
        match self {
            Mode::Startup => high_gain,
            Mode::Drain => 1.0 / high_gain,
            Mode::ProbeBw { phase, .. } => CYCLE[phase % CYCLE.len()],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    pub(super) fn fold(self, digest: &mut Digest) {
        let (kind, flag, time) = match self {
            Mode::Startup => (0, 0, None),
            Mode::Drain => (1, 0, None),
            Mode::ProbeBw { phase, since } => (2, phase as u64, Some(since)),
            Mode::ProbeRtt { until, is_round_done } => (3, u64::from(is_round_done), until),
        };
        digest.word(kind << 32 | flag);
        digest.word(time.map_or(u64::MAX, Time::as_ps));
    }
}

impl BbrState {
    /// Returns the gain of the window.
    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.parameters.high_gain,
            Mode::ProbeBw { .. } => self.parameters.cwnd_gain,
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// Advances the gain cycle (section 4.3.4.3). A phase takes a round trip. Probing lasts until the path is
    /// fuller or a packet is lost, and draining ends early when the queue is empty.
    pub(super) fn advance_cycle(&mut self, ack: &Ack) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let is_full_length = self.rtprop().is_some_and(|rtprop| ack.now.since(since) > rtprop);
        let gain = self.mode.pacing_gain(1.0);
        let is_over = if gain > 1.0 {
            is_full_length && (ack.lost > 0 || ack.in_flight_before >= self.fill(gain))
        } else if gain < 1.0 {
            is_full_length || ack.in_flight_before <= self.fill(1.0)
        } else {
            is_full_length
        };
        if is_over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
        }
    }

    /// Leaves Startup when the pipe is full, and Drain when the queue is empty (section 4.3.3).
    pub(super) fn check_drain(&mut self, ack: &Ack, window: &mut Window) {
        if self.mode == Mode::Startup && self.model.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.fill(1.0);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.fill(1.0) {
            self.mode = self.probe_bw(ack.now);
        }
    }

    /// Returns ProbeBW in any phase but that of draining.
    fn probe_bw(&self, now: Time) -> Mode {
        let mut digest = Digest::default();
        digest.word(now.as_ps());
        digest.word(self.model.delivered());
        let phases = CYCLE.len() as u64 - 1;
        let drawn = usize::try_from(digest.value() % phases).unwrap_or(0);
        Mode::ProbeBw { phase: if drawn == 0 { 0 } else { drawn + 1 }, since: now }
    }

    /// Enters ProbeRTT when the round trip is too old, and leaves it after a round trip and 200 ms with few
    /// packets in flight (section 4.3.5).
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, window: &mut Window) {
        if !self.mode.is_probe_rtt() && self.model.is_rtprop_expired && !self.limits.is_idle_restart {
            self.limits.save_cwnd(false, window);
            self.mode = Mode::ProbeRtt { until: None, is_round_done: false };
            self.model.start_limit();
        }
        if let Mode::ProbeRtt { until, is_round_done } = self.mode {
            self.model.extend_limit(ack.in_flight);
            self.probe_rtt(until, is_round_done, ack, window);
        }
        self.limits.is_idle_restart &= ack.delivered == 0;
    }

    fn probe_rtt(&mut self, until: Option<Time>, is_round_done: bool, ack: &Ack, window: &mut Window) {
        let Some(end) = until else {
            if ack.in_flight <= self.parameters.cwnd_min * window.mss {
                let end = ack.now.saturating_add(self.parameters.probe_rtt_duration);
                self.mode = Mode::ProbeRtt { until: Some(end), is_round_done: false };
                self.model.start_round();
            }
            return;
        };
        let is_round_done = is_round_done || self.model.is_round_start;
        self.mode = Mode::ProbeRtt { until, is_round_done };
        if is_round_done && ack.now > end {
            self.model.confirm_rtprop(ack.now);
            self.limits.restore_cwnd(window);
            self.mode = if self.model.is_full { self.probe_bw(ack.now) } else { Mode::Startup };
        }
    }
}

//! BBR: the sending rate follows a model of the path, its bottleneck's rate and its round trip.
//!
//! *References*: Cardwell, Cheng, Yeganeh, Jacobson: BBR congestion control,
//! draft-cardwell-iccrg-bbr-congestion-control-00, 2017 ("the draft" here). Cardwell et al.: BBR:
//! congestion-based congestion control, Communications of the ACM 60(2), 2017.
//!
//! The draft starts the gain cycle at random. Here a hash of the time and of the delivered bytes selects the
//! start, so that each engine computes the same.
//!
//! *Read next*: `model` (the path), `mode` (the state machine), `limits` (rate and window).

mod limits;
mod mode;
mod model;

use super::{Ack, Congestion, CongestionControl, Window};
use limits::Limits;
pub use mode::Mode;
use model::Model;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// Parameters of BBR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bbr {
    /// The gain of rate and window in Startup.
    pub high_gain: f64,
    /// The gain of the window in ProbeBW.
    pub cwnd_gain: f64,
    /// The longest age of the round trip's estimate. When it is older, the round trip is probed.
    pub probe_rtt_interval: Delay,
    /// The least time in ProbeRTT.
    pub probe_rtt_duration: Delay,
    /// The window of ProbeRTT, and the least window otherwise, in segments.
    pub cwnd_min: u32,
}

impl Bbr {
    /// Returns the parameters of the draft.
    #[must_use]
    pub const fn draft00() -> Bbr {
        Bbr {
            // The least gain that doubles the rate in each round trip: 2 / ln 2.
            high_gain: 2.0 / std::f64::consts::LN_2,
            cwnd_gain: 2.0,
            probe_rtt_interval: Delay::from_secs(10),
            probe_rtt_duration: Delay::from_ms(200),
            cwnd_min: 4,
        }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn start(self) -> BbrState {
        BbrState { parameters: self, model: Model::new(), mode: Mode::Startup, limits: Limits::new() }
    }

    /// Returns a state that was read, with its parameters. `None` if it is no state of this algorithm.
    pub(super) fn resume(self, state: BbrState) -> Option<BbrState> {
        let is_possible = state.model.is_possible() && state.limits.is_possible();
        is_possible.then_some(BbrState { parameters: self, ..state })
    }
}

/// The state of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BbrState {
    #[serde(skip, default = "Bbr::draft00")]
    parameters: Bbr,
    model: Model,
    mode: Mode,
    limits: Limits,
}

impl BbrState {
    /// Returns the estimate of the bottleneck's rate in bits per second: `BtlBw`.
    #[must_use]
    pub fn bandwidth_bps(&self) -> u64 {
        self.model.bandwidth_bps()
    }

    /// Returns the estimate of the path's round trip: `RTprop`. `None` before the first measurement.
    #[must_use]
    pub const fn rtprop(&self) -> Option<Delay> {
        self.model.rtprop
    }

    /// Returns the mode of the state machine.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the bytes in flight that fill the path `gain` times (section 4.2.3.2).
    fn fill(&self, gain: f64) -> u32 {
        self.model.bdp().map_or(self.limits.initial_cwnd, |bdp| self.limits.fill(gain * bdp))
    }
}

impl CongestionControl for BbrState {
    fn on_start(&mut self, now: Time, window: &mut Window) {
        self.model.start(now);
        self.limits.start(self.parameters.high_gain, window);
    }

    /// Section 4: first the model, then the limits.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.model.update_bandwidth(ack);
        if self.model.is_round_start {
            self.limits.is_conserving = false;
        }
        self.advance_cycle(ack);
        self.model.check_full_pipe(ack);
        self.check_drain(ack, window);
        self.model.update_rtprop(ack, self.parameters.probe_rtt_interval);
        self.check_probe_rtt(ack, window);
        self.limit(ack, window);
    }

    /// Section 4.2.3.4. BBR does not react to marks.
    fn on_congestion(&mut self, congestion: Congestion, _: Time, in_flight: u32, window: &mut Window) {
        if congestion == Congestion::Mark {
            return;
        }
        self.limits.save_cwnd(self.mode.is_probe_rtt(), window);
        let is_loss = congestion == Congestion::Loss;
        (self.limits.is_recovering, self.limits.is_conserving) = (is_loss, is_loss);
        self.limits.is_entering = is_loss;
        if is_loss {
            window.cwnd = window.cwnd.min(in_flight.saturating_add(window.mss));
            self.model.start_round();
        } else {
            window.cwnd = window.mss;
            self.model.forget_full_pipe();
        }
    }

    fn on_undo(&mut self, _: Time, _: &mut Window) {
        (self.limits.is_recovering, self.limits.is_conserving) = (false, false);
        self.model.forget_full_pipe();
    }

    fn on_recovered(&mut self, _: Time, window: &mut Window) {
        (self.limits.is_recovering, self.limits.is_conserving) = (false, false);
        self.limits.restore_cwnd(window);
    }

    /// Section 4.3.4.4: ProbeBW continues at the bottleneck's rate, without a burst.
    fn on_idle_end(&mut self, _: Time, window: &mut Window) {
        self.limits.is_idle_restart = true;
        if self.mode.is_probe_bw() {
            self.limits.pace(self.model.bandwidth_bps() as f64, true, window);
        }
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn needs_pacing(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(*self)
    }

    fn fold(&self, digest: &mut Digest) {
        self.model.fold(digest);
        self.mode.fold(digest);
        self.limits.fold(digest);
    }
}

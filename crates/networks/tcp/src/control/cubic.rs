//! `CUBIC`: the window is a cubic function of the time since the last congestion (RFC 9438).
//!
//! *References*: Xu, Ha, Rhee, Goel, Eggert: CUBIC for Fast and Long-Distance Networks, RFC 9438, 2023.
//! Ha, Rhee, Xu: CUBIC: a new TCP-friendly high-speed TCP variant, 2008.
//!
//! *Read next*: `curve` (RFC 9438), `counted` (ns-3), [`super::hystart`] (the end of slow start).

mod counted;
mod curve;

use super::hystart::{HyStart, HyStartState};
use super::{Ack, Congestion, CongestionControl, Window};
use counted::Counted;
use curve::Curve;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// Parameters of `CUBIC`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    /// The constant C of the curve, in segments per cubic second.
    pub c: f64,
    /// The factor by which congestion reduces the window.
    pub beta: f64,
    /// True if a flow whose window has shrunk releases bandwidth faster (RFC 9438, section 4.7).
    pub has_fast_convergence: bool,
    /// The arithmetic of congestion avoidance.
    pub arithmetic: Arithmetic,
    /// The end of slow start.
    pub hystart: HyStart,
    /// The largest number of segments that one acknowledgement adds in slow start.
    pub slow_start_limit: u32,
}

/// The arithmetic of `CUBIC`'s congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Real numbers, with the Reno-friendly region, as RFC 9438 defines.
    Real,
    /// Whole segments without a Reno-friendly region, as in ns-3.37. The window grows by one segment for each
    /// `cnt` segments that are acknowledged.
    Counted {
        /// The largest `cnt` before the first loss and after a timeout.
        count_max: u32,
        /// The time after the start of an epoch in which round trips are not used.
        unused_rtts: Delay,
    },
}

impl Cubic {
    /// Returns the parameters of RFC 9438, with the slow start of RFC 9406 for a sender that is not paced.
    #[must_use]
    pub const fn rfc9438() -> Cubic {
        Cubic {
            c: 0.4,
            beta: 0.7,
            has_fast_convergence: true,
            arithmetic: Arithmetic::Real,
            hystart: HyStart::PlusPlus,
            slow_start_limit: 8,
        }
    }

    /// Returns the parameters of ns-3.37's `TcpCubic`.
    #[must_use]
    pub const fn ns3() -> Cubic {
        Cubic {
            arithmetic: Arithmetic::Counted { count_max: 20, unused_rtts: Delay::from_ms(10) },
            hystart: HyStart::ns3(),
            slow_start_limit: u32::MAX,
            ..Cubic::rfc9438()
        }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn start(self) -> CubicState {
        let growth = match self.arithmetic {
            Arithmetic::Real => CubicGrowth::Real(Curve::new()),
            Arithmetic::Counted { .. } => CubicGrowth::Counted(Counted::new()),
        };
        CubicState { parameters: self, growth, before: None, hystart: self.hystart.start(), last_ack: Time::ZERO }
    }

    /// Returns a state that was read, with its parameters. `None` if it is no state of this algorithm.
    pub(super) fn resume(self, state: CubicState) -> Option<CubicState> {
        let fits = |growth: &CubicGrowth| match (growth, self.arithmetic) {
            (CubicGrowth::Real(curve), Arithmetic::Real) => curve.is_possible(),
            (CubicGrowth::Counted(counted), Arithmetic::Counted { .. }) => counted.is_possible(),
            _ => false,
        };
        let CubicState { growth, before, hystart, .. } = state;
        let hystart = self.hystart.resume(hystart)?;
        let is_possible = fits(&growth) && before.iter().all(fits);
        is_possible.then_some(CubicState { parameters: self, hystart, ..state })
    }
}

/// The state of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum CubicGrowth {
    Real(Curve),
    Counted(Counted),
}

/// The state of `CUBIC`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CubicState {
    #[serde(skip, default = "Cubic::rfc9438")]
    parameters: Cubic,
    growth: CubicGrowth,
    /// The state before the last reaction to congestion, to undo that reaction (RFC 9438, section 4.9).
    before: Option<CubicGrowth>,
    hystart: HyStartState,
    /// The time of the last acknowledgement, or of the end of the last idle period.
    last_ack: Time,
}

impl CubicState {
    /// Leaves the time since the last acknowledgement out of the epoch, because the application limited the
    /// window in that time (RFC 9438, section 5.8).
    fn exclude_until(&mut self, now: Time) {
        if let CubicGrowth::Real(curve) = &mut self.growth {
            curve.exclude(now.since(self.last_ack));
        }
    }

    /// Adds the acknowledged bytes to the window, at most `slow_start_limit` segments.
    fn slow_start(&self, ack: &Ack, window: &mut Window) {
        let most = self.parameters.slow_start_limit.saturating_mul(window.mss);
        window.cwnd = window.cwnd.saturating_add(ack.acked.min(most) / self.hystart.growth_divisor());
    }
}

impl CongestionControl for CubicState {
    fn on_start(&mut self, now: Time, _: &mut Window) {
        self.last_ack = now;
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if let CubicGrowth::Counted(counted) = &mut self.growth {
            counted.measure(&self.parameters, ack);
        }
        self.hystart.on_ack(ack, window);
        if !ack.is_window_limited {
            self.exclude_until(ack.now);
        }
        self.last_ack = ack.now;
        if ack.is_recovering || !ack.is_window_limited || ack.acked == 0 {
            return;
        }
        if window.is_slow_start() {
            self.slow_start(ack, window);
            return;
        }
        match &mut self.growth {
            CubicGrowth::Real(curve) => curve.grow(&self.parameters, ack, window),
            CubicGrowth::Counted(counted) => counted.grow(&self.parameters, ack, window),
        }
    }

    fn on_congestion(&mut self, congestion: Congestion, now: Time, _: u32, window: &mut Window) {
        self.before = Some(self.growth);
        match &mut self.growth {
            CubicGrowth::Real(curve) => curve.reduce(&self.parameters, congestion, window),
            CubicGrowth::Counted(counted) => counted.reduce(&self.parameters, congestion, window),
        }
        if congestion == Congestion::Timeout {
            self.hystart.restart(now);
        }
    }

    fn on_undo(&mut self, _: Time, _: &mut Window) {
        self.growth = self.before.take().unwrap_or(self.growth);
    }

    fn on_idle_end(&mut self, now: Time, _: &mut Window) {
        self.exclude_until(now);
        self.last_ack = now;
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(*self)
    }

    fn fold(&self, digest: &mut Digest) {
        match &self.growth {
            CubicGrowth::Real(curve) => curve.fold(digest),
            CubicGrowth::Counted(counted) => counted.fold(digest),
        }
        self.hystart.fold(digest);
        digest.word(self.last_ack.as_ps());
    }
}

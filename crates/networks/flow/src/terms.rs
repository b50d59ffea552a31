//! The models: what a flow has to wait for, and what it may take.

use parades_core::time::Delay;

/// How flows behave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Terms {
    /// Each flow takes this long, whatever it carries and whoever else sends.
    Constant(Delay),
    /// Flows wait for the latency of their route and then share its links.
    Shared(Sharing),
}

/// The constants of a model in which flows share links.
///
/// A flow over a route of latency `L` first waits `L × latency_factor`, and then moves its bytes at `bandwidth_factor` times the rate that
/// max-min fairness gives it. Its penalty is `L` and, for each link, `weight_s / bandwidth`; where `L` is zero, 1. Its rate is bounded by
/// the least bandwidth on the route and by `window / 2 L`.
///
/// *References*: H. Casanova, L. Marchal, *A Network Model for Simulation of Grid Application*, LIP 2002-40; P. Velho et al., *On the
/// Validity of Flow-Level TCP Network Models for Grid and Cloud Simulations*, ACM TOMACS, 2013.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// What a route's latency is multiplied by to give the time before the first byte moves: TCP's slow start, on average.
    pub latency_factor: f64,
    /// The share of a rate that carries payload.
    pub bandwidth_factor: f64,
    /// Bytes: how much a link of little bandwidth counts as latency, in penalties.
    pub weight_s: f64,
    /// Bytes that may be on their way without acknowledgement: the greatest window of TCP.
    pub window: f64,
    /// The share of its rate that a flow takes on each link of the way back: acknowledgements. Zero for none.
    pub cross_traffic: f64,
}

/// The greatest window unless it is set: 4 MiB.
const WINDOW: f64 = 4_194_304.0;

impl Sharing {
    /// The model of Casanova and Marchal, with cross-traffic.
    pub const CM02: Sharing =
        Sharing { latency_factor: 1.0, bandwidth_factor: 1.0, weight_s: 0.0, window: WINDOW, cross_traffic: 0.05 };
    /// The same with the constants that Velho and Legrand fitted to packet-level simulations.
    pub const LV08: Sharing = Sharing {
        latency_factor: 13.01,
        bandwidth_factor: 0.97,
        weight_s: 20537.0,
        window: WINDOW,
        cross_traffic: 0.05,
    };
    /// The same without cross-traffic.
    pub const LV08_NOCT: Sharing = Sharing { cross_traffic: 0.0, ..Sharing::LV08 };
}

impl Terms {
    /// The names of the models, as [`Terms::named`] takes them.
    pub const NAMES: [&'static str; 4] = ["CM02", "LV08", "LV08-noct", "constant"];

    /// The model of this name; `latency` is for `constant`.
    ///
    /// ```
    /// use parades_core::time::Delay;
    /// use parades_flow::terms::{Sharing, Terms};
    /// assert_eq!(Terms::named("LV08", Delay::ZERO), Some(Terms::Shared(Sharing::LV08)));
    /// assert_eq!(Terms::named("constant", Delay::from_ms(1)), Some(Terms::Constant(Delay::from_ms(1))));
    /// assert_eq!(Terms::named("LV80", Delay::ZERO), None);
    /// ```
    pub fn named(name: &str, latency: Delay) -> Option<Terms> {
        Some(match name {
            "CM02" => Terms::Shared(Sharing::CM02),
            "LV08" => Terms::Shared(Sharing::LV08),
            "LV08-noct" => Terms::Shared(Sharing::LV08_NOCT),
            "constant" => Terms::Constant(latency),
            _ => return None,
        })
    }
}

//! Network models: the latency, the penalty and the bound of a flow.

use crate::solver::PRECISION;
use parades_core::time::Delay;

/// How long flows take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NetworkModel {
    /// Each flow takes this time, whatever its size and whatever other flows exist.
    Constant(Delay),
    /// Flows wait for the latency of their route, and then share the links max-min fairly.
    MaxMin(MaxMinModel),
}

/// The constants of a model in which flows share links.
///
/// A flow on a route of latency `L` seconds waits for `L × latency_factor`. Then it sends its bytes at
/// `bandwidth_factor` times its max-min fair rate. Its variable in the [`crate::solver::System`] has:
///
/// - as penalty the sum of `L` and, for each link of the route, `weight_s / bandwidth`; or 1 if `L` is zero;
/// - as bound the lesser of the least bandwidth on the route and `window / 2 L`.
///
/// *References*: H. Casanova, L. Marchal, *A Network Model for Simulation of Grid Application*, LIP 2002-40;
/// P. Velho et al., *On the Validity of Flow-Level TCP Network Models for Grid and Cloud Simulations*, ACM
/// TOMACS, 2013.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxMinModel {
    /// The time before the first byte is sent, in latencies of the route. It stands for TCP's slow start, on
    /// average.
    pub latency_factor: f64,
    /// The payload's share of the rate, below 1 for the headers' share.
    pub bandwidth_factor: f64,
    /// The influence of a link's bandwidth on penalties, in bytes: a link of bandwidth `B` counts like a
    /// latency of `weight_s / B` seconds.
    pub weight_s: f64,
    /// The greatest window of TCP: the number of bytes that may be sent and not yet acknowledged.
    pub window: f64,
    /// The acknowledgements: the share of a flow's rate that it takes on each link of the reverse route. 0
    /// for none.
    pub cross_traffic: f64,
    /// The precision of rates: a link of which less than this share is left counts as full. SimGrid's
    /// `maxmin/precision`.
    pub precision: f64,
}

/// The default window: 4 MiB, in bytes.
const WINDOW: f64 = 4_194_304.0;

impl MaxMinModel {
    /// The model of Casanova and Marchal, with cross-traffic.
    pub const CM02: MaxMinModel = MaxMinModel {
        latency_factor: 1.0,
        bandwidth_factor: 1.0,
        weight_s: 0.0,
        window: WINDOW,
        cross_traffic: 0.05,
        precision: PRECISION,
    };
    /// The same model with the constants that Velho and Legrand fitted to packet-level simulations.
    pub const LV08: MaxMinModel = MaxMinModel {
        latency_factor: 13.01,
        bandwidth_factor: 0.97,
        weight_s: 20537.0,
        window: WINDOW,
        cross_traffic: 0.05,
        precision: PRECISION,
    };
    /// LV08 without cross-traffic.
    pub const LV08_NOCT: MaxMinModel = MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::LV08 };
}

impl NetworkModel {
    /// Returns true if flows use the routes of the platform.
    pub fn uses_routes(&self) -> bool {
        matches!(self, NetworkModel::MaxMin(_))
    }

    /// The names that [`NetworkModel::named`] accepts.
    pub const NAMES: [&'static str; 4] = ["CM02", "LV08", "LV08-noct", "constant"];

    /// Returns the model of this name. `latency` is the time that each flow takes under `constant`.
    ///
    /// ```
    /// use parades_core::time::Delay;
    /// use parades_flow::network_model::{MaxMinModel, NetworkModel};
    /// assert_eq!(NetworkModel::named("LV08", Delay::ZERO), Some(NetworkModel::MaxMin(MaxMinModel::LV08)));
    /// assert_eq!(
    ///     NetworkModel::named("constant", Delay::from_ms(1)),
    ///     Some(NetworkModel::Constant(Delay::from_ms(1)))
    /// );
    /// assert_eq!(NetworkModel::named("LV80", Delay::ZERO), None);
    /// ```
    pub fn named(name: &str, latency: Delay) -> Option<NetworkModel> {
        Some(match name {
            "CM02" => NetworkModel::MaxMin(MaxMinModel::CM02),
            "LV08" => NetworkModel::MaxMin(MaxMinModel::LV08),
            "LV08-noct" => NetworkModel::MaxMin(MaxMinModel::LV08_NOCT),
            "constant" => NetworkModel::Constant(latency),
            _ => return None,
        })
    }
}

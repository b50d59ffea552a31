//! `wan`: any topology under gravity traffic.
//!
//! # Ends of flows
//!
//! Each node has a weight. A flow draws its source and destination, two different nodes, with a probability
//! proportional to the product of their weights. Packets follow least-delay paths; flows spread over equal
//! ones.
//!
//! # Rates
//!
//! Real topologies mix links of kilobits and of terabits. A flow's rate is proportional to the slowest link
//! of its path, as if its users had bought access to match. The factor is the same for all flows: the most
//! loaded link is offered [`Parameters::load`] of its rate. If all flows together would then send more than
//! [`Parameters::packets_per_s`], all are slowed down by the same factor. So a virtual second costs a bounded
//! number of events on any network. [`Wan::load`] is the resulting load.
//!
//! # Times
//!
//! Flows never end, and begin as if they had always been sending: constant flows at a random moment of a gap
//! between two packets, on/off flows in their stationary state. So the offered load is stationary from the
//! start. Queues need a while to fill.
//!
//! Everything is drawn from the seed, by the shared stream [`TRAFFIC_STREAM`].

use crate::flow::{Flow, Limit};
use crate::network::{Network, NetworkError, PATHS_MEANING, SAMPLE_MEANING, Settings, assemble};
use crate::packet::direction;
use crate::queue::QueueLimit;
use crate::traffic::{Pattern, Period, Sizes};
use parades_config::Words;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_topology::routing::{Metric, Paths, Routes, Rules, StaticRoutes};
use parades_topology::{NodeId, Topology};

/// The purpose of the shared random stream from which flows are drawn.
pub const TRAFFIC_STREAM: u32 = 1;

/// The weight of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// The sum of its links' rates.
    Rate,
    /// The number of its links.
    Degree,
    /// The weight 1.
    Equal,
}

impl Words for Weights {
    const WORDS: &'static [(&'static str, Weights)] =
        &[("rate", Weights::Rate), ("degree", Weights::Degree), ("equal", Weights::Equal)];
}

/// The patterns of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// A constant rate.
    Constant,
    /// A Poisson process.
    Poisson,
    /// Twice the rate in exponential on periods, and off periods of the same mean between them.
    OnOff,
}

impl Words for Arrivals {
    const WORDS: &'static [(&'static str, Arrivals)] =
        &[("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson), ("on-off", Arrivals::OnOff)];
}

/// The parameters.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of flows.
    #[parameter(
        integer, default = 1000, range = 1..=100_000_000,
        meaning = "number of flows; their ends are drawn by the nodes' weights"
    )]
    pub flows: u32,
    /// The offered load of the most loaded link, as a share of its rate. More than 1 is overload.
    #[parameter(
        float, changeable, default = 0.95, range = 0.0..=1000.0, positive,
        meaning = "load offered to the most loaded link, as a share of its rate"
    )]
    pub load: f64,
    /// The largest number of packets that all flows together send in a second, on average.
    #[parameter(
        float, changeable, default = 200_000.0, range = 0.0..=1e12, positive,
        meaning = "greatest mean number of packets that all flows together send in a second"
    )]
    pub packets_per_s: f64,
    /// The weights of nodes.
    #[parameter(choice, default = "rate", meaning = "weight of a node: its links' rates, their number, or 1")]
    pub weights: Weights,
    /// The pattern of flows.
    #[parameter(choice, default = "poisson", meaning = "the process by which flows send")]
    pub arrivals: Arrivals,
    /// The mean duration of the on periods, and of the off periods, with [`Arrivals::OnOff`].
    #[parameter(
        duration, changeable, default = Delay::from_ms(100), positive,
        needs = "arrivals=on-off", meaning = "mean duration of the on periods, and of the off periods, of on-off flows"
    )]
    pub period: Delay,
    /// The payload of packets.
    #[parameter(
        size,
        key = "packet",
        default = 0,
        meaning = "payload of packets; 0: the Internet mix of 40, 576 and 1500 bytes at 7 : 4 : 1, headers \
                   included"
    )]
    pub sizes: Sizes,
    /// The measure of a path's length.
    #[parameter(choice, key = "routing", default = "delay", meaning = "measure of the length of a path")]
    pub metric: Metric,
    /// The paths that flows may take.
    #[parameter(choice, default = "ecmp", meaning = PATHS_MEANING)]
    pub paths: Paths,
    /// The limit of every queue.
    #[parameter(
        integer, changeable, default = 100, range = 0..=1_000_000_000,
        meaning = "greatest number of packets in the queue of an interface"
    )]
    pub queue: QueueLimit,
    /// The probability of loss of each link. Links beyond the end of the list lose no packet.
    #[parameter(skip, default = Vec::new())]
    pub losses: Vec<f64>,
    /// Headers of a packet, in bytes.
    #[parameter(size, default = 30, meaning = "headers of a packet: UDP 8, IP 20, PPP 2")]
    pub headers: u32,
    /// The time between two samples; zero for none.
    #[parameter(duration, default = Delay::ZERO, meaning = SAMPLE_MEANING)]
    pub sample: Delay,
}

/// A network under gravity traffic.
#[derive(Debug)]
pub struct Wan {
    /// The model.
    pub network: Network,
    /// The offered load of the most loaded link: the parameter, or less if the limit on packets lowers it.
    pub load: f64,
    /// The packets that all flows together send in a second, on average.
    pub packets_per_s: f64,
}

impl Parameters {
    /// Makes traffic on `topology`, drawn from the seed of the run.
    ///
    /// # Errors
    ///
    /// If the network has fewer than two nodes, or a parameter is impossible.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_packet::wan::Parameters;
    /// use parades_topology::generators::backbone;
    /// let wan = Parameters { load: 0.5, ..Parameters::default() }.build(backbone(), 1)?;
    /// assert_eq!(wan.network.flows().len(), 1000);
    /// assert_eq!(wan.load, 0.5);
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn build(&self, topology: Topology, seed: u64) -> Result<Wan, NetworkError> {
        self.check(&topology)?;
        topology.connected()?;
        let rng = Rng::shared(seed, TRAFFIC_STREAM);
        let gravity = Gravity::new(&topology, self.weights);
        let ends: Vec<_> = (0..self.flows).map(|_| gravity.draw(&rng)).collect();
        let rules = Rules { metric: self.metric, paths: self.paths, statics: &StaticRoutes::default() };
        let directions: Vec<u32> = (0..self.flows).map(|flow| direction(flow, false)).collect();
        let routes = Routes::by_rules(&topology, &ends, &directions, rules)?;
        let demand = Demand::new(&topology, &ends, &routes);
        let bits_per_packet = (self.sizes.mean() + f64::from(self.headers)) * 8.0;
        let packets = |factor: f64| factor * demand.total_bps / bits_per_packet;
        let wanted = self.load / demand.load_max;
        let slowdown = (self.packets_per_s / packets(wanted)).min(1.0);
        let factor = wanted * slowdown;
        let flow = |(&(source, destination), &share_bps): (&(NodeId, NodeId), &f64)| {
            let packets_per_s = factor * share_bps / bits_per_packet;
            let (pattern, start) = self.pattern(packets_per_s, &rng)?;
            let sizes = self.sizes.clone();
            Ok(Flow { source, destination, start, limit: Limit::Never, sizes, pattern })
        };
        let flows: Result<Vec<Flow>, NetworkError> = ends.iter().zip(&demand.shares_bps).map(flow).collect();
        let Parameters { headers, metric, paths, queue, sample, .. } = *self;
        let losses = self.losses.clone();
        let settings = Settings { headers, metric, paths, queue: queue.into(), losses, sample, ..Settings::default() };
        let network = assemble::of_flows(topology, flows?, settings, Some(&routes))?.into();
        Ok(Wan { network, load: self.load * slowdown, packets_per_s: packets(factor) })
    }

    fn check(&self, topology: &Topology) -> Result<(), NetworkError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let wrong = if topology.nodes() < 2 {
            "traffic needs two nodes; give a topology that has them"
        } else if self.flows == 0 {
            "`flows` must be at least 1"
        } else if !positive(self.load) {
            "`load` must be a number above 0"
        } else if !positive(self.packets_per_s) {
            "`packets_per_s` must be a number above 0"
        } else if self.sizes.least().is_none_or(|least| least == 0) {
            "`sizes` must all be at least 1 byte"
        } else if self.arrivals == Arrivals::OnOff && self.period == Delay::ZERO {
            "`period` must be above 0"
        } else {
            return Ok(());
        };
        Err(NetworkError::Parameter(wrong.into()))
    }

    /// Returns the pattern and the start of a flow of this rate.
    fn pattern(&self, packets_per_s: f64, rng: &Rng) -> Result<(Pattern, Time), NetworkError> {
        // A gap of 213 days is longer than a run can be.
        let gap = Delay::try_from_secs_f64(1.0 / packets_per_s).filter(|&gap| gap > Delay::ZERO);
        let too_far = || {
            let what =
                format!("a flow would send {packets_per_s} packets a second; choose `load` so that it is possible");
            NetworkError::Parameter(what)
        };
        let mean_gap = gap.ok_or_else(too_far)?;
        let rate = packets_per_s * self.sizes.mean() * 8.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates; at least 1")]
        let whole = |bps: f64| bps.round().max(1.0) as u64;
        Ok(match self.arrivals {
            Arrivals::Poisson => (Pattern::Poisson { mean_gap }, Time::ZERO),
            Arrivals::Constant => {
                let rate_bps = whole(rate);
                let residual = self.sizes.residual_gap(rate_bps, rng);
                (Pattern::Constant { rate_bps }, Time::ZERO.checked_add(residual).unwrap_or(Time::MAX))
            }
            Arrivals::OnOff => {
                let period = || Period::Exponential(self.period);
                let rate_bps = whole(2.0 * rate);
                (Pattern::OnOff { rate_bps, on: period(), off: period() }, Time::ZERO)
            }
        })
    }
}

/// The distribution of pairs of nodes.
#[derive(Debug)]
struct Gravity {
    weights: Vec<u64>,
    /// Running sums of weights, for destinations.
    cumulative: Vec<u64>,
    /// Running sums of each weight times the weight of all other nodes, for sources.
    cumulative_products: Vec<u64>,
}

/// The sum to which all weights are scaled, approximately. A connected network has at most 2^31 nodes, and
/// each keeps a weight of at least 1. So the sum stays below 2^32, and the sum of products below 2^64.
const TOTAL_WEIGHT: u128 = 1 << 30;

impl Gravity {
    fn new(topology: &Topology, weights: Weights) -> Gravity {
        let rate = |node| -> u128 {
            let links = topology.interfaces(node).iter();
            links.map(|end| u128::from(topology.link(end.link).rate_bps)).sum()
        };
        let weight = |node| match weights {
            Weights::Rate => rate(node),
            Weights::Degree => topology.interfaces(node).len() as u128,
            Weights::Equal => 1,
        };
        let total: u128 = topology.node_ids().map(weight).sum();
        let divisor = total.div_ceil(TOTAL_WEIGHT).max(1);
        let scaled = |node| u64::try_from(weight(node) / divisor).unwrap_or(u64::MAX).max(1);
        let weights: Vec<u64> = topology.node_ids().map(scaled).collect();
        let total: u64 = weights.iter().sum();
        let cumulative = running_sums(weights.iter().copied());
        let cumulative_products = running_sums(weights.iter().map(|weight| weight * (total - weight)));
        Gravity { weights, cumulative, cumulative_products }
    }

    /// Draws two different nodes: the source by its weight times the weight of all others, then the
    /// destination among the others by its weight.
    fn draw(&self, rng: &Rng) -> (NodeId, NodeId) {
        let total = |of: &[u64]| of.last().copied().unwrap_or(0);
        let source = index_of(&self.cumulative_products, rng.below(total(&self.cumulative_products)));
        let own = self.weights[source];
        let mut at = rng.below(total(&self.cumulative) - own);
        // The source's own share is cut out.
        if at >= self.cumulative[source] - own {
            at += own;
        }
        let node = |index| NodeId(u32::try_from(index).expect("a topology's nodes are counted in 32 bits"));
        (node(source), node(index_of(&self.cumulative, at)))
    }
}

fn running_sums(of: impl Iterator<Item = u64>) -> Vec<u64> {
    of.scan(0, |sum, next| {
        *sum += next;
        Some(*sum)
    })
    .collect()
}

/// Returns the first place whose running sum is above `at`.
fn index_of(cumulative: &[u64], at: u64) -> usize {
    cumulative.partition_point(|&sum| sum <= at)
}

/// The demand of flows, if each were as fast as the slowest link of its path.
#[derive(Debug)]
struct Demand {
    /// Bits a second of each flow.
    shares_bps: Vec<f64>,
    total_bps: f64,
    /// The offered load of the most loaded link, as a share of its rate.
    load_max: f64,
}

impl Demand {
    fn new(topology: &Topology, ends: &[(NodeId, NodeId)], routes: &Routes) -> Demand {
        let mut offered_bps = vec![0.0; topology.interface_count()];
        let mut shares_bps = Vec::with_capacity(ends.len());
        for (flow, &(source, _)) in ends.iter().enumerate() {
            let way = || topology.follow(source, routes.route(flow));
            let slowest = way().map(|end| topology.link(end.link).rate_bps).min().unwrap_or(1);
            let mut at = source;
            for (&number, end) in routes.route(flow).iter().zip(way()) {
                offered_bps[topology.first_interface(at) + number as usize] += slowest as f64;
                at = end.neighbour;
            }
            shares_bps.push(slowest as f64);
        }
        let all = topology.node_ids().flat_map(|node| topology.interfaces(node));
        let loads = all.zip(&offered_bps).map(|(end, bps)| bps / topology.link(end.link).rate_bps as f64);
        let load_max = loads.fold(0.0, f64::max);
        let total_bps = shares_bps.iter().sum();
        Demand { shares_bps, total_bps, load_max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_topology::Link;

    #[test]
    fn pairs_are_drawn_by_the_product_of_their_weights() {
        // A path a - b - c - d with rates 1, 2 and 6: weights 1, 3, 8, 6.
        let link = |a, b, rate_bps| Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: Delay::from_us(1) };
        let links = vec![link(0, 1, 1), link(1, 2, 2), link(2, 3, 6)];
        let topology = Topology::new(&["a", "b", "c", "d"], links).expect("a path");
        let gravity = Gravity::new(&topology, Weights::Rate);
        let weights = [1.0, 3.0, 8.0, 6.0];
        let all: f64 = (0..4)
            .flat_map(|s| (0..4).map(move |d| (s, d)))
            .filter(|(s, d)| s != d)
            .map(|(s, d)| weights[s] * weights[d])
            .sum();
        let mut counts = [[0_u32; 4]; 4];
        let rng = Rng::shared(5, TRAFFIC_STREAM);
        const DRAWS: u32 = 200_000;
        for _ in 0..DRAWS {
            let (source, destination) = gravity.draw(&rng);
            counts[source.index()][destination.index()] += 1;
        }
        for source in 0..4 {
            for destination in 0..4 {
                let expected = if source == destination { 0.0 } else { weights[source] * weights[destination] / all };
                let share = f64::from(counts[source][destination]) / f64::from(DRAWS);
                assert!(
                    (share - expected).abs() < 4.5 * (expected / f64::from(DRAWS)).sqrt() + 1e-12,
                    "{source} {destination}"
                );
            }
        }
    }
}

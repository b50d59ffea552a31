//! Averaging by gossip: pairs of nodes replace their two values by the mean, until every node has the mean of
//! all values.
//!
//! Once a cycle each node draws another node and sends it its value. The two nodes take the mean of their
//! values. With values 1 at one node and 0 at all others, the mean is one over the number of nodes: so each
//! node learns the size of the network ([`Values::Peak`]).
//!
//! # The sum
//!
//! Values are integers, in units of 1 / [`UNIT`]. The sum of all values never changes:
//!
//! - The mean of an odd sum is no integer. The receiver takes the half rounded down, the node that began the
//!   exchange the rest.
//! - Exchanges do not overlap. From its request to the answer a node refuses requests of other nodes. So its
//!   value cannot change between the two.
//!
//! A lost answer changes the sum, because one of the two nodes has taken the mean. An exchange without an
//! answer is given up after [`Parameters::timeout`]. If no exchange was given up or is still open, the run
//! ends with an error unless the sum is that of the start.
//!
//! # The schedule
//!
//! In each cycle each node starts at a random time within the first nine tenths of the cycle. So no exchange
//! crosses the end of a cycle while a round trip takes less than a tenth of it, and the values that are
//! measured there have exactly the first sum.
//!
//! Theory: a node takes part in 1 + φ exchanges a cycle: one of its own, and φ of other nodes, with φ Poisson
//! distributed of mean 1. Each exchange halves the node's part in the variance. So each cycle multiplies the
//! variance by E[2^-(1 + φ)] = 1 / (2√e) = 0.3033. The derivation needs a start of each node in each cycle,
//! an independent order of the starts, and partners drawn from all nodes. A random time in each cycle gives
//! the order. Refused exchanges make the factor greater: [`Averaging::factor`] has the formula. So latency
//! should be far below the cycle.
//!
//! # Measures
//!
//! The values at the end of each cycle go into a tally of integers, whose sums are exact. So variances do not
//! depend on the order in which an engine visits the nodes. The table `cycles` has the mean, the standard
//! deviation and the factor of each cycle.
//!
//! *References*: M. Jelasity, A. Montresor, O. Babaoglu, "Gossip-Based Aggregation in Large Dynamic
//! Networks", ACM Transactions on Computer Systems 23(3), 2005, sections 3 and 4 (the factor) and 7 (refused
//! exchanges).
//!
//! *Read next*: `averaging/machine.rs`.

mod machine;
mod protocol;
mod report;

pub use machine::{MESSAGE_BYTES, Machine, Message};

use crate::{Invalid, NODES_MAX};
use parades_config::Words;
use parades_core::metrics::Metrics;
use parades_core::time::{Delay, Time};
use report::Ids;

/// The value 1.0, in units of values.
pub const UNIT: u64 = 1 << 40;

/// The greatest number of cycles. Each cycle has a tally of its own.
pub const CYCLES_MAX: u32 = 1000;

/// The values of the nodes at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Drawn from 0 to 1, each value equally likely.
    Uniform,
    /// Node 0 has 1, and all others have 0. The nodes estimate their number.
    Peak,
}

impl Words for Values {
    const WORDS: &'static [(&'static str, Values)] = &[("uniform", Values::Uniform), ("peak", Values::Peak)];
}

/// The parameters of a simulation of averaging.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::averaging::{Averaging, Parameters};
/// use parades_p2p::driver::AsModel;
///
/// let averaging = Averaging::new(Parameters { nodes: 2000, ..Parameters::default() }).expect("possible");
/// let end = averaging.end();
/// let model = AsModel::new(averaging, Constant::new(Delay::from_us(100)));
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(end))?;
/// let tally = |name| outcome.metrics.get(name).and_then(|metric| metric.tally()).expect("it is declared");
/// assert_eq!(tally("after_cycle_20").sum(), tally("after_cycle_0").sum());
/// assert!(tally("after_cycle_20").deviation() < tally("after_cycle_0").deviation().map(|start| start / 10_000.0));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of nodes, 2 at least.
    #[parameter(integer, default = 1000, range = 2..=NODES_MAX, meaning = "number of nodes")]
    pub nodes: u32,
    /// The number of cycles, 1 to [`CYCLES_MAX`].
    #[parameter(
        integer, default = 20, range = 1..=CYCLES_MAX as u64,
        meaning = "number of cycles; in each, every node begins one exchange"
    )]
    pub cycles: u32,
    /// The length of a cycle.
    #[parameter(
        duration, default = Delay::from_secs(100), positive,
        meaning = "length of a cycle; latencies should be far below it"
    )]
    pub cycle: Delay,
    /// The time after which a node gives up an exchange that has not been answered. It does so at its next
    /// start. Until then it begins no other exchange.
    #[parameter(
        duration, changeable, default = Delay::from_secs(1000), positive,
        meaning = "time after which an exchange without an answer is given up; only loss and partitions need it"
    )]
    pub timeout: Delay,
    /// The values at the start.
    #[parameter(
        choice,
        default = "uniform",
        meaning = "values at the start: drawn from 0 to 1; or 1 at one node and 0 elsewhere, from which nodes learn \
                   their number"
    )]
    pub values: Values,
}

/// The protocol: parameters that have been checked.
#[derive(Debug)]
pub struct Averaging {
    parameters: Parameters,
    ids: Ids,
}

impl Averaging {
    /// Makes the protocol of these parameters.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters) -> Result<Averaging, Invalid> {
        let Parameters { nodes, cycles, cycle, timeout, .. } = parameters;
        if nodes < 2 {
            return Err(("nodes", format!("averaging takes 2 nodes at least, not {nodes}")));
        }
        if !(1..=CYCLES_MAX).contains(&cycles) {
            return Err(("cycles", format!("there are 1 to {CYCLES_MAX} cycles, not {cycles}")));
        }
        for (name, delay) in [("cycle", cycle), ("timeout", timeout)] {
            if delay == Delay::ZERO {
                return Err((name, format!("`{name}` must be above zero")));
            }
        }
        if cycle.as_ps().checked_mul(u64::from(cycles) + 1).is_none() {
            return Err(("cycle", format!("{cycles} cycles would end after the end of virtual time")));
        }
        let ids = Ids::declare(&mut Metrics::new(), &parameters);
        Ok(Averaging { parameters, ids })
    }

    /// Returns the parameters.
    #[inline]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the end of the last cycle.
    pub fn end(&self) -> Time {
        self.boundary(self.parameters.cycles)
    }

    /// Returns the factor by which theory multiplies the variance each cycle, if a fraction `refused` of the
    /// requests is refused. A node then takes part in an exchange of its own with probability `1 - refused`,
    /// and in a Poisson number of others of that mean.
    ///
    /// ```
    /// use parades_p2p::averaging::Averaging;
    ///
    /// assert!((Averaging::factor(0.0) - 0.3033).abs() < 0.0001);
    /// assert!(Averaging::factor(0.1) > 0.33);
    /// ```
    pub fn factor(refused: f64) -> f64 {
        (1.0 + refused) / 2.0 * libm::exp((refused - 1.0) / 2.0)
    }

    /// Returns the beginning of a cycle. The cycle before it ends then.
    #[inline]
    fn boundary(&self, cycle: u32) -> Time {
        Time::from_ps(self.parameters.cycle.as_ps() * u64::from(cycle))
    }
}

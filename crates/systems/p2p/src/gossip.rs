//! Gossip: rumours that nodes push to, or pull from, random other nodes.
//!
//! Every node calls [`Parameters::fanout`] random other nodes each period.
//!
//! | direction | a call |
//! |---|---|
//! | [`Direction::Push`] | carries the rumours that the caller still spreads |
//! | [`Direction::Pull`] | says which rumours the caller knows; the answer carries the others |
//! | [`Direction::PushPull`] | does both |
//!
//! In the direction push, nodes can lose interest ([`Parameters::interest`]). The called node then says which
//! rumours it knew already. For each of these, the caller stops to spread it with probability `1 / interest`.
//! Some nodes never hear such a rumour. With one call a period that fraction `s` solves
//! `s = e^(-(interest + 1) (1 - s))`: 20 % for 1, 6 % for 2.
//!
//! Theory, with one call a period and all calls at once: push needs `log2 n + ln n + O(1)` periods until all
//! nodes know a rumour, and push–pull `log3 n + O(ln ln n)`.
//!
//! Rumour `r` begins at node `r mod nodes`, [`Parameters::spacing`] after the one before it.
//!
//! *References*: A. Demers et al., "Epidemic Algorithms for Replicated Database Maintenance", PODC 1987,
//! section 1.4 (loss of interest). B. Pittel, "On Spreading a Rumor", SIAM Journal on Applied Mathematics
//! 47(1), 1987. R. Karp, C. Schindelhauer, S. Shenker, B. Vöcking, "Randomized Rumor Spreading", FOCS 2000.
//!
//! *Read next*: `gossip/machine.rs`.

mod machine;
mod message;
mod protocol;
mod report;

pub use machine::Machine;
pub use message::{HEADER_BYTES, ID_BYTES, Message};

use crate::{Invalid, NODES_MAX};
use parades_config::Words;
use parades_core::metrics::Metrics;
use parades_core::time::{Delay, Time};
use report::Ids;

/// The greatest number of rumours. Every node has a bit for each.
pub const RUMOURS_MAX: u32 = 1 << 20;

/// The direction in which rumours move in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the caller to the called node.
    Push,
    /// From the called node to the caller.
    Pull,
    /// Both.
    PushPull,
}

impl Words for Direction {
    const WORDS: &'static [(&'static str, Direction)] =
        &[("push", Direction::Push), ("pull", Direction::Pull), ("push-pull", Direction::PushPull)];
}

/// The times at which nodes call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// All nodes at once, at multiples of the period.
    InRounds,
    /// Each node once a period, from a random time within the first period on.
    AtRandomPhases,
}

impl Words for Calls {
    const WORDS: &'static [(&'static str, Calls)] =
        &[("random-phases", Calls::AtRandomPhases), ("rounds", Calls::InRounds)];
}

/// The parameters of a simulation of gossip.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::driver::AsModel;
/// use parades_p2p::gossip::{Gossip, Parameters};
///
/// let gossip = Gossip::new(Parameters { nodes: 500, ..Parameters::default() }).expect("possible");
/// let model = AsModel::new(gossip, Constant::new(Delay::from_ms(10)));
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(30)))?;
/// let heard = outcome.metrics.get("latency").and_then(|metric| metric.histogram()).expect("it is declared");
/// assert_eq!(heard.tally().count(), 499);
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of nodes, 2 at least.
    #[parameter(integer, default = 1000, range = 2..=NODES_MAX, meaning = "number of nodes")]
    pub nodes: u32,
    /// The direction of rumours in a call.
    #[parameter(
        choice,
        key = "protocol",
        default = "push",
        meaning = "direction of rumours in a call: to the called node, from it, or both; see also the \
                   scenario `gossipsub`"
    )]
    pub direction: Direction,
    /// The number of calls that a node makes each period.
    #[parameter(integer, changeable, default = 1, range = 1..=1_000_000, meaning = "number of nodes that a node calls each period")]
    pub fanout: u32,
    /// The time between a node's calls.
    #[parameter(duration, changeable, default = Delay::from_secs(1), positive, meaning = "time between a node's calls")]
    pub period: Delay,
    /// The times of calls.
    #[parameter(
        choice,
        default = "random-phases",
        meaning = "each node begins at a random time within the first period; or all call at once"
    )]
    pub calls: Calls,
    /// The number of rumours, 1 to [`RUMOURS_MAX`].
    #[parameter(
        integer, default = 1, range = 1..=RUMOURS_MAX as u64,
        meaning = "number of rumours; rumour `r` begins at node `r mod nodes`"
    )]
    pub rumours: u32,
    /// The time between the beginnings of two rumours.
    #[parameter(duration, default = Delay::from_secs(1), needs = "rumours>1", meaning = "time between the beginnings of two rumours")]
    pub spacing: Delay,
    /// The length of a rumour in bytes.
    #[parameter(integer, changeable, default = 100, range = 0..=1_000_000_000, meaning = "length of a rumour in bytes")]
    pub rumour_bytes: u32,
    /// The mean number of calls to nodes that know a rumour already, after which a node stops to spread it;
    /// `None`: never. Only in the direction push.
    #[parameter(
        integer, default = 0, range = 0..=1_000_000,
        needs = "protocol=push", meaning = "mean number of calls to nodes that know a rumour, after which a node stops to push it; \
                   0: it never stops"
    )]
    pub interest: Option<u32>,
}

/// The protocol: parameters that have been checked.
#[derive(Debug)]
pub struct Gossip {
    parameters: Parameters,
    ids: Ids,
}

impl Gossip {
    /// Makes the protocol of these parameters.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters) -> Result<Gossip, Invalid> {
        let Parameters { nodes, direction, fanout, period, rumours, spacing, interest, .. } = parameters;
        if nodes < 2 {
            return Err(("nodes", format!("gossip takes 2 nodes at least, not {nodes}")));
        }
        if fanout == 0 {
            return Err(("fanout", "a node calls one node at least each period".into()));
        }
        if period == Delay::ZERO {
            return Err(("period", "`period` must be above zero, or time would stand still".into()));
        }
        if !(1..=RUMOURS_MAX).contains(&rumours) {
            return Err(("rumours", format!("there are 1 to {RUMOURS_MAX} rumours, not {rumours}")));
        }
        if spacing.as_ps().checked_mul(u64::from(rumours)).is_none() {
            return Err(("spacing", "the last rumour would begin after the end of virtual time".into()));
        }
        match (interest, direction) {
            (Some(0), _) => return Err(("interest", "nodes lose interest after one call at the earliest".into())),
            (Some(_), Direction::Pull | Direction::PushPull) => {
                return Err(("interest", "nodes lose interest only in the direction push".into()));
            }
            _ => {}
        }
        Ok(Gossip { parameters, ids: Ids::declare(&mut Metrics::new()) })
    }

    /// Returns the parameters.
    #[inline]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the time at which a rumour begins.
    #[inline]
    pub fn beginning(&self, rumour: u32) -> Time {
        Time::from_ps(self.parameters.spacing.as_ps() * u64::from(rumour))
    }
}

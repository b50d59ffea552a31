//! Kademlia: look-ups by XOR distance in about log n steps, with α requests in flight.
//!
//! A node keeps a *k-bucket* of at most *k* contacts for each length of the prefix that they share with its
//! own identifier. A look-up asks the closest known nodes for their contacts that are closest to the target,
//! until the closest nodes have all answered.
//!
//! | part of the paper | here |
//! |---|---|
//! | 2.1 distance by XOR, identifiers | [`Space`]: 64 bits, computed from the node's number |
//! | 2.2 k-buckets, least recently seen first | [`Table`] |
//! | 2.2 a full bucket pings its oldest contact | only an oldest contact that was not heard of for [`Parameters::questionable`] |
//! | 4.1 replacement cache; unresponsive contacts are replaced | [`Table`] |
//! | 2.3 look-up with α requests in flight; STORE at the k closest | [`machine`] |
//! | 2.3 join: look up oneself, then refresh the buckets further away | [`machine`] |
//! | 2.3, 2.5 refresh of idle buckets, republishing, expiry | [`Parameters::refresh`], [`Parameters::republish`], [`Parameters::expire`] |
//!
//! Not here: the caching of values along a path (2.3), and buckets for several bits at once (4.2).
//!
//! # Judging look-ups
//!
//! A look-up is *right* if it found the closest node of all.
//!
//! - Without churn it is judged at its end, against all nodes, if it began [`Parameters::settle`] after the
//!   last node came.
//! - Under churn all look-ups are judged at the end of the run. A look-up is wrong if some node was a member
//!   during the whole look-up and is closer than the node that was found. A node is a member from the end of
//!   its join to the end of its session.
//!
//! # Bytes
//!
//! [`Message`] says how many bytes each message has. `maintenance_bytes` are those of joins, refreshes, pings
//! and stores: the requests of a node and the answers that it gets.
//!
//! *References*: P. Maymounkov, D. Mazières, "Kademlia: A Peer-to-peer Information System Based on the XOR
//! Metric", IPTPS 2002; section numbers are those of its long version. BEP 5 (questionable nodes, the bytes
//! of a contact). libp2p's kad-dht specification (resiliency).
//!
//! *Read next*: [`Table`], then [`machine`].

mod constants;
mod look_up;
pub mod machine;
mod message;
mod protocol;
mod report;
mod space;
mod table;

pub use constants::Kademlia;
pub use machine::Machine;
pub use message::{Message, Value};
pub use space::{Directory, Space};
pub use table::Table;

use crate::NODES_MAX;
use crate::churn::Churn;
use crate::unfinished::Unfinished;
use parades_config::{ConfigError, FromValue, Values, Words};
use parades_core::time::Delay;

/// The routing tables with which the first sessions of nodes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// Empty tables. Each node knows one earlier node, and joins by looking itself up.
    Joined,
    /// Full tables: each bucket has *k* nodes, drawn from all nodes that belong there; all of them if there
    /// are fewer. Nodes are members from the start.
    Ideal,
}

impl Words for Tables {
    const WORDS: &'static [(&'static str, Tables)] = &[("joined", Tables::Joined), ("ideal", Tables::Ideal)];
}

/// The parameters of a simulation of Kademlia. The defaults are the constants of the paper, with pings as in
/// BEP 5.
///
/// ```
/// use parades_carriers::Constant;
/// use parades_core::prelude::*;
/// use parades_p2p::driver::AsModel;
/// use parades_p2p::kademlia::{Kademlia, Parameters, Tables};
///
/// let parameters = Parameters { nodes: 200, tables: Tables::Ideal, ..Parameters::default() };
/// let kademlia = Kademlia::new(parameters, 1).expect("possible");
/// let model = AsModel::new(kademlia, Constant::new(Delay::from_ms(50)));
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs(60)))?;
/// let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
/// assert!(counter("look_ups") > 1000);
/// assert_eq!((counter("wrong_look_ups"), counter("failed_look_ups")), (0, 0));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of nodes.
    #[parameter(integer, default = 1000, range = 1..=NODES_MAX, meaning = "number of nodes")]
    pub nodes: u32,
    /// *k*: the contacts of a bucket, the contacts of an answer, and the nodes that store a value; 1 to 128.
    #[parameter(
        integer, default = 20, range = 1..=128,
        meaning = "contacts of a bucket, contacts of an answer, and nodes that store a value"
    )]
    pub k: u8,
    /// α: the requests that a look-up has in flight; 1 to [`Parameters::k`].
    #[parameter(integer, default = 3, range = 1..=128, meaning = "requests that a look-up has in flight; at most `k`")]
    pub alpha: u8,
    /// The number of closest nodes that must have answered before a look-up of a user ends; 1 to
    /// [`Parameters::k`]. The paper has *k*, libp2p 3. Joins, refreshes and stores always need *k*.
    #[parameter(
        integer, default = 0, range = 0..=128, read = resiliency,
        meaning = "closest nodes that must have answered before a look-up ends; 0: `k`, as in the paper; \
                   libp2p has 3"
    )]
    pub resiliency: u8,
    /// The time after which a request without an answer has failed.
    #[parameter(duration, changeable, default = Delay::from_secs(2), positive, meaning = "time after which a request has failed")]
    pub timeout: Delay,
    /// The time after which a contact that has not been heard of is questionable. A full bucket whose oldest
    /// contact is questionable pings it when a newcomer appears. The paper has zero, BEP 5 has 15 minutes.
    #[parameter(
        duration, changeable, default = Delay::from_secs(900),
        meaning = "time without news of a full bucket's oldest contact, after which it is pinged when a \
                   newcomer appears"
    )]
    pub questionable: Delay,
    /// The time after which a bucket without a look-up is refreshed.
    #[parameter(
        duration, changeable, default = Delay::from_secs(3600), positive,
        meaning = "time without a look-up after which a bucket is refreshed"
    )]
    pub refresh: Delay,
    /// The tables at the start.
    #[parameter(
        choice,
        default = "joined",
        meaning = "nodes know one other node and join by looking themselves up; or they start with full \
                   tables"
    )]
    pub tables: Tables,
    /// Time between the first comings of two nodes, with [`Tables::Joined`]; zero: all come at the start.
    #[parameter(
        duration, default = Delay::from_ms(10),
        needs = "tables=joined", meaning = "time between the joins of two nodes, with `tables=joined`"
    )]
    pub spacing: Delay,
    /// Time between two look-ups of a node.
    #[parameter(duration, changeable, default = Delay::from_secs(10), positive, meaning = "period of a node's look-ups")]
    pub look_up: Delay,
    /// The time at which look-ups begin.
    #[parameter(duration, default = Delay::ZERO, meaning = "time at which look-ups begin")]
    pub warm_up: Delay,
    /// Time after the last first coming from which on look-ups are judged, without churn.
    #[parameter(
        duration, default = Delay::from_secs(60),
        meaning = "time after the last join from which on look-ups are judged, without churn"
    )]
    pub settle: Delay,
    /// The number of values that nodes publish. Value *v* is published by node *v* modulo the nodes, each
    /// time that this node has joined.
    #[parameter(integer, default = 0, range = 0..=1_000_000_000, meaning = "number of values that nodes publish")]
    pub values: u32,
    /// The bytes of a value.
    #[parameter(size, key = "value_size", default = 1000, needs = "values", meaning = "length of a value")]
    pub value_bytes: u32,
    /// The probability that a look-up asks for a random value, and not for a random identifier.
    #[parameter(
        fraction,
        changeable,
        default = 0.0,
        needs = "values",
        meaning = "share of the look-ups that ask for a value"
    )]
    pub find_values: f64,
    /// The time after which a node stores its values at the closest nodes again.
    #[parameter(
        duration, changeable, default = Delay::from_secs(3600), positive,
        needs = "values", meaning = "time after which nodes store their values again"
    )]
    pub republish: Delay,
    /// The time after which a value expires, unless its publisher has published it again. The publisher does
    /// so before.
    #[parameter(duration, changeable, default = Delay::from_secs(86_400), positive, needs = "values", meaning = "time after which a value expires")]
    pub expire: Delay,
    /// The coming and going of nodes, if there is any.
    #[parameter(skip, default = None)]
    pub churn: Option<Churn>,
    /// The treatment of look-ups that are unfinished at the end of the run.
    #[parameter(
        choice,
        default = "left-out",
        meaning = "look-ups that are unfinished at the end: left out of the times of look-ups, or counted with their \
                   time so far, a lower bound"
    )]
    pub unfinished: Unfinished,
}

/// Returns the number of nodes that must have answered. By zero, users mean [`Parameters::k`].
fn resiliency(values: &Values, key: &str) -> Result<u8, ConfigError> {
    u8::from_value(values, if values.integer(key) == 0 { "k" } else { key })
}

//! Chord: nodes on a ring of identifiers, each of which finds the successor of any identifier in about half
//! of log2 n hops.
//!
//! The workload is that of SimGrid 3.11's Chord example, so that messages can be counted side by side. Nodes
//! join, stabilise, fix their fingers, check their predecessors and look identifiers up in periods, and sleep
//! when they have nothing to do. A message that comes meanwhile waits until the node wakes, so look-ups take
//! long. Nodes that do not sleep ([`Parameters::idle`] of zero) serve messages at once, as a real node would.
//! While a node waits for an answer it serves all other messages. Every message sent counts: questions,
//! questions passed on, and answers.
//!
//! # Two forms
//!
//! A node is a state machine without input or output ([`machine`]). Either of the two drivers
//! ([`crate::driver`]) drives it, with the same answers: as a program ([`Chord::model`], [`Chord::over`]), or
//! as a model that can be rolled back ([`Chord::restorable`]).
//!
//! # Joining
//!
//! In SimGrid's example, nodes that all join at once ask nodes that are still joining themselves, which ends
//! in a deadlock or in several rings. Here:
//!
//! 1. A node that has not joined passes requests to join on to the node that it knows itself. Each node knows
//!    an earlier one, so requests reach the ring.
//! 2. In the ring, the request goes to the node before the newcomer like any look-up. That node makes the
//!    newcomer its successor at once, and answers with its old successor. So look-ups find the newcomer from
//!    then on. Messages between two nodes keep their order, so the answer reaches the newcomer before any
//!    message that this node passes on to it.
//! 3. Messages that came together with the answer are served before the newcomer first sleeps. So even if
//!    a million nodes join at once, the join takes no longer than the hops of a request: about 2 ln n hops.
//!    (The ring grows like a random search tree.)
//! 4. A request that is lost is sent again after the timeout. It may then arrive twice, which does no harm.
//!
//! Fingers begin at the node itself, as in SimGrid's example. They are fixed from the furthest to the
//! nearest. The nearest need no look-up: they are the successor.
//!
//! # Failures
//!
//! A node may leave, and tells its successor and its predecessor; or crash, and tells nobody. It comes back
//! later with the same identifier ([`crate::churn`]). Nodes know three successors beyond the first
//! ([`Message::Predecessor`] brings them), and forget nodes that do not answer. Parts of a ring that has come
//! apart must grow together again. So each node looks around now and then: it asks any other node for the
//! successor of its own identifier.
//!
//! A look-up is one question that nodes pass on. If a node on its path has gone, the look-up fails.
//!
//! # Judging look-ups
//!
//! - Look-ups that begin [`Parameters::settle`] or later after the last change are judged at their end,
//!   against all nodes.
//! - Where nodes come and go, earlier look-ups are judged at the end of the run. A look-up is right if
//!   two conditions hold. The node that was found was a member at some time of the look-up. No node between
//!   the key and that node was a member during the whole look-up.
//!
//! # Bytes
//!
//! [`Message::wire_bytes`] says how many bytes each message has. `maintenance_bytes` are those of all
//! messages but the look-ups of users and their answers.
//!
//! *Invariants*: a request in the ring comes nearer to its key with each hop, so it ends. The ring is checked
//! at the end, against all members, once [`Parameters::settle`] has passed since the last change.
//!
//! *References*: I. Stoica et al., "Chord: A Scalable Peer-to-peer Lookup Service for Internet Applications",
//! SIGCOMM 2001. M. Quinson, C. Rosa, C. Thiéry, "Parallel Simulation of Peer-to-Peer Systems", CCGrid 2012
//! (the workload).
//!
//! *Read next*: [`machine`], then `protocol`, which joins it to the drivers.

mod constants;
pub mod machine;
mod message;
mod peer;
mod protocol;
mod report;
mod ring;

pub use constants::Chord;
pub use machine::Machine;
pub use message::{MESSAGE_BYTES, Message};
pub use peer::Peer;
pub use ring::Ring;

use crate::churn::Churn;
use crate::unfinished::Unfinished;
use crate::{Invalid, NODES_MAX};
use parades_carriers::Constant;
use parades_config::Words;
use parades_core::time::Delay;

/// The keys that nodes look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The identifier of one of the node's own fingers, each equally likely, as in SimGrid's example. Near
    /// fingers are answered without a hop.
    OwnFingers,
    /// Any identifier, each equally likely.
    Uniform,
}

impl Words for Keys {
    const WORDS: &'static [(&'static str, Keys)] = &[("own-fingers", Keys::OwnFingers), ("uniform", Keys::Uniform)];
}

/// The parameters of a simulation of Chord. The defaults are those of SimGrid's example. The latency is that
/// of the star that it runs on: 50 us up, 500 us backbone, 50 us down.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_p2p::chord::{Chord, Parameters};
///
/// let model = Chord::model(Parameters { nodes: 100, ..Parameters::default() }, 1).expect("possible");
/// let end = Time::from_ps(1_000_000_000_000_000); // 1000 s
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(end))?;
/// let counter = |name| outcome.metrics.get(name).and_then(|metric| metric.counter());
/// assert_eq!(counter("members"), Some(100));
/// assert_eq!(counter("wrong_successors"), Some(0));
/// assert_eq!(counter("wrong_look_ups"), Some(0));
/// # Ok::<(), parades_core::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of nodes.
    #[parameter(integer, default = 1000, range = 1..=NODES_MAX, meaning = "number of nodes")]
    pub nodes: u32,
    /// Bits of an identifier, 1 to 32.
    #[parameter(integer, default = 24, range = 1..=32, meaning = "bits of an identifier")]
    pub bits: u32,
    /// The time that a message takes.
    #[parameter(
        duration, changeable, default = Delay::from_us(600), positive,
        meaning = "duration of a message, in the network or underlay `constant`"
    )]
    pub latency: Delay,
    /// Time between the joins of two nodes; zero: all join at the start.
    #[parameter(
        duration, default = Delay::ZERO,
        meaning = "time between the joins of two nodes; 0s: all join at the start"
    )]
    pub spacing: Delay,
    /// Period of stabilising. Like all periods it counts from the end of the task to its next start.
    #[parameter(duration, changeable, default = Delay::from_secs(20), positive, meaning = "period of stabilising")]
    pub stabilise: Delay,
    /// Period of fixing a finger.
    #[parameter(duration, changeable, default = Delay::from_secs(120), positive, meaning = "period of fixing a finger")]
    pub fix_fingers: Delay,
    /// Period of checking the predecessor.
    #[parameter(duration, changeable, default = Delay::from_secs(120), positive, meaning = "period of checking the predecessor")]
    pub check_predecessor: Delay,
    /// Period of looking up.
    #[parameter(duration, changeable, default = Delay::from_secs(10), positive, meaning = "period of look-ups")]
    pub look_up: Delay,
    /// The time for which a node sleeps that has nothing to do. It serves no messages meanwhile. Zero: it
    /// does not sleep, but serves messages until its next task is due.
    #[parameter(
        duration, default = Delay::from_secs(5),
        meaning = "sleep of a node that has nothing to do, in which it serves no messages; 0s: it never \
                   sleeps"
    )]
    pub idle: Delay,
    /// The time for which a node waits for an answer. Without churn no message is ever lost; then the time
    /// begins again after each other message that the node serves meanwhile.
    #[parameter(
        duration, changeable, default = Delay::from_secs(50), positive,
        meaning = "greatest time for which a node waits for an answer"
    )]
    pub timeout: Delay,
    /// The keys that nodes look up.
    #[parameter(
        choice,
        default = "own-fingers",
        meaning = "identifiers that a node looks up: those of its own fingers, or any; only own fingers \
                   need half of log2(nodes) hops"
    )]
    pub keys: Keys,
    /// True if a node that has joined looks up all its fingers at once, as in the paper on Chord, and not
    /// only one each period. It costs messages, and saves hops.
    #[parameter(
        boolean,
        default = false,
        meaning = "a node that has joined looks up all its fingers at once; false: one a period"
    )]
    pub fingers_at_once: bool,
    /// The coming and going of nodes, if there is any.
    #[parameter(skip, default = None)]
    pub churn: Option<Churn>,
    /// The time that the ring is given to settle after the last change. Later look-ups are checked, and if
    /// the ring is wrong at the end, that is an error.
    #[parameter(
        duration, default = Delay::from_secs(300),
        meaning = "time after the last change from which on a wrong ring is an error"
    )]
    pub settle: Delay,
    /// The treatment of look-ups that are unfinished at the end of the run.
    #[parameter(
        choice,
        default = "left-out",
        meaning = "look-ups that are unfinished at the end: left out of the times of look-ups, or counted with their \
                   time so far, a lower bound"
    )]
    pub unfinished: Unfinished,
    /// True if each node keeps its look-ups, for the table `look_up_log` of the metrics: node, start and
    /// length in picoseconds, key, successor, hops.
    #[parameter(skip, default = false)]
    pub keeps_look_ups: bool,
}

impl Parameters {
    /// Returns the carrier whose messages all take [`Parameters::latency`].
    fn constant(&self) -> Result<Constant, Invalid> {
        match self.latency {
            Delay::ZERO => Err(("latency", "`latency` must be above zero, or time would stand still".into())),
            latency => Ok(Constant::new(latency)),
        }
    }
}

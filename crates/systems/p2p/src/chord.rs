//! Chord: nodes on a ring of identifiers, each of which finds the successor of any identifier in about half of log2 n hops.
//!
//! The workload is that of SimGrid 3.11's Chord example, so that messages can be counted side by side: nodes join, stabilise, fix their fingers,
//! check their predecessors and look identifiers up in periods, and sleep when they have nothing to do; a message that comes meanwhile
//! waits until they wake. While it waits for an answer a node serves whatever else comes. Every message sent counts: questions, those passed on, answers.
//!
//! *Joining* differs, since there all nodes that join at once ask nodes that are still joining themselves, which ends in a deadlock or in several
//! rings. Here:
//!
//! 1. A node that has not joined passes requests to join on to the node that it knows itself. Each knows an earlier one, so they reach the ring.
//! 2. In the ring, the request goes to the node before the newcomer like any look-up. That node takes the newcomer for its successor at once and answers with its
//!    old one. So a newcomer is in the ring for whoever asks after it; and as messages between two nodes keep their order, it knows
//!    so before anything is passed on to it.
//! 3. What came together with the answer is served before the newcomer first sleeps. So a million nodes that join at once need no more time than
//!    requests need hops, about 2 ln n (as in a random search tree, which is what the ring grows like).
//! 4. A request that is lost is sent again after the timeout. It may then arrive twice, which does no harm.
//!
//! Fingers begin at the node itself, as there. They are fixed from the furthest inwards, the nearest being the successor anyway.
//!
//! *Failures*: a node may leave, telling its successor and its predecessor; or crash, telling nobody; and come back later with the same identifier. Nodes know
//! three successors beyond the first ([`Message::Predecessor`] brings them), and forget whom they ask in vain. So that a ring that has come apart grows
//! together again, each looks around now and then: it asks any other node for the successor of its own identifier.
//!
//! *Invariants*: a request in the ring comes nearer to its key with each hop, so it ends. The ring is checked at the end, against all members, once
//! [`Parameters::settle`] has passed since the last change ([`Chord`]).
//!
//! *References*: I. Stoica et al., "Chord: A Scalable Peer-to-peer Lookup Service for Internet Applications", SIGCOMM 2001. M. Quinson, C. Rosa, C. Thiéry,
//! "Parallel Simulation of Peer-to-Peer Systems", CCGrid 2012 (the workload).

mod life;
mod message;
mod node;
mod report;
mod ring;

pub use message::{MESSAGE_BYTES, Message};
pub use node::Peer;
pub use ring::Ring;

use parades_carriers::Constant;
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use parades_program::{Carrier, Processes, Program, Start};
use report::Ids;

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The identifier of one of the node's own fingers, each equally likely: what SimGrid's example does. Near ones are answered without a hop.
    OwnFingers,
    /// Any identifier, each equally likely.
    Uniform,
}

/// How nodes come and go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Churn {
    /// Mean time for which a node stays, exponentially distributed.
    pub session: Delay,
    /// Mean time for which it is away, exponentially distributed.
    pub absence: Delay,
    /// The probability that it crashes instead of taking leave.
    pub crash: f64,
    /// Who is to go after this time stays, and who is away comes back at it.
    pub until: Time,
}

/// What a simulation of Chord is made of.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Nodes.
    pub nodes: u32,
    /// Bits of an identifier, 1 to 32.
    pub bits: u32,
    /// How long a message takes.
    pub latency: Delay,
    /// Time between the joins of two nodes; zero: all join at the start.
    pub spacing: Delay,
    /// Period of stabilising, from its end to the next beginning, like all of these.
    pub stabilise: Delay,
    /// Period of fixing a finger.
    pub fix_fingers: Delay,
    /// Period of checking the predecessor.
    pub check_predecessor: Delay,
    /// Period of looking up.
    pub look_up: Delay,
    /// How long a node sleeps that has nothing to do.
    pub idle: Delay,
    /// How long a node waits for an answer; without churn, when no message is ever lost, anew after each other message that it serves meanwhile.
    pub timeout: Delay,
    /// What is looked up.
    pub keys: Keys,
    /// Whether a node that has joined looks all its fingers up at once, as in the paper on Chord, and not only one each period. It costs messages, and saves
    /// hops.
    pub fingers_at_once: bool,
    /// How nodes come and go, if they do.
    pub churn: Option<Churn>,
    /// How long after the last change the ring must be right. From then on look-ups are checked, and a wrong ring at the end is an error.
    pub settle: Delay,
}

impl Default for Parameters {
    /// SimGrid's example; the latency is that of the star that it runs on: 50 us up, 500 us backbone, 50 us down.
    fn default() -> Parameters {
        Parameters {
            nodes: 1000,
            bits: 24,
            latency: Delay::from_us(600),
            spacing: Delay::ZERO,
            stabilise: Delay::from_secs(20),
            fix_fingers: Delay::from_secs(120),
            check_predecessor: Delay::from_secs(120),
            look_up: Delay::from_secs(10),
            idle: Delay::from_secs(5),
            timeout: Delay::from_secs(50),
            keys: Keys::OwnFingers,
            fingers_at_once: false,
            churn: None,
            settle: Delay::from_secs(300),
        }
    }
}

/// The program of Chord's nodes, over the network `N`.
#[derive(Debug)]
pub struct Chord<N = Constant> {
    parameters: Parameters,
    ring: Ring,
    network: N,
    /// From when on the ring must be right; `None`: never.
    settled: Option<Time>,
    /// The identifier before that of each node, where all are members in the end.
    before: Vec<u32>,
    ids: Ids,
}

/// The most nodes: a model has fewer than 2^32 - 1 LPs, one of which may be the network.
const NODES_MAX: u32 = u32::MAX - 2;

/// Why parameters are impossible: which, and what is wrong.
pub type Invalid = (&'static str, String);

impl Chord {
    /// The model of these parameters, with the identifiers that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn model(parameters: Parameters, seed: u64) -> Result<Processes<Chord>, Invalid> {
        if parameters.latency == Delay::ZERO {
            return Err(("latency", "`latency` must be above zero, or time would stand still".into()));
        }
        Chord::over(Constant::new(parameters.latency), parameters, seed)
    }
}

impl<N: Carrier<Message>> Chord<N> {
    /// As [`Chord::model`], over any network; [`Parameters::latency`] is then without effect.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn over(network: N, parameters: Parameters, seed: u64) -> Result<Processes<Chord<N>>, Invalid> {
        Ok(Processes::new(Chord::new(network, parameters, seed)?))
    }

    fn new(network: N, parameters: Parameters, seed: u64) -> Result<Chord<N>, Invalid> {
        let Parameters { nodes, bits, spacing, idle, timeout, churn, settle, .. } = parameters;
        if !(1..=32).contains(&bits) {
            return Err(("bits", format!("identifiers have 1 to 32 bits, not {bits}")));
        }
        let identifiers = 1_u64 << bits;
        let refused = |what: String| Err(("nodes", what));
        if nodes == 0 {
            return refused("a ring has at least one node".into());
        }
        if u64::from(nodes) > identifiers {
            return refused(format!("{nodes} nodes are more than the {identifiers} identifiers of {bits} bits"));
        }
        if nodes > NODES_MAX {
            return refused(format!("{nodes} nodes are more than a model may have: {NODES_MAX}"));
        }
        for (name, delay) in [("idle", idle), ("timeout", timeout)] {
            if delay == Delay::ZERO {
                return Err((name, format!("`{name}` must be above zero, or time would stand still")));
            }
        }
        if churn.is_some_and(|churn| churn.session == Delay::ZERO) {
            return Err(("session", "a node must stay for some time".into()));
        }
        let joined = u64::from(nodes - 1).checked_mul(spacing.as_ps()).map(Time::from_ps);
        let Some(joined) = joined else {
            return Err(("spacing", "the last node would join after the end of virtual time".into()));
        };
        let changed = churn.map_or(joined, |churn| churn.until.max(joined));
        let ring = Ring::new(bits, seed);
        let mut all: Vec<u32> = (0..nodes).map(|lp| ring.id(LpId(lp))).collect();
        all.sort_unstable();
        let mut before = vec![0; all.len()];
        for (&id, &previous) in all.iter().zip(all.iter().cycle().skip(all.len() - 1)) {
            before[ring.lp(id).index()] = previous;
        }
        Ok(Chord {
            parameters,
            ring,
            network,
            settled: changed.checked_add(settle),
            before,
            ids: Ids::declare(&mut Metrics::new()),
        })
    }
}

impl<N> Chord<N> {
    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The ring of identifiers.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Whether a node is the first of all from `key` on.
    #[inline]
    fn is_owner(&self, id: u32, key: u32) -> bool {
        let before = self.before.get(self.ring.lp(id).index());
        before.is_some_and(|&before| self.ring.is_in(key, before, id))
    }

    /// Whether the ring must be right at `now`.
    fn is_settled(&self, now: Time) -> bool {
        self.settled.is_some_and(|settled| now >= settled)
    }
}

impl<N: Carrier<Message>> Program for Chord<N> {
    type Message = Message;
    type State = Peer;
    type Carrier = N;

    fn nodes(&self) -> u32 {
        self.parameters.nodes
    }

    fn carrier(&self) -> &N {
        &self.network
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Ids::declare(&mut metrics);
        metrics
    }

    fn start(&self, start: &mut Start<'_, Self>) -> Peer {
        let (lp, bits) = (start.id(), self.parameters.bits);
        let mut peer = Peer::new(self.ring.id(lp), bits);
        if lp.0 > 0 {
            // Any earlier node.
            #[expect(clippy::cast_possible_truncation, reason = "below an id")]
            let known = start.rng().below(u64::from(lp.0)) as u32;
            peer.known = self.ring.id(LpId(known));
        }
        match self.parameters.churn {
            None => start.spawn("peer", |node| life::live::<N>(node, Time::MAX, true)),
            Some(_) => start.spawn("peer", life::restless::<N>),
        }
        peer
    }

    fn fetch(&self, peer: &Peer) {
        prefetch_all(&peer.fingers[..]);
    }

    fn fold(&self, peer: &Peer, digest: &mut Digest) {
        peer.words().for_each(|word| digest.word(word));
    }

    fn finish(&self, _: LpId, peer: &Peer, end: &End, metrics: &mut Metrics) {
        self.ids.finish(peer, self.is_settled(end.time), metrics);
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.ids.conclude(self.is_settled(end.time), metrics)
    }
}

//! The constants of a simulation of Chord, which all its nodes share.

use super::report::Ids;
use super::{Parameters, Ring};
use crate::Invalid;
use crate::chord::peer::Peer;
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The greatest number of nodes. A model has fewer than 2^32 - 1 LPs, one of which may be the carrier's.
const NODES_MAX: u32 = u32::MAX - 2;

/// The protocol: parameters that have been checked, and constants that follow from them.
#[derive(Debug)]
pub struct Chord {
    parameters: Parameters,
    ring: Ring,
    /// From this time, every link of the ring must be correct. `None`: the ring is not checked.
    settled: Option<Time>,
    /// The identifier before that of each node, when all nodes are members.
    before: Vec<u32>,
    pub(super) ids: Ids,
}

impl Chord {
    /// Makes the protocol of these parameters, with the identifiers that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Chord, Invalid> {
        check(&parameters)?;
        let Parameters { nodes, bits, spacing, settle, .. } = parameters;
        let joined = u64::from(nodes - 1).checked_mul(spacing.as_ps()).map(Time::from_ps);
        let Some(joined) = joined else {
            return Err(("spacing", "the last node would join after the end of virtual time".into()));
        };
        let changed = parameters.churn.as_ref().map_or(joined, |churn| churn.until.max(joined));
        let ring = Ring::new(bits, seed);
        let mut all: Vec<u32> = (0..nodes).map(|lp| ring.id(LpId(lp))).collect();
        all.sort_unstable();
        let mut before = vec![0; all.len()];
        for (&id, &previous) in all.iter().zip(all.iter().cycle().skip(all.len() - 1)) {
            before[ring.lp(id).index()] = previous;
        }
        let ids = Ids::declare(&mut Metrics::new(), parameters.keeps_look_ups);
        Ok(Chord { parameters, ring, settled: changed.checked_add(settle), before, ids })
    }

    /// Returns the parameters.
    #[inline]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the ring of identifiers.
    #[inline]
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Declares the metrics.
    pub(super) fn declare_metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        Ids::declare(&mut metrics, self.parameters.keeps_look_ups);
        metrics
    }

    /// Makes the knowledge of a node: an earlier node, drawn from the node's stream.
    pub(super) fn peer(&self, lp: LpId, rng: &Rng) -> Peer {
        let mut peer = Peer::new(self.ring.id(lp), self.parameters.bits);
        if lp.0 > 0 {
            #[expect(clippy::cast_possible_truncation, reason = "below an id")]
            let known = rng.below(u64::from(lp.0)) as u32;
            peer.known = self.ring.id(LpId(known));
        }
        peer
    }

    /// Returns whether a node that waits for an answer waits for the whole timeout again after each message
    /// that it serves. Where nodes fail it does not: a node that gets many questions itself would never stop
    /// waiting for one that is gone.
    #[inline]
    pub(super) fn restarts(&self) -> bool {
        self.parameters.churn.is_none()
    }

    /// Returns whether a node is the first of all nodes from `key` on.
    #[inline]
    pub(super) fn is_owner(&self, id: u32, key: u32) -> bool {
        let before = self.before.get(self.ring.lp(id).index());
        before.is_some_and(|&before| self.ring.is_in(key, before, id))
    }

    /// Returns whether the ring must be right at `now`.
    pub(super) fn is_settled(&self, now: Time) -> bool {
        self.settled.is_some_and(|settled| now >= settled)
    }
}

/// Refuses parameters that are impossible by themselves.
fn check(parameters: &Parameters) -> Result<(), Invalid> {
    let &Parameters { nodes, bits, timeout, .. } = parameters;
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
    if timeout == Delay::ZERO {
        return Err(("timeout", "`timeout` must be above zero, or time would stand still".into()));
    }
    Ok(())
}

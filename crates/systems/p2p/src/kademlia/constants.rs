//! The constants of a simulation of Kademlia, which all its nodes share.

use super::report::Ids;
use super::{Directory, Parameters, Space, Table, Tables};
use crate::Invalid;
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// The greatest number of nodes. A model has fewer than 2^32 - 1 LPs, one of which may be the carrier's.
const NODES_MAX: u32 = u32::MAX - 2;
/// The greatest number of contacts in a bucket.
const K_MAX: u8 = 128;

/// The protocol: parameters that have been checked, and constants that follow from them.
#[derive(Debug)]
pub struct Kademlia {
    parameters: Parameters,
    space: Space,
    directory: Directory,
    /// Look-ups that begin at this time or later are judged against all nodes. `None`: none of them is.
    settled: Option<Time>,
    pub(super) ids: Ids,
}

impl Kademlia {
    /// Makes the protocol of these parameters, with the identifiers that `seed` gives.
    ///
    /// # Errors
    ///
    /// On a parameter that makes no sense, with its name.
    pub fn new(parameters: Parameters, seed: u64) -> Result<Kademlia, Invalid> {
        check(&parameters)?;
        let Parameters { nodes, settle, .. } = parameters;
        let last = match parameters.tables {
            Tables::Ideal => Some(Time::ZERO),
            Tables::Joined => u64::from(nodes - 1).checked_mul(parameters.spacing.as_ps()).map(Time::from_ps),
        };
        let Some(last) = last else {
            return Err(("spacing", "the last node would come after the end of virtual time".into()));
        };
        let settled = match (&parameters.churn, parameters.tables) {
            (Some(_), _) => None,
            (None, Tables::Ideal) => Some(Time::ZERO),
            (None, Tables::Joined) => last.checked_add(settle),
        };
        let space = Space::new(seed);
        let directory = Directory::new(&space, nodes);
        let ids = Ids::declare(&mut Metrics::new());
        Ok(Kademlia { parameters, space, directory, settled, ids })
    }

    /// Returns the parameters.
    #[inline]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns the space of identifiers.
    #[inline]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the identifiers of all nodes.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns whether the node with the identifier `found` is the closest of all to `target`, for a look-up
    /// that began at `began`. `None` if that cannot be said at its end.
    pub(super) fn judge(&self, target: u64, found: u64, began: Time) -> Option<bool> {
        self.settled.filter(|&settled| began >= settled)?;
        self.directory.closest(target).map(|(id, _)| id == found)
    }

    /// Makes the routing table of a node before its first session.
    pub(super) fn table(&self, node: LpId, rng: &Rng) -> Table {
        let own = self.space.id(node);
        let k = self.parameters.k;
        let mut table = Table::new(own, k);
        if self.parameters.tables == Tables::Joined {
            return table;
        }
        let mut drawn: Vec<usize> = Vec::with_capacity(usize::from(k));
        for shared in 0..u64::BITS {
            let candidates = self.directory.bucket(own, shared);
            draw(candidates.len(), usize::from(k), rng, &mut drawn);
            for &index in &drawn {
                let (id, contact) = candidates[index];
                table.hear(contact, id, 0, u32::MAX);
            }
        }
        table
    }
}

/// Draws `count` different numbers below `n`, or all of them if there are fewer (R. Floyd's algorithm: J.
/// Bentley, R. Floyd, "A sample of brilliance", CACM 1987).
fn draw(n: usize, count: usize, rng: &Rng, drawn: &mut Vec<usize>) {
    drawn.clear();
    for last in n.saturating_sub(count)..n {
        let number = usize::try_from(rng.below(last as u64 + 1)).expect("below an index");
        drawn.push(if drawn.contains(&number) { last } else { number });
    }
}

/// Refuses parameters that are impossible by themselves.
fn check(parameters: &Parameters) -> Result<(), Invalid> {
    let &Parameters { nodes, k, alpha, resiliency, find_values, values, .. } = parameters;
    if nodes == 0 {
        return Err(("nodes", "Kademlia has at least one node".into()));
    }
    if nodes > NODES_MAX {
        return Err(("nodes", format!("{nodes} nodes are more than a model may have: {NODES_MAX}")));
    }
    if !(1..=K_MAX).contains(&k) {
        return Err(("k", format!("a bucket has 1 to {K_MAX} contacts, not {k}")));
    }
    for (name, value) in [("alpha", alpha), ("resiliency", resiliency)] {
        if !(1..=k).contains(&value) {
            return Err((name, format!("`{name}` must be from 1 to `k`, which is {k}, not {value}")));
        }
    }
    let Parameters { timeout, look_up, refresh, republish, expire, .. } = *parameters;
    let periods = [
        ("timeout", timeout),
        ("look_up", look_up),
        ("refresh", refresh),
        ("republish", republish),
        ("expire", expire),
    ];
    for (name, delay) in periods {
        if delay == Delay::ZERO {
            return Err((name, format!("`{name}` must be above zero, or time would stand still")));
        }
    }
    if !(0.0..=1.0).contains(&find_values) {
        return Err(("find_values", format!("a probability is from 0 to 1, not {find_values}")));
    }
    if find_values > 0.0 && values == 0 {
        return Err(("find_values", "there are no `values` to look up".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_without_repetition() {
        let rng = Rng::stream(1, 1);
        let mut drawn = Vec::new();
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            draw(10, 4, &rng, &mut drawn);
            drawn.iter().for_each(|&number| counts[number] += 1);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 4);
        }
        // 4,000 each, with a standard deviation of 49.
        assert!(counts.iter().all(|count| count.abs_diff(4000) < 250), "{counts:?}");
        draw(3, 4, &rng, &mut drawn);
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 1, 2]);
    }
}

//! The latencies between peers, from any source.

use super::Coordinates;
use super::domains::DomainPaths;
use crate::Matrix;
use crate::near::{self, Least};
use parades_core::time::Delay;
use parades_program::{Layout, Wiring};

/// The greatest number of places with coordinates whose latencies are all compared to find the least. Above
/// it a bound by heights is the lookahead.
const SEARCHED_MAX: u32 = 10_000;

/// The latencies between peers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Distances {
    /// All are the same.
    Constant(Delay),
    /// Those between places. Peer `p` is at place `p`, modulo their number.
    Places {
        places: Places,
        /// The least latency between two peers, whatever the source says.
        least: Delay,
        /// The latency between two peers at one place.
        local: Delay,
    },
    /// Those between peers on a graph.
    Pairs(Matrix),
    /// Those between peers of a transit–stub network.
    Domains(DomainPaths, u32),
}

/// The latencies between places.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Places {
    Table(Matrix),
    Coordinates(Coordinates),
}

impl Places {
    pub(super) fn count(&self) -> u32 {
        match self {
            Places::Table(matrix) => matrix.places(),
            Places::Coordinates(coordinates) => coordinates.places(),
        }
    }

    #[inline]
    fn between(&self, from: u32, to: u32) -> Delay {
        match self {
            Places::Table(matrix) => matrix.between(from, to),
            Places::Coordinates(coordinates) => coordinates.latency(from, to),
        }
    }

    /// Returns a bound on the latencies from each of the first `count` places to the others of them: the
    /// least latency, or for many coordinates a bound by their heights. `None` for a place alone.
    fn least(&self, count: u32) -> Vec<Option<Delay>> {
        match self {
            Places::Coordinates(coordinates) if count > SEARCHED_MAX => {
                let height = coordinates.least_height();
                (0..count).map(|from| Some(coordinates.least_from(from, height))).collect()
            }
            _ => (0..count).map(|from| others(from, count).map(|to| self.between(from, to)).min()).collect(),
        }
    }
}

impl Distances {
    /// Returns the number of peers, if the source fixes it.
    pub(super) fn peers(&self) -> Option<u32> {
        match self {
            Distances::Constant(_) | Distances::Places { .. } => None,
            Distances::Pairs(matrix) => Some(matrix.places()),
            Distances::Domains(_, peers) => Some(*peers),
        }
    }

    /// Returns the latency between two different peers.
    #[inline]
    pub(super) fn between(&self, from: u32, to: u32) -> Delay {
        match self {
            Distances::Constant(latency) => *latency,
            Distances::Places { places, least, local } => {
                let count = places.count();
                let [from, to] = [from, to].map(|peer| if peer < count { peer } else { peer % count });
                if from == to { *local } else { places.between(from, to).max(*least) }
            }
            Distances::Pairs(matrix) => matrix.between(from, to),
            Distances::Domains(paths, _) => paths.between(from, to),
        }
    }

    /// Declares the channels between peers. Each sender has its own least latencies as lookahead. Peers at
    /// one place, or in one stub domain, are a group.
    pub(super) fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        let peers = layout.nodes();
        let all: Vec<Least> = match self {
            Distances::Constant(latency) => return wiring.nodes_to_anyone(*latency),
            Distances::Places { places, least, local } => {
                let count = places.count();
                let found = places.least(count.min(peers));
                let of_peer = |peer: u32| {
                    let place = peer % count;
                    let is_shared = peers - place > count;
                    let outside = found[place as usize].map(|found| found.max(*least));
                    Least { group: place, inside: is_shared.then_some(*local), outside }
                };
                (0..peers).map(of_peer).collect()
            }
            Distances::Pairs(matrix) => {
                let least = |from| others(from, peers).map(|to| matrix.between(from, to)).min();
                (0..peers).map(|peer| Least { group: peer, inside: None, outside: least(peer) }).collect()
            }
            Distances::Domains(paths, _) => paths.least(),
        };
        near::wire(all, wiring);
    }
}

/// Returns the numbers below `count` but for one of them.
fn others(but: u32, count: u32) -> impl Iterator<Item = u32> {
    (0..count).filter(move |&other| other != but)
}

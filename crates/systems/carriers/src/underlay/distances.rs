//! The latencies between peers, from any source.

use super::Coordinates;
use super::domains::DomainPaths;
use crate::Matrix;
use parades_core::event::LpId;
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

    /// Declares the channels between peers. Each sender has its own least latency as lookahead.
    pub(super) fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        let peers = layout.nodes();
        let mut declare = |from: u32, least: Option<Delay>| {
            if let Some(least) = least {
                wiring.to_anyone(LpId(from), least);
            }
        };
        match self {
            Distances::Constant(latency) => wiring.nodes_to_anyone(*latency),
            Distances::Places { places, least, local } => {
                let count = places.count();
                let found = places.least(count.min(peers));
                for from in 0..peers {
                    let place = from % count;
                    let is_shared = peers - place > count;
                    let to_others = found[place as usize].map(|found| found.max(*least));
                    declare(from, to_others.into_iter().chain(is_shared.then_some(*local)).min());
                }
            }
            Distances::Pairs(matrix) => (0..peers).for_each(|from| {
                declare(from, others(from, peers).map(|to| matrix.between(from, to)).min());
            }),
            Distances::Domains(paths, _) => (0..).zip(paths.least()).for_each(|(from, least)| declare(from, least)),
        }
    }
}

/// Returns the numbers below `count` but for one of them.
fn others(but: u32, count: u32) -> impl Iterator<Item = u32> {
    (0..count).filter(move |&other| other != but)
}

//! The bounds of partitions: how far each may execute.
//!
//! *Idea.* An event at *t* in partition *j* has no consequence in partition *i* before *t* + *d*(*j*, *i*),
//! where *d* is the length of the shortest path of channels from *j* to *i*, measured in lookahead. For
//! *i* = *j* it is the shortest cycle, since what a partition sends may come back to it. So partition *i* may
//! execute all events before the least of *t* + *d*(*j*, *i*) over the pending events of all partitions.
//!
//! *Why it is correct.* Suppose that an event arrives at partition *i*. The chain of events that caused it
//! begins with one that was pending, or under way, at the last exchange: in partition *j*, at *t*. From there
//! on the chain follows channels. Those inside a partition count as nothing, and the others add up to at
//! least *d*(*j*, *i*). So the arrival is at the bound of *i* or later.
//!
//! *Against one bound for all.* The earliest event limits those that it can reach, each by its distance. So
//! partitions with long channels, or far from all others that have work, execute more in a window. The
//! partition with the earliest event may execute up to what the second earliest allows.
//!
//! *Meeting.* At a cut all partitions must have come to one time. That is the greatest bound that any of them
//! has executed to: it is within the reach of each, after some more windows.
//!
//! *Reference.* D. Nicol, *Scalability, locality, partitioning and synchronization in PDES*, PADS, 1998
//! (bounds of each processor); R. Ayani, *A parallel simulation scheme based on distances between objects*,
//! SCS Multiconference on Distributed Simulation, 1989 (distances).

use super::shared::parity;
use crate::partition::Between;
use parades_core::pending::Grid;
use parades_core::time::Time;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bounds by which partitions execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All partitions have the same bound: the earliest event, and the least lookahead between partitions.
    Common,
    /// Each partition has its own.
    Own,
}

/// The most partitions that have bounds of their own. The paths between all pairs would take too long.
const PARTITIONS_MAX: u32 = 256;

/// The least delays from partition to partition, over any number of others.
#[derive(Debug)]
pub(crate) struct Distances {
    partitions: usize,
    /// By receiver and then by sender, in picoseconds. `u64::MAX` if there is no path.
    delays: Box<[u64]>,
}

impl Distances {
    /// Returns true if this number of partitions may have bounds of their own: at least two, and not very
    /// many.
    pub(super) fn suit(partitions: u32) -> bool {
        (2..=PARTITIONS_MAX).contains(&partitions)
    }

    /// Finds the distances from the least lookahead between neighbours. Takes time in proportion to the third
    /// power of the number of partitions.
    pub(super) fn find(partitions: u32, neighbours: &[Between]) -> Distances {
        let partitions = partitions as usize;
        let mut delays = vec![u64::MAX; partitions * partitions].into_boxed_slice();
        for between in neighbours {
            delays[between.to as usize * partitions + between.from as usize] = between.lookahead.as_ps();
        }
        // R. Floyd, *Algorithm 97: shortest path*, CACM 5, 1962. The diagonal begins without a path, and so
        // becomes the shortest cycle.
        for via in 0..partitions {
            let first_legs = delays[via * partitions..][..partitions].to_vec();
            for to in 0..partitions {
                let last_leg = delays[to * partitions + via];
                if last_leg == u64::MAX {
                    continue;
                }
                let row = &mut delays[to * partitions..][..partitions];
                for (whole, first_leg) in row.iter_mut().zip(&first_legs) {
                    *whole = (*whole).min(first_leg.saturating_add(last_leg));
                }
            }
        }
        Distances { partitions, delays }
    }

    /// Returns the time before which no event arrives at partition `to`, if these are the times of the
    /// earliest events of all partitions.
    fn bound(&self, to: u32, fronts: &[u64]) -> Time {
        let row = &self.delays[to as usize * self.partitions..][..self.partitions];
        let arrivals = row.iter().zip(fronts).map(|(delay, front)| delay.saturating_add(*front));
        Time::from_ps(arrivals.min().unwrap_or(u64::MAX))
    }
}

/// The bounds of a window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bounds<'a> {
    /// All partitions have this bound.
    Common(Time),
    /// Each partition has its own.
    Own {
        distances: &'a Distances,
        /// By partition: the time of its earliest event.
        fronts: &'a [u64],
        /// No bound is later than this.
        most: Time,
        /// A bound on the grid spares a partition from opening one of its windows twice.
        grid: Option<Grid>,
    },
}

impl Bounds<'_> {
    /// Returns the bound of a partition.
    pub(super) fn of(&self, partition: u32) -> Time {
        match *self {
            Bounds::Common(bound) => bound,
            Bounds::Own { distances, fronts, most, grid } => {
                let free = distances.bound(partition, fronts).min(most);
                let even = grid.map_or(free, |grid| grid.floor(free));
                if even.as_ps() > fronts[partition as usize] { even } else { free }
            }
        }
    }
}

/// The times of the earliest events of all partitions, as the workers tell each other.
///
/// A worker writes its part before an exchange, and all read it after that. There are two places for it, by
/// the parity of the exchange: one is read while the other is written. A worker that runs ahead comes back to
/// a place only after all have entered the exchange in between, and have thus read that place.
#[derive(Debug)]
pub(super) struct Fronts {
    /// By parity, then by worker.
    places: [Vec<Place>; 2],
}

/// The words that one worker writes.
#[derive(Debug)]
struct Place {
    /// The greatest bound that the worker has executed to.
    furthest: AtomicU64,
    /// By partition. The words after those of the last partition keep other workers' words off its cache
    /// line.
    fronts: Box<[AtomicU64]>,
}

/// The words of a pair of cache lines, which a core may fetch together.
const LINES: usize = 16;

impl Fronts {
    /// Makes room for `workers` workers and `partitions` partitions.
    pub(super) fn new(workers: usize, partitions: usize) -> Fronts {
        let place = || Place {
            furthest: AtomicU64::new(0),
            fronts: (0..partitions + LINES).map(|_| AtomicU64::new(u64::MAX)).collect(),
        };
        let places = || (0..workers).map(|_| place()).collect();
        Fronts { places: [places(), places()] }
    }

    /// Tells the other workers the fronts of the partitions that `worker` has executed and of the events that
    /// it has sent, and the greatest bound that it has executed to.
    pub(super) fn tell(&self, exchange: u64, worker: usize, fronts: &[u64], furthest: Time) {
        let place = &self.places[parity(exchange)][worker];
        // Ordering: Relaxed, here and below; the exchange publishes the stores.
        place.fronts.iter().zip(fronts).for_each(|(word, front)| word.store(*front, Ordering::Relaxed));
        place.furthest.store(furthest.as_ps(), Ordering::Relaxed);
    }

    /// Sets `fronts` to what all workers have told before the exchange. Returns the greatest bound.
    pub(super) fn hear(&self, exchange: u64, fronts: &mut [u64]) -> Time {
        fronts.fill(u64::MAX);
        let mut furthest = 0;
        for place in &self.places[parity(exchange)] {
            for (front, word) in fronts.iter_mut().zip(&place.fronts) {
                *front = (*front).min(word.load(Ordering::Relaxed));
            }
            furthest = furthest.max(place.furthest.load(Ordering::Relaxed));
        }
        Time::from_ps(furthest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::time::Delay;

    const MS: u64 = 1_000_000_000;

    /// Returns the distances in a ring of partitions whose channels have these lookaheads in milliseconds.
    fn ring(lookaheads: &[u64]) -> Distances {
        let partitions = u32::try_from(lookaheads.len()).expect("a small ring");
        let channel =
            |(from, &ms): (u32, &u64)| Between { from, to: (from + 1) % partitions, lookahead: Delay::from_ms(ms) };
        Distances::find(partitions, &(0..).zip(lookaheads).map(channel).collect::<Vec<_>>())
    }

    #[test]
    fn distances_are_paths_and_cycles() {
        let distances = ring(&[1, 10, 100]);
        let ms = |from: usize, to: usize| distances.delays[to * 3 + from] / MS;
        assert_eq!([ms(0, 1), ms(0, 2), ms(1, 0), ms(2, 1)], [1, 11, 110, 101]);
        assert_eq!([ms(0, 0), ms(1, 1), ms(2, 2)], [111; 3], "what is sent comes back around the ring");
    }

    #[test]
    fn each_partition_has_its_own_bound() {
        let distances = ring(&[1, 10, 100]);
        let bounds = |fronts: [u64; 3], most| {
            let fronts = fronts.map(|ms| ms.saturating_mul(MS));
            let bounds = Bounds::Own { distances: &distances, fronts: &fronts, most: Time::from_ps(most), grid: None };
            [0, 1, 2].map(|partition| bounds.of(partition).as_ps() / MS)
        };
        assert_eq!(bounds([5, 7, 9], u64::MAX), [109, 6, 16], "the predecessor bounds each");
        assert_eq!(bounds([5, u64::MAX, u64::MAX], u64::MAX)[0], 116, "only its own events may come back");
        assert_eq!(bounds([5, 7, 9], 50 * MS), [50, 6, 16]);
    }

    #[test]
    fn workers_hear_the_least_front_and_the_greatest_bound() {
        let fronts = Fronts::new(2, 3);
        fronts.tell(7, 0, &[3, u64::MAX, 5], Time::from_ps(8));
        fronts.tell(7, 1, &[u64::MAX, 4, 2], Time::from_ps(6));
        fronts.tell(8, 0, &[9, 9, 9], Time::from_ps(9));
        let mut heard = [0; 3];
        assert_eq!(fronts.hear(7, &mut heard), Time::from_ps(8));
        assert_eq!(heard, [3, 4, 2]);
    }
}

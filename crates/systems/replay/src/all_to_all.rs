//! The algorithms of `alltoall`, and the choice between them.
//!
//! *References*: J. Bruck et al., *Efficient algorithms for all-to-all communications in multiport
//! message-passing systems*, IEEE TPDS 8(11), 1997. The choice is that of Open MPI's component `tuned`
//! (`coll_tuned_decision_fixed.c`), as SMPI 3.32 has it in `smpi_openmpi_selector.cpp`.

use crate::collectives::{Exchange, send_and_receive};
use crate::rank::{Done, Rank};

/// How data go from all ranks to all ranks in `alltoall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllToAll {
    /// Each rank sends to all others at a time.
    Linear,
    /// Each rank exchanges data with one other at a time. If the number of ranks is a power of two, step *s*
    /// is with the rank whose number differs by exclusive or with *s*. Else a rank sends to the rank *s*
    /// places after it, and receives from the one *s* places before it, as in Open MPI; SMPI refuses this.
    Pairwise,
    /// Bruck's algorithm: in step *k*, a rank sends half of all data to the rank 2^*k* places after it.
    Bruck,
}

/// The algorithm for amounts from one bound to the next, in bytes.
struct Range(f64, AllToAll);

/// The ranges of amounts for numbers of ranks below a bound.
struct Row {
    ranks_below: u32,
    ranges: &'static [Range],
}

const L: AllToAll = AllToAll::Linear;
const P: AllToAll = AllToAll::Pairwise;
const B: AllToAll = AllToAll::Bruck;
const KIB: f64 = 1024.0;

/// SMPI's choice. SMPI knows the linear algorithm also as that of two processes, and as that which
/// synchronises.
const CHOICE: [Row; 12] = [
    Row {
        ranks_below: 3,
        ranges: &[
            Range(0.0, P),
            Range(2.0, L),
            Range(4.0, P),
            Range(16.0, L),
            Range(64.0, P),
            Range(256.0, L),
            Range(4.0 * KIB, P),
            Range(32.0 * KIB, L),
            Range(KIB * KIB, P),
        ],
    },
    Row { ranks_below: 8, ranges: &[Range(0.0, L), Range(512.0 * KIB, P), Range(KIB * KIB, L)] },
    Row { ranks_below: 16, ranges: &[Range(0.0, L)] },
    Row { ranks_below: 32, ranges: &[Range(0.0, L), Range(4.0, B), Range(512.0, L)] },
    Row { ranks_below: 64, ranges: &[Range(0.0, B), Range(512.0, L)] },
    Row { ranks_below: 128, ranges: &[Range(0.0, B), Range(KIB, L), Range(256.0 * KIB, P)] },
    Row { ranks_below: 256, ranges: &[Range(0.0, B), Range(KIB, L), Range(256.0 * KIB, P)] },
    Row { ranks_below: 512, ranges: &[Range(0.0, B), Range(KIB, L), Range(32.0 * KIB, P)] },
    Row { ranks_below: 1024, ranges: &[Range(0.0, B), Range(512.0, L), Range(256.0 * KIB, P)] },
    Row { ranks_below: 2048, ranges: &[Range(0.0, B), Range(512.0, L)] },
    Row { ranks_below: 4096, ranges: &[Range(0.0, B), Range(KIB, L)] },
    Row { ranks_below: u32::MAX, ranges: &[Range(0.0, B), Range(2.0 * KIB, L)] },
];

impl AllToAll {
    /// Returns SMPI's choice for a number of ranks, each of which sends `bytes` to each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_replay::AllToAll;
    /// assert_eq!(AllToAll::of_smpi(4, 1000.0), AllToAll::Linear);
    /// assert_eq!(AllToAll::of_smpi(4, 600_000.0), AllToAll::Pairwise);
    /// assert_eq!(AllToAll::of_smpi(16, 100.0), AllToAll::Bruck);
    /// ```
    pub fn of_smpi(ranks: u32, bytes: f64) -> AllToAll {
        let row = CHOICE.iter().find(|row| ranks < row.ranks_below).expect("the last row has no bound");
        let range = row.ranges.iter().rev().find(|Range(from, _)| bytes >= *from);
        range.expect("the first range begins at 0").1
    }
}

/// Each rank exchanges data with one other at a time.
pub(crate) async fn pairwise(rank: Rank, bytes: f64, room: f64) -> Done {
    let (id, count) = (rank.id(), rank.count);
    for step in 1..count {
        let (to, from) = if count.is_power_of_two() {
            (id ^ step, id ^ step)
        } else {
            ((id + step) % count, (id + count - step) % count)
        };
        send_and_receive(rank, Exchange { to, bytes, from, room }).await?;
    }
    Ok(())
}

/// Bruck's algorithm. Block *b* of a rank goes on in each step whose bit is set in *b*.
pub(crate) async fn bruck(rank: Rank, bytes: f64) -> Done {
    let (id, count) = (rank.id(), rank.count);
    let mut distance = 1;
    while distance < count {
        let blocks = (1..count).filter(|block| block & distance != 0).count();
        let bytes = bytes * blocks as f64;
        let (to, from) = ((id + distance) % count, (id + count - distance) % count);
        send_and_receive(rank, Exchange { to, bytes, from, room: bytes }).await?;
        distance *= 2;
    }
    Ok(())
}

//! A carrier by capacity: data shares the access links of peers.
//!
//! A message with data is a *transfer*. It uses the up link of its sender and the down link of its receiver,
//! as [`parades_flow::access`] shares them. Messages between two peers follow each other, as on one
//! connection. Messages without data take latency alone.
//!
//! # Time
//!
//! A message that is sent at `t`, needs the time `T` on the access links, and has the latency `λ`, arrives at
//! `t + T + λ`. A sender that awaits its message learns of the end of the transfer one least latency after
//! that end, so it should keep two messages on their way.
//!
//! # Lookahead
//!
//! One LP, the *solver*, knows all transfers of a group of peers. Let `δ` be half of the least latency
//! between two peers. A message takes `δ` from the sender to the solver. The transfer begins there at
//! `t + δ`, and ends at `t + δ + T`. The message takes the other `λ - δ` to the receiver, which is at least
//! `δ`. So all transfers of the solver are those of the network, later by `δ`, and no arrival is early or
//! late. Senders and the solver have the lookahead `δ`. Without latency it is zero, and the engines that need
//! lookahead keep all in one partition.
//!
//! A rollback of the solver undoes the changes of each execution, and copies nothing.
//!
//! # Groups
//!
//! A solver is sequential: any transfer among its peers may change the rate of any other one. By default all
//! peers are one group. Peers that never exchange data, such as those of different swarms, can be divided
//! into groups ([`Capacity::with_groups`]). Each group has a solver, and different workers execute different
//! solvers. The arrivals are those of a single solver, since transfers without a common link do not change
//! each other's rates.
//!
//! # Limits
//!
//! A transfer stands for a reliable stream: jitter and loss of the underlay do not touch it. A partition of
//! the underlay does: a message that sets out during a partition is not delivered. A receiver that has gone
//! does not end a transfer, since its sender cannot know that; the transfer takes capacity until its last
//! bit.
//!
//! Results: `transfers` counts messages with data that have been transferred, `transfer_bits` their bits.
//!
//! *Read next*: [`Capacity`].

mod carrier;
mod groups;
mod journal;
mod packet;
mod save;
mod solver;

pub use carrier::Records;
pub use journal::Changes;
pub use packet::{Packet, Plan};
pub use solver::Solver;

use crate::Underlay;
use groups::Groups;
use parades_core::time::Delay;
use std::fmt;
use std::sync::Arc;

/// The carrier of a peer-to-peer program whose data shares access links.
///
/// # Examples
///
/// Two peers send a megabit each to a third. Its down link of 1 Mbit/s is shared, so both messages arrive
/// after two seconds, and the latency:
///
/// ```
/// use parades_carriers::{Capacity, Underlay};
/// use parades_core::prelude::*;
/// use parades_program::{Processes, Program, Start};
///
/// struct Meet(Capacity<u64>);
///
/// impl Program for Meet {
///     type Message = u64; // bits
///     type State = Option<Time>; // when the last message came
///     type Carrier = Capacity<u64>;
///     fn nodes(&self) -> u32 { 3 }
///     fn carrier(&self) -> &Capacity<u64> { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             if node.id() != LpId(2) {
///                 node.send(LpId(2), 1_000_000);
///                 return;
///             }
///             for _ in 0..2 { node.receive().await; }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, id: LpId, last: &Option<Time>, _: &End, _: &mut Metrics) {
///         assert!(id != LpId(2) || *last == Some(Time::from_ms(2_050)));
///     }
/// }
///
/// let underlay = Underlay::constant(Delay::from_ms(50));
/// let capacity = Capacity::new(underlay, vec![[10e6, 1e6]; 3], |&bits| bits as f64);
/// parades_engine::sequential::run(&Processes::new(Meet(capacity)), RunOptions::until(Time::from_secs(9)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub struct Capacity<M> {
    underlay: Underlay,
    /// The capacities of each peer's up link and down link, in bits per second.
    capacities: Arc<[[f64; 2]]>,
    /// The groups of peers, each with a solver.
    groups: Groups,
    bits: fn(&M) -> f64,
    /// The time from a sender to the solver: half of the least latency.
    lead: Delay,
}

impl<M> fmt::Debug for Capacity<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Capacity { underlay, capacities, groups, lead, .. } = self;
        let (peers, groups) = (capacities.len(), groups.number());
        write!(f, "Capacity({peers} peers in {groups} groups, {underlay:?}, {lead} to the solver)")
    }
}

impl<M> Capacity<M> {
    /// Makes the carrier. `underlay` has the latencies, [`Underlay::constant`] with [`Delay::ZERO`] for none.
    /// `capacities` are those of each peer's up link and down link, in bits per second. `bits` returns the
    /// bits of data of a message; a message without data has 0.
    ///
    /// # Panics
    ///
    /// If a capacity is not above zero, or not finite.
    pub fn new(underlay: Underlay, capacities: Vec<[f64; 2]>, bits: fn(&M) -> f64) -> Capacity<M> {
        let is_possible = |capacity: &f64| *capacity > 0.0 && capacity.is_finite();
        assert!(capacities.iter().flatten().all(is_possible), "a capacity is above zero, and finite");
        let peers = u32::try_from(capacities.len()).expect("peers are counted in 32 bits");
        let lead = underlay.least_latency(peers).map_or(Delay::ZERO, |least| Delay::from_ps(least.as_ps() / 2));
        let groups = Groups::new((0..peers).map(|_| 0));
        Capacity { underlay, capacities: capacities.into(), groups, bits, lead }
    }

    /// Divides the peers into groups that exchange no data with each other, each with a solver of its own.
    /// `of_peers` has the group of each peer, counted from 0. Messages without data pass between groups. A
    /// peer that sends data to another group ends the run with an error.
    ///
    /// # Panics
    ///
    /// If there is not one group for each peer, or if a group up to the last has no peer.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_carriers::{Capacity, Underlay};
    /// use parades_core::time::Delay;
    /// use parades_program::Carrier;
    ///
    /// let underlay = Underlay::constant(Delay::from_ms(50));
    /// let capacity = Capacity::new(underlay, vec![[10e6, 20e6]; 5], |&bits: &u64| bits as f64);
    /// assert_eq!(capacity.lps(5), 1);
    /// assert_eq!(capacity.with_groups(&[0, 0, 1, 1, 1]).lps(5), 2);
    /// ```
    #[must_use]
    pub fn with_groups(self, of_peers: &[u32]) -> Capacity<M> {
        let peers = self.capacities.len();
        assert_eq!(of_peers.len(), peers, "each peer is in a group");
        // Checked before there is memory for each group.
        assert!(of_peers.iter().all(|&group| (group as usize) < peers), "there are no more groups than peers");
        Capacity { groups: Groups::new(of_peers.iter().copied()), ..self }
    }
}

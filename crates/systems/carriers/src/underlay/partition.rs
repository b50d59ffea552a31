//! Partitions of the network: groups of peers that cannot reach each other for a time.

use super::error::UnderlayError;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};

/// A partition of the network between two times. Peers of different groups cannot reach each other. After
/// `end` the network is whole again.
///
/// A message between two groups is cut if the partition holds at any moment of its way: from its departure to
/// its arrival. A peer beyond the list of groups is in group 0.
///
/// # Examples
///
/// ```
/// use parades_carriers::underlay::Partition;
/// use parades_core::prelude::*;
///
/// let partition = Partition::new(Time::from_secs(10), Time::from_secs(20), vec![0, 0, 1])?;
/// let cuts = |to, sent_s, arrives_s| {
///     partition.cuts(LpId(0), LpId(to), Time::from_secs(sent_s), Time::from_secs(arrives_s))
/// };
/// assert!(cuts(2, 15, 16) && cuts(2, 9, 11) && cuts(2, 19, 21));
/// assert!(!cuts(1, 15, 16), "both are in one group");
/// assert!(!cuts(2, 8, 9) && !cuts(2, 20, 21), "the network is whole");
/// # Ok::<(), parades_carriers::underlay::UnderlayError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    start: Time,
    end: Time,
    groups: Box<[u16]>,
}

impl Partition {
    /// Makes a partition from `start`, included, to `end`, excluded. `groups` has the group of each peer.
    ///
    /// # Errors
    ///
    /// If the partition ends before it begins, or all peers are in one group.
    pub fn new(start: Time, end: Time, groups: Vec<u16>) -> Result<Partition, UnderlayError> {
        if end <= start {
            return Err(UnderlayError::Parameter("a partition must end after its start".to_owned()));
        }
        if groups.windows(2).all(|pair| pair[0] == pair[1]) {
            return Err(UnderlayError::Parameter("a partition needs peers in at least two groups".to_owned()));
        }
        Ok(Partition { start, end, groups: groups.into() })
    }

    /// Makes a partition of `peers` peers in groups whose sizes differ by one at most. Each division is
    /// equally likely.
    ///
    /// # Errors
    ///
    /// As [`Partition::new`].
    pub fn random(start: Time, end: Time, peers: u32, groups: u16, rng: &Rng) -> Result<Partition, UnderlayError> {
        if groups == 0 || u32::from(groups) > peers {
            let message = format!("{peers} peers cannot be parted into {groups} groups");
            return Err(UnderlayError::Parameter(message));
        }
        let mut of_peers: Vec<u16> = (0..groups).cycle().take(peers as usize).collect();
        for last in (1..of_peers.len()).rev() {
            let other = rng.below(last as u64 + 1);
            of_peers.swap(last, usize::try_from(other).expect("the draw is at most `last`"));
        }
        Partition::new(start, end, of_peers)
    }

    /// Returns true if the partition cuts a message between two peers that departs and arrives at these
    /// times.
    #[inline]
    pub fn cuts(&self, from: LpId, to: LpId, departs: Time, arrives: Time) -> bool {
        departs < self.end && arrives >= self.start && self.group(from) != self.group(to)
    }

    #[inline]
    fn group(&self, peer: LpId) -> u16 {
        self.groups.get(peer.index()).copied().unwrap_or(0)
    }

    /// Returns the length of the partition.
    pub fn duration(&self) -> Delay {
        self.end.since(self.start)
    }
}

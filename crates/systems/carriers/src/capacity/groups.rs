//! Groups of peers that exchange no data with each other.

use parades_core::event::LpId;

/// The groups of the peers of a carrier.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// The seat of each peer.
    seats: Vec<Seat>,
    /// The peers of each group, in order.
    members: Vec<Vec<u32>>,
}

/// A peer's group, and its index among the peers of that group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) group: u32,
    pub(super) index: u32,
}

impl Groups {
    /// Makes the groups, given the group of each peer.
    ///
    /// # Panics
    ///
    /// If a group up to the last has no peer.
    pub(super) fn new(of_peers: impl IntoIterator<Item = u32>) -> Groups {
        let mut groups = Groups { seats: Vec::new(), members: vec![Vec::new()] };
        for (peer, group) in (0..).zip(of_peers) {
            let number = groups.members.len().max(group as usize + 1);
            groups.members.resize(number, Vec::new());
            let members = &mut groups.members[group as usize];
            let index = u32::try_from(members.len()).expect("peers are counted in 32 bits");
            members.push(peer);
            groups.seats.push(Seat { group, index });
        }
        let is_full = groups.members.iter().all(|members| !members.is_empty());
        assert!(is_full || groups.seats.is_empty(), "each group up to the last has a peer");
        groups
    }

    /// Returns the number of groups, at least 1.
    pub(super) fn number(&self) -> u32 {
        u32::try_from(self.members.len()).expect("peers, and so groups, are counted in 32 bits")
    }

    /// Returns the peers of a group, in order.
    pub(super) fn members(&self, group: u32) -> &[u32] {
        &self.members[group as usize]
    }

    /// Returns the seat of a peer.
    #[inline]
    pub(super) fn seat(&self, peer: LpId) -> Seat {
        self.seats[peer.index()]
    }
}

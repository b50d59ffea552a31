//! The endpoints of each node.
//!
//! An endpoint's *address* is the direction of the packets that it sends. The end that begins flow `f` has
//! address `2f`, the other end `2f + 1`. The addresses of the sources of groups follow those of all flows. A
//! receiver of a group is the other end of its flow; no endpoint begins that flow.

use parades_topology::NodeId;

/// The addresses of the endpoints at all nodes, in compressed sparse rows. An endpoint's *slot* is its place
/// at its node.
#[derive(Debug)]
pub(crate) struct Slots {
    first: Box<[u32]>,
    addresses: Box<[u32]>,
    /// The address of the source of the first group.
    first_group: u32,
    /// The first flow of each group.
    flow_of_group: Box<[u32]>,
}

impl Slots {
    /// Lays out endpoints. `endpoints` has the node and the address of each, in the order of flows.
    pub(super) fn new(nodes: usize, endpoints: &[(NodeId, u32)], first_group: u32, flow_of_group: Vec<u32>) -> Slots {
        let mut first = vec![0; nodes + 1];
        for (node, _) in endpoints {
            first[node.index() + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut free = first.clone();
        let mut addresses = vec![0; endpoints.len()];
        for &(node, address) in endpoints {
            let place = &mut free[node.index()];
            addresses[*place as usize] = address;
            *place += 1;
        }
        Slots { first: first.into(), addresses: addresses.into(), first_group, flow_of_group: flow_of_group.into() }
    }

    /// Returns the addresses of the endpoints at a node, by slot.
    #[inline]
    pub(crate) fn of(&self, node: NodeId) -> &[u32] {
        &self.addresses[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// Returns the flow of the endpoint of an address, and true if the endpoint begins it. For the source of
    /// a group, the flow is that of the group's first receiver.
    #[inline]
    pub(crate) fn role(&self, address: u32) -> (u32, bool) {
        match address.checked_sub(self.first_group) {
            Some(group) => (self.flow_of_group[group as usize], true),
            None => (address / 2, address.is_multiple_of(2)),
        }
    }

    /// Returns the address of the endpoint that gets packets of a direction. For a group, it is the source's.
    #[inline]
    pub(crate) fn receiver(&self, direction: u32) -> u32 {
        if direction < self.first_group { direction ^ 1 } else { direction }
    }

    /// Returns the group whose source has this address.
    #[inline]
    pub(crate) fn group(&self, address: u32) -> Option<u32> {
        address.checked_sub(self.first_group)
    }

    /// Returns the address of the source of the group to which a flow belongs. `None` before the first group.
    pub(crate) fn group_of(&self, flow: u32) -> Option<u32> {
        let after = self.flow_of_group.partition_point(|&first| first <= flow);
        let group = u32::try_from(after.checked_sub(1)?).expect("groups are counted in 32 bits");
        Some(self.first_group + group)
    }

    /// Returns the number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.flow_of_group.len()
    }

    /// Returns one more than the greatest address.
    pub(crate) fn end(&self) -> u32 {
        self.first_group + u32::try_from(self.groups()).expect("groups are counted in 32 bits")
    }

    /// Returns the slot of each end of all flows, by address, given the number of flows.
    pub(super) fn by_address(&self, flows: usize) -> Vec<u32> {
        let mut slots = vec![0; flows * 2];
        for bounds in self.first.windows(2) {
            for (slot, &address) in (0..).zip(&self.addresses[bounds[0] as usize..bounds[1] as usize]) {
                if let Some(place) = slots.get_mut(address as usize) {
                    *place = slot;
                }
            }
        }
        slots
    }
}

//! The constants of a network.

use super::Vocabulary;
use super::slots::Slots;
use crate::description::{App, AppKind, Ends, Measure};
use crate::forwarding::Forwarding;
use crate::line::{Lines, Presence};
use crate::protocols::tcp::ENDLESS;
use crate::report;
use parades_capture::address::IpVersion;
use parades_core::event::LpId;
use parades_core::time::Time;
use parades_topology::{NodeId, Topology};

/// Everything that is fixed when a network is made. Functions that take it instead of a [`Network`] are
/// compiled once, and not for each type of records.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) topology: Topology,
    pub(crate) lines: Lines,
    /// The name of each link. Empty if links have no names.
    pub(crate) link_names: Vec<String>,
    /// The absences of each node. Empty if no node ever goes away.
    pub(super) presence: Box<[Presence]>,
    /// The names and the protocols of all apps. Their flows are in `flows`.
    pub(crate) apps: Vec<App>,
    pub(crate) flows: Vec<Ends>,
    pub(crate) app_of_flow: Box<[u32]>,
    /// True if an app marks its packets: with a class, or as packets that routers may mark.
    pub(super) has_marks: bool,
    pub(crate) slots: Slots,
    pub(crate) forwarding: Forwarding,
    /// The times at which paths may change, ascending: links change, and routes follow.
    pub(crate) turns: Box<[Time]>,
    /// Those times, and the times at which rates change, ascending.
    pub(crate) changes: Box<[Time]>,
    pub(crate) ip: IpVersion,
    pub(crate) headers: u32,
    /// The bytes of the smallest packet, headers included.
    pub(super) packet_min: u32,
    pub(crate) measure: Measure,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) ids: report::Ids,
}

impl Layout {
    /// Returns the source and the destination of packets of a direction. The destination of a group's packets
    /// is the group, by a number above those of nodes.
    pub(crate) fn hosts_of(&self, direction: u32) -> [u32; 2] {
        if let Some(group) = self.slots.group(direction) {
            let (first, _) = self.slots.role(direction);
            return [self.flows[first as usize].source.0, !group];
        }
        let ends = &self.flows[(direction / 2) as usize];
        let [source, destination] = [ends.source.0, ends.destination.0];
        if direction.is_multiple_of(2) { [source, destination] } else { [destination, source] }
    }

    /// Returns true if some flows are TCP connections.
    pub(crate) fn has_connections(&self) -> bool {
        self.apps.iter().any(|app| matches!(app.kind, AppKind::Tcp(_) | AppKind::Stream(_)))
    }

    /// Returns true if some flows have an end that the time from their start is measured to.
    pub(crate) fn has_ends(&self) -> bool {
        self.apps.iter().any(|app| measures_ends(&app.kind))
    }

    /// Returns the times between two at which links or routes may change, ascending.
    pub(crate) fn changes_between(&self, after: Time, before: Time) -> impl Iterator<Item = Time> {
        let first = self.changes.partition_point(|time| *time <= after);
        let end = self.changes.partition_point(|time| *time < before);
        self.changes.get(first..end).unwrap_or_default().iter().copied()
    }

    /// Returns the protocol of a flow.
    #[inline]
    pub(crate) fn kind_of(&self, flow: u32) -> &AppKind {
        &self.apps[self.app_of_flow[flow as usize] as usize].kind
    }

    /// Returns the key that counts the packets lost on the way to a place of a tree. It is above the keys of
    /// all directions.
    pub(super) fn lost_key(&self, place: u32) -> u32 {
        self.slots.end() + place
    }

    /// Returns the failure that loses packets which leave a node by a port at `now`, if the link is down or
    /// goes down before they arrive.
    pub(crate) fn failure_of(&self, node: NodeId, port: u32, now: Time) -> Option<u32> {
        let link = self.topology.interfaces(node)[port as usize].link;
        self.forwarding.failures.of_loss(&self.topology, &self.lines, link, now)
    }

    /// Returns the key that counts the packets lost at a failure. It is above all other keys.
    pub(crate) fn failure_key(&self, failure: u32) -> u32 {
        let places = u32::try_from(self.forwarding.trees.places()).expect("places are counted in 32 bits");
        self.lost_key(places) + failure
    }

    /// Returns the place of a key made by [`Layout::lost_key`]; `None` for a direction.
    pub(crate) fn place_of_key(&self, key: u32) -> Option<u32> {
        key.checked_sub(self.slots.end())
    }

    /// Returns the time at which a node is back, if it is away at `now`.
    #[inline]
    pub(super) fn away_until(&self, node: LpId, now: Time) -> Option<Time> {
        self.presence.get(node.index())?.away_until(now)
    }
}

/// Returns true if the time to the end of flows, or of the responses to their requests, is measured.
pub(crate) fn measures_ends(kind: &AppKind) -> bool {
    matches!(kind, AppKind::Transfer(_) | AppKind::Requests(_) | AppKind::Tcp(_))
}

/// Returns true if flows have an end that does not depend on the length of the run.
pub(crate) fn has_end(kind: &AppKind) -> bool {
    match kind {
        AppKind::Transfer(_) => true,
        AppKind::Requests(requests) => requests.count < u64::MAX,
        AppKind::Tcp(tcp) => tcp.bytes < ENDLESS,
        AppKind::Datagrams(_) | AppKind::Multicast(_) | AppKind::Other(_) | AppKind::Stream(_) => false,
    }
}

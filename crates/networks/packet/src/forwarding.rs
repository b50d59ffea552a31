//! Forwarding: the decision of a node about a packet.
//!
//! There is one question, [`Forwarding::next`], and three stores that answer it. A packet's *step* selects
//! the store:
//!
//! - *Source routes* ([`routes`]), for flows of a network whose links do not change: the step is a place in
//!   the list of the steps of all routes. A packet needs one word of that list at each hop.
//! - *Tables* ([`tables`]), for flows of a network whose links change: all packets have the step [`LOOK_UP`],
//!   and a node looks up the next hop for the flow's direction in the table that holds at the time.
//! - *Trees* ([`trees`]), for multicast groups: steps beyond the list of routes are places in trees. A tree
//!   does not change, so a failure cuts off the receivers behind it.
//!
//! Where several paths are equally short, routes and tables make the same choice, by a hash of the flow's
//! direction and the node. So both lead a packet along the same path.

pub(crate) mod failures;
pub(crate) mod fixed;
pub(crate) mod routes;
pub(crate) mod tables;
pub(crate) mod trees;

use crate::description::Event;
use crate::line::Lines;
use crate::packet::Packet;
use crate::record::Record;
use failures::{Failures, Ground, Sender};
use parades_core::time::{Delay, Time};
use parades_topology::routing::RoutingError;
use parades_topology::{NodeId, Topology};
use routes::{ARRIVED, SourceRoutes, Step};
use std::num::NonZeroU32;
use tables::Tables;
use trees::{Hop, Place, Trees};

/// The step of packets that look up their next hop in tables. No source route has this step.
const LOOK_UP: NonZeroU32 = NonZeroU32::MIN;

/// The paths of all flows and groups.
#[derive(Debug)]
pub(crate) struct Forwarding {
    pub(crate) routes: SourceRoutes,
    /// The failures of links and nodes.
    pub(crate) failures: Failures,
    tables: Option<Tables>,
    pub(crate) trees: Trees,
    /// The step of the first place of all trees.
    first_place: NonZeroU32,
}

/// The action of a node on a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    /// The node sends the packet by one of its ports.
    Port(Exit),
    /// The node gives the packet to one of its endpoints.
    Endpoint(u32),
    /// The node sends copies by several ports, and may give one copy to an endpoint.
    Copies(&'a Place, &'a [Hop]),
    /// The node has no path for the packet.
    Nowhere,
}

/// A port by which a packet leaves a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    pub(crate) port: u32,
    /// The kind of the port's line.
    pub(crate) kind: u32,
    /// The step of the packet at the next node.
    pub(crate) step: NonZeroU32,
}

impl Forwarding {
    /// Puts the stores together.
    pub(crate) fn new(routes: SourceRoutes, tables: Option<Tables>, trees: Trees) -> Result<Forwarding, RoutingError> {
        let first_place = u32::try_from(routes.steps()).ok().and_then(NonZeroU32::new);
        let first_place = first_place.ok_or(RoutingError::TooLarge)?;
        u32::try_from(routes.steps() + trees.places()).map_err(|_| RoutingError::TooLarge)?;
        Ok(Forwarding { routes, failures: Failures::default(), tables, trees, first_place })
    }

    /// Finds the failures among events, and the flows that each concerns.
    pub(crate) fn find_failures(
        &mut self,
        topology: &Topology,
        lines: &Lines,
        events: &[Event],
        convergence: Delay,
        senders: impl FnOnce() -> Vec<Sender>,
    ) {
        self.failures = Failures::of(events);
        if let Some(tables) = &self.tables
            && !self.failures.all().is_empty()
        {
            let ground = Ground { topology, lines, tables, trees: &self.trees };
            self.failures.count(ground, convergence, &senders());
        }
    }

    /// Returns the first step of a packet of a direction.
    #[inline]
    pub(crate) fn first_step(&self, direction: u32) -> NonZeroU32 {
        match self.trees.root(direction) {
            Some(place) => self.step_of_place(place),
            None if self.tables.is_some() => LOOK_UP,
            None => self.routes.first(direction),
        }
    }

    /// Returns the tables, if packets of a direction look up their next hops.
    pub(crate) fn tables_of(&self, direction: u32) -> Option<&Tables> {
        self.tables.as_ref().filter(|_| self.trees.root(direction).is_none())
    }

    /// Returns the action of a node on a packet.
    #[inline(always)]
    pub(crate) fn next<D: Record>(&self, node: NodeId, packet: &Packet<D>, now: Time) -> Next<'_> {
        let step = packet.step();
        match self.routes.get(step) {
            Some(Step { interface: ARRIVED, .. }) if step == LOOK_UP => {
                let tables = self.tables.as_ref().expect("packets are looked up where there are tables");
                tables.next(node, packet.direction(), now)
            }
            Some(Step { interface: ARRIVED, kind_or_slot }) => Next::Endpoint(kind_or_slot),
            Some(Step { interface: port, kind_or_slot }) => {
                Next::Port(Exit { port, kind: kind_or_slot, step: step.saturating_add(1) })
            }
            None => {
                let (place, hops) = self.trees.at(step.get() - self.first_place.get());
                Next::Copies(place, hops)
            }
        }
    }

    /// Returns true if a packet that was read is led from `node` to endpoints that `receives` names by their
    /// node and slot. Where tables lead it, it is led from anywhere.
    pub(crate) fn leads<D: Record>(
        &self,
        topology: &Topology,
        lines: &Lines,
        node: NodeId,
        packet: &Packet<D>,
        receives: impl Fn(NodeId, u32) -> bool,
    ) -> bool {
        let exit = |node: NodeId, port: u32, kind: u32| {
            let end = topology.interfaces(node).get(port as usize);
            end.filter(|end| lines.kind_by(topology, **end) == kind).map(|end| end.neighbour)
        };
        if packet.step() == LOOK_UP {
            return self.tables_of(packet.direction()).is_some();
        }
        let (mut node, mut step) = (node, packet.step());
        while let Some(Step { interface, kind_or_slot }) = self.routes.get(step) {
            if interface == ARRIVED {
                return receives(node, kind_or_slot);
            }
            let Some(next) = exit(node, interface, kind_or_slot) else { return false };
            (node, step) = (next, step.saturating_add(1));
        }
        let Some(place) = self.place_of(step) else { return false };
        let mut to_visit = vec![(place, node)];
        while let Some((place, node)) = to_visit.pop() {
            if place as usize >= self.trees.places() {
                return false;
            }
            let (place, hops) = self.trees.at(place);
            if place.receiver().is_some_and(|slot| !receives(node, slot)) {
                return false;
            }
            for hop in hops {
                let Some(next) = exit(node, hop.port, hop.kind) else { return false };
                to_visit.push((hop.to, next));
            }
        }
        true
    }

    /// Returns the step of a place in a tree.
    #[inline]
    pub(crate) fn step_of_place(&self, place: u32) -> NonZeroU32 {
        self.first_place.saturating_add(place)
    }

    /// Returns the place in a tree to which a packet is on its way; `None` for a packet of a flow.
    pub(crate) fn place_of(&self, step: NonZeroU32) -> Option<u32> {
        step.get().checked_sub(self.first_place.get())
    }
}

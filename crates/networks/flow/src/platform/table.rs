//! Declared routes.

use super::{LinkId, PointId};
use std::collections::BTreeMap;

/// The two gateways of a route between zones. `None` for a route between hosts and routers.
pub(crate) type Gateways = Option<(PointId, PointId)>;

/// A declared route from one member of a zone to another. The route between two hosts may consist of several
/// legs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) links: Box<[LinkId]>,
    pub(crate) gateways: Gateways,
}

/// The legs of a zone, by the indices of the two members.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) legs: BTreeMap<(u32, u32), Leg>,
}

impl Table {
    /// Adds a leg. Returns false, and changes nothing, if the table has a leg between these members.
    pub(crate) fn add(&mut self, from: u32, to: u32, leg: Leg) -> bool {
        match self.legs.entry((from, to)) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(leg);
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    /// Returns the leg between two members.
    pub(crate) fn get(&self, from: u32, to: u32) -> Option<&Leg> {
        self.legs.get(&(from, to))
    }
}

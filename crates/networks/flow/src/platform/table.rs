//! Routes that are given one by one.

use super::{LinkId, PointId};
use std::collections::BTreeMap;

/// Where a route between zones begins and ends.
pub(crate) type Gateways = Option<(PointId, PointId)>;

/// A route from a member of a zone to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) links: Box<[LinkId]>,
    pub(crate) gateways: Gateways,
}

/// Legs by their members' places in the zone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) legs: BTreeMap<(u32, u32), Leg>,
}

impl Table {
    /// Adds a leg; `false` if there is one already.
    pub(crate) fn add(&mut self, from: u32, to: u32, leg: Leg) -> bool {
        match self.legs.entry((from, to)) {
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(leg);
                true
            }
            std::collections::btree_map::Entry::Occupied(_) => false,
        }
    }

    pub(crate) fn get(&self, from: u32, to: u32) -> Option<&Leg> {
        self.legs.get(&(from, to))
    }
}

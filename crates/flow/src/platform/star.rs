//! Members around a centre: a route goes up from the one and down to the other.

use super::{LinkId, PointId};
use std::collections::BTreeMap;

/// What lies between a member and the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// From the member to the centre; `None` where nobody said.
    pub(crate) up: Option<Box<[LinkId]>>,
    /// From the centre to the member.
    pub(crate) down: Option<Box<[LinkId]>>,
    /// From the member to itself.
    pub(crate) loopback: Option<Box<[LinkId]>>,
    /// Where a member that is a zone is entered and left.
    pub(crate) gateway: Option<PointId>,
}

/// The branches, by the member's place in the zone. A member without one is at the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    pub(crate) branches: BTreeMap<u32, Branch>,
}

impl Star {
    /// The links from one member to another, none of them twice: both may share a backbone.
    pub(crate) fn links(&self, from: u32, to: u32) -> Result<Vec<LinkId>, &'static str> {
        let centre = Branch { up: Some(Box::default()), down: Some(Box::default()), ..Branch::default() };
        let source = self.branches.get(&from).unwrap_or(&centre);
        let destination = self.branches.get(&to).unwrap_or(&centre);
        if let (true, Some(loopback)) = (from == to, &source.loopback) {
            return Ok(unique(loopback.iter().copied()));
        }
        let up = source.up.as_deref().ok_or("the first has no link up")?;
        let down = destination.down.as_deref().ok_or("the second has no link down")?;
        Ok(unique(up.iter().chain(down).copied()))
    }

    /// Where a route between members leaves the one and enters the other, if they are zones.
    pub(crate) fn gateway(&self, member: u32) -> Option<PointId> {
        self.branches.get(&member)?.gateway
    }
}

fn unique(links: impl Iterator<Item = LinkId>) -> Vec<LinkId> {
    let mut kept: Vec<LinkId> = Vec::new();
    for link in links {
        if !kept.contains(&link) {
            kept.push(link);
        }
    }
    kept
}

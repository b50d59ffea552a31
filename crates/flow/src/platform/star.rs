//! Members around a centre: a route goes up from the one and down to the other.

use super::LinkId;

/// What lies between a member and the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// From the member to the centre; `None` where nobody said.
    pub(crate) up: Option<Box<[LinkId]>>,
    /// From the centre to the member.
    pub(crate) down: Option<Box<[LinkId]>>,
    /// From the member to itself.
    pub(crate) loopback: Option<Box<[LinkId]>>,
}

/// The branches, by the member's place in the zone. A member without one is at the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    branches: Vec<Option<Branch>>,
}

impl Star {
    fn branch(&self, member: u32) -> Option<&Branch> {
        self.branches.get(member as usize)?.as_ref()
    }

    /// The branch of a member, a new one if it has none.
    pub(crate) fn branch_mut(&mut self, member: u32) -> &mut Branch {
        if self.branches.len() <= member as usize {
            self.branches.resize(member as usize + 1, None);
        }
        self.branches[member as usize].get_or_insert_default()
    }

    /// Adds the links from one member to another, none of them twice: both may share a backbone.
    #[inline]
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), &'static str> {
        let (source, destination) = (self.branch(from), self.branch(to));
        let first = links.len();
        let mut add = |way: &[LinkId]| {
            for link in way {
                if !links[first..].contains(link) {
                    links.push(*link);
                }
            }
        };
        if let (true, Some(loopback)) = (from == to, source.and_then(|branch| branch.loopback.as_deref())) {
            add(loopback);
            return Ok(());
        }
        let up = source.map_or(Some(&[][..]), |branch| branch.up.as_deref()).ok_or("the first has no link up")?;
        let down = destination.map_or(Some(&[][..]), |branch| branch.down.as_deref());
        let down = down.ok_or("the second has no link down")?;
        add(up);
        add(down);
        Ok(())
    }
}

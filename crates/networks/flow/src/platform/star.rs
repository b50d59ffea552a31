//! Members around a centre: a route goes up from the one and down to the other.

use super::LinkId;
use std::ops::Deref;

/// A few links one after another, none of them twice; without memory of their own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few {
    /// After them, what is no link.
    links: [LinkId; Few::MAX],
    count: u32,
}

impl Few {
    /// A limiter, a link of one's own and a backbone.
    const MAX: usize = 3;
    const NONE: Few = Few { links: [LinkId(u32::MAX); Few::MAX], count: 0 };

    #[inline]
    fn has(&self, link: LinkId) -> bool {
        let [first, second, third] = self.links;
        (first == link) | (second == link) | (third == link)
    }
}

impl Default for Few {
    fn default() -> Few {
        Few::NONE
    }
}

impl FromIterator<LinkId> for Few {
    fn from_iter<I: IntoIterator<Item = LinkId>>(links: I) -> Few {
        let mut few = Few::default();
        for link in links {
            // Somebody may have named the backbone twice.
            if few.has(link) {
                continue;
            }
            few.links[few.count as usize] = link;
            few.count += 1;
        }
        few
    }
}

impl Deref for Few {
    type Target = [LinkId];

    #[inline]
    fn deref(&self) -> &[LinkId] {
        &self.links[..self.count as usize]
    }
}

/// What lies between a member and the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// From the member to the centre; none where nobody said.
    pub(crate) up: Few,
    /// From the centre to the member; none where nobody said.
    pub(crate) down: Few,
    /// From the member to itself.
    pub(crate) loopback: Option<LinkId>,
}

/// The branches, by the member's place in the zone. A member without one is at the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    branches: Vec<Option<Branch>>,
}

impl Star {
    #[inline]
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

    /// Tells the links from one member to another, none of them twice: both may share a backbone.
    #[inline]
    pub(crate) fn links(&self, from: u32, to: u32, mut add: impl FnMut(LinkId)) -> Result<(), &'static str> {
        let (source, destination) = (self.branch(from), self.branch(to));
        if let (true, Some(loopback)) = (from == to, source.and_then(|branch| branch.loopback)) {
            add(loopback);
            return Ok(());
        }
        let (up, down) =
            (source.map_or(&Few::NONE, |branch| &branch.up), destination.map_or(&Few::NONE, |branch| &branch.down));
        if source.is_some() && up.is_empty() {
            return Err("the first has no link up");
        }
        if destination.is_some() && down.is_empty() {
            return Err("the second has no link down");
        }
        for &link in &**up {
            add(link);
        }
        for &link in &**down {
            if !up.has(link) {
                add(link);
            }
        }
        Ok(())
    }
}

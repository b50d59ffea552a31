//! A star: members around a centre. A route goes up from the source to the centre, and down to the
//! destination.

use super::LinkId;
use std::ops::Deref;

/// The links of one half of a route, at most [`BranchLinks::MAX`], without repetition and without allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchLinks {
    /// The first `count` are links; the remainder hold [`BranchLinks::UNUSED`].
    links: [LinkId; BranchLinks::MAX],
    count: u32,
}

impl BranchLinks {
    /// A limiter, the member's own link and a backbone.
    const MAX: usize = 3;
    /// An id that no link has, so that `has` may compare all places.
    const UNUSED: LinkId = LinkId(u32::MAX);
    const EMPTY: BranchLinks = BranchLinks { links: [BranchLinks::UNUSED; BranchLinks::MAX], count: 0 };

    #[inline]
    fn has(&self, link: LinkId) -> bool {
        let [first, second, third] = self.links;
        (first == link) | (second == link) | (third == link)
    }
}

impl Default for BranchLinks {
    fn default() -> BranchLinks {
        BranchLinks::EMPTY
    }
}

impl FromIterator<LinkId> for BranchLinks {
    fn from_iter<I: IntoIterator<Item = LinkId>>(links: I) -> BranchLinks {
        let mut branch = BranchLinks::default();
        for link in links {
            // A file may name the backbone as a host's link too.
            if branch.has(link) {
                continue;
            }
            branch.links[branch.count as usize] = link;
            branch.count += 1;
        }
        branch
    }
}

impl Deref for BranchLinks {
    type Target = [LinkId];

    #[inline]
    fn deref(&self) -> &[LinkId] {
        &self.links[..self.count as usize]
    }
}

/// The links between a member and the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// From the member to the centre; empty if the file declares none.
    pub(crate) up: BranchLinks,
    /// From the centre to the member; empty if the file declares none.
    pub(crate) down: BranchLinks,
    /// From the member to itself.
    pub(crate) loopback: Option<LinkId>,
}

/// The branches of a star, by the member's index in the zone. A member without a branch is at the centre.
#[derive(Clone, Debug, Default)]
pub(crate) struct Star {
    branches: Vec<Option<Branch>>,
}

impl Star {
    #[inline]
    fn branch(&self, member: u32) -> Option<&Branch> {
        self.branches.get(member as usize)?.as_ref()
    }

    /// Returns the branch of a member. Adds an empty branch if the member has none.
    pub(crate) fn branch_mut(&mut self, member: u32) -> &mut Branch {
        if self.branches.len() <= member as usize {
            self.branches.resize(member as usize + 1, None);
        }
        self.branches[member as usize].get_or_insert_default()
    }

    /// Returns all links of the star; one that several members use comes several times.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = LinkId> {
        let branches = self.branches.iter().flatten();
        branches.flat_map(|Branch { up, down, loopback }| up.iter().chain(&**down).copied().chain(*loopback))
    }

    /// Calls `add` with each link of the route from one member to another. A backbone in both branches is
    /// added once.
    ///
    /// # Errors
    ///
    /// If a branch of the route has no links; the text completes the sentence of the caller.
    #[inline]
    pub(crate) fn links(&self, from: u32, to: u32, mut add: impl FnMut(LinkId)) -> Result<(), &'static str> {
        let (source, destination) = (self.branch(from), self.branch(to));
        if let (true, Some(loopback)) = (from == to, source.and_then(|branch| branch.loopback)) {
            add(loopback);
            return Ok(());
        }
        let up = source.map_or(&BranchLinks::EMPTY, |branch| &branch.up);
        let down = destination.map_or(&BranchLinks::EMPTY, |branch| &branch.down);
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

//! The ids of a carrier's LPs, and the channels that it declares.

use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::time::Delay;

/// The ids of the nodes and of a carrier's own LPs. Nodes have the ids from 0. The carrier's LPs follow,
/// after those of another carrier if the program has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    nodes: u32,
    first: u32,
    lps: u32,
}

impl Layout {
    /// The layout of a carrier whose own LPs are the `lps` ids from `first` on.
    pub fn new(nodes: u32, first: u32, lps: u32) -> Layout {
        Layout { nodes, first, lps }
    }

    /// Returns the number of nodes.
    #[inline]
    pub fn nodes(self) -> u32 {
        self.nodes
    }

    /// Returns the number of LPs that the carrier has of its own.
    #[inline]
    pub fn lps(self) -> u32 {
        self.lps
    }

    /// Returns the id of the carrier's own LP `index`, counted from 0.
    #[inline]
    pub fn own(self, index: u32) -> LpId {
        LpId(self.first + index)
    }

    /// Returns the index of an LP among the carrier's own; `None` for a node, or for an LP of another
    /// carrier.
    #[inline]
    pub fn index(self, id: LpId) -> Option<u32> {
        id.0.checked_sub(self.first).filter(|&index| index < self.lps)
    }
}

/// The channels of a program, as its carriers declare them.
///
/// Two LPs may have several channels; the first that a sender declares by pair is its
/// [`Port`](parades_core::channel::Port) 0. If several declarations allow a sender to send to anyone, the
/// least delay holds, within groups and between them. If two carriers put an LP into different groups, no
/// groups are declared.
#[derive(Debug)]
pub struct Wiring {
    nodes: u32,
    lps: u32,
    pairs: Vec<(LpId, LpId, Delay)>,
    /// The least delay with which each node may send to anyone.
    nodes_to_anyone: Option<Delay>,
    /// The least delays with which each LP may send to anyone, by id. The list ends with the last LP that has
    /// such a declaration.
    to_anyone: Vec<Option<Reach>>,
    /// True if an LP was put into two groups.
    groups_differ: bool,
}

/// The least delays with which an LP may send to anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    /// The group of the LP.
    group: Option<u32>,
    /// The least delay within the group.
    inside: Delay,
    /// The least delay to LPs of other groups.
    outside: Delay,
}

impl Wiring {
    /// Makes the wiring of a model of `lps` LPs, of which the first are nodes. Nothing is declared yet.
    pub fn new(nodes: u32, lps: u32) -> Wiring {
        Wiring { nodes, lps, pairs: Vec::new(), nodes_to_anyone: None, to_anyone: Vec::new(), groups_differ: false }
    }

    /// Declares a channel from one LP to another.
    pub fn connect(&mut self, sender: LpId, receiver: LpId, lookahead: Delay) {
        self.pairs.push((sender, receiver, lookahead));
    }

    /// Declares that `sender` may send to anyone with at least `lookahead`.
    pub fn to_anyone(&mut self, sender: LpId, lookahead: Delay) {
        self.reach(sender, Reach { group: None, inside: lookahead, outside: lookahead });
    }

    /// Declares that `sender`, which belongs to `group`, may send within its group with at least `inside`,
    /// and to LPs of other groups with at least `outside`; see [`Channels::to_other_groups`].
    pub fn to_groups(&mut self, sender: LpId, group: u32, inside: Delay, outside: Delay) {
        self.reach(sender, Reach { group: Some(group), inside: inside.min(outside), outside });
    }

    fn reach(&mut self, sender: LpId, reach: Reach) {
        if self.to_anyone.len() <= sender.index() {
            self.to_anyone.resize(sender.index() + 1, None);
        }
        let known = &mut self.to_anyone[sender.index()];
        let Some(known) = known else {
            *known = Some(reach);
            return;
        };
        self.groups_differ |= known.group.zip(reach.group).is_some_and(|(known, group)| known != group);
        known.group = known.group.or(reach.group);
        known.inside = known.inside.min(reach.inside);
        known.outside = known.outside.min(reach.outside);
    }

    /// Declares that each node may send to anyone with at least `lookahead`.
    pub fn nodes_to_anyone(&mut self, lookahead: Delay) {
        self.nodes_to_anyone = Some(self.nodes_to_anyone.map_or(lookahead, |known| known.min(lookahead)));
    }

    /// Returns the least delay with which an LP may send to anyone.
    fn anyone(&self, lp: u32) -> Option<Delay> {
        let own = self.to_anyone.get(lp as usize).copied().flatten().map(|reach| reach.inside);
        own.into_iter().chain(self.as_node(lp)).min()
    }

    /// Returns the least delay with which an LP may send to anyone because it is a node.
    fn as_node(&self, lp: u32) -> Option<Delay> {
        self.nodes_to_anyone.filter(|_| lp < self.nodes)
    }

    /// Returns the delay with which every LP may send to anyone, if all have the same.
    fn whole(&self) -> Option<Delay> {
        let whole = self.nodes_to_anyone?;
        let no_exceptions = self.to_anyone.iter().take(self.nodes as usize).all(Option::is_none);
        (no_exceptions && (self.nodes..self.lps).all(|lp| self.anyone(lp) == Some(whole))).then_some(whole)
    }

    /// Returns the channels, as the model declares them to the kernel.
    pub fn into_channels(self) -> Channels {
        let mut channels = match self.whole() {
            Some(whole) => Channels::whole(whole),
            None => {
                let mut channels = Channels::none();
                for lp in 0..self.lps {
                    if let Some(lookahead) = self.anyone(lp) {
                        channels.to_anyone(LpId(lp), lookahead);
                    }
                }
                channels
            }
        };
        for (lp, reach) in (0..).zip(&self.to_anyone).filter(|_| !self.groups_differ) {
            if let Some(Reach { group: Some(group), outside, .. }) = *reach {
                let outside = self.as_node(lp).map_or(outside, |as_node| as_node.min(outside));
                channels.to_other_groups(LpId(lp), group, outside);
            }
        }
        for (sender, receiver, lookahead) in self.pairs {
            channels.connect(sender, receiver, lookahead);
        }
        channels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Delay = Delay::from_us(1);
    const LONG: Delay = Delay::from_us(5);

    #[test]
    fn what_all_lps_may_do_is_declared_for_the_whole_model() {
        let mut wiring = Wiring::new(3, 3);
        wiring.nodes_to_anyone(LONG);
        wiring.nodes_to_anyone(SHORT);
        assert_eq!(wiring.into_channels(), Channels::whole(SHORT));
        let mut wiring = Wiring::new(3, 4);
        wiring.nodes_to_anyone(SHORT);
        wiring.to_anyone(LpId(3), SHORT);
        assert_eq!(wiring.into_channels(), Channels::whole(SHORT));
    }

    #[test]
    fn the_lps_of_one_carrier_are_not_bound_by_what_nodes_may_do() {
        let mut wiring = Wiring::new(2, 4);
        wiring.nodes_to_anyone(SHORT);
        wiring.to_anyone(LpId(1), LONG);
        wiring.to_anyone(LpId(3), LONG);
        let channels = wiring.into_channels();
        let found = [0, 1, 2, 3].map(|lp| channels.lookahead_to_anyone(LpId(lp)));
        assert_eq!(found, [Some(SHORT), Some(SHORT), None, Some(LONG)]);
    }

    #[test]
    fn every_carrier_lowers_the_lookahead_within_groups_and_between_them() {
        let groups = |wiring: &mut Wiring| [0, 1, 2].map(LpId).map(|lp| wiring.to_groups(lp, lp.0 / 2, SHORT, LONG));
        let found = |wiring: Wiring| {
            let channels = wiring.into_channels();
            [1, 2].map(|to| channels.lookahead_to(LpId(0), LpId(to)))
        };
        let mut wiring = Wiring::new(3, 3);
        groups(&mut wiring);
        assert_eq!(found(wiring), [Some(SHORT), Some(LONG)]);
        for all in [true, false] {
            let mut wiring = Wiring::new(3, 3);
            let between = Delay::from_us(3);
            if all {
                wiring.nodes_to_anyone(between)
            } else {
                wiring.to_anyone(LpId(0), between)
            }
            groups(&mut wiring);
            assert_eq!(found(wiring), [Some(SHORT), Some(between)]);
        }
        let mut wiring = Wiring::new(3, 3);
        groups(&mut wiring);
        wiring.to_groups(LpId(0), 7, SHORT, LONG);
        assert_eq!(found(wiring), [Some(SHORT), Some(SHORT)], "LP 0 is in two groups");
    }
}

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
/// least delay holds.
#[derive(Debug)]
pub struct Wiring {
    nodes: u32,
    lps: u32,
    pairs: Vec<(LpId, LpId, Delay)>,
    /// The least delay with which each node may send to anyone.
    nodes_to_anyone: Option<Delay>,
    /// The least delay with which each LP may send to anyone, by id. The list ends with the last LP that has
    /// such a declaration.
    to_anyone: Vec<Option<Delay>>,
}

impl Wiring {
    /// Makes the wiring of a model of `lps` LPs, of which the first are nodes. Nothing is declared yet.
    pub fn new(nodes: u32, lps: u32) -> Wiring {
        Wiring { nodes, lps, pairs: Vec::new(), nodes_to_anyone: None, to_anyone: Vec::new() }
    }

    /// Declares a channel from one LP to another.
    pub fn connect(&mut self, sender: LpId, receiver: LpId, lookahead: Delay) {
        self.pairs.push((sender, receiver, lookahead));
    }

    /// Declares that `sender` may send to anyone with at least `lookahead`.
    pub fn to_anyone(&mut self, sender: LpId, lookahead: Delay) {
        if self.to_anyone.len() <= sender.index() {
            self.to_anyone.resize(sender.index() + 1, None);
        }
        lower(&mut self.to_anyone[sender.index()], lookahead);
    }

    /// Declares that each node may send to anyone with at least `lookahead`.
    pub fn nodes_to_anyone(&mut self, lookahead: Delay) {
        lower(&mut self.nodes_to_anyone, lookahead);
    }

    /// Returns the least delay with which an LP may send to anyone.
    fn anyone(&self, lp: u32) -> Option<Delay> {
        let own = self.to_anyone.get(lp as usize).copied().flatten();
        let as_node = self.nodes_to_anyone.filter(|_| lp < self.nodes);
        own.into_iter().chain(as_node).min()
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
        for (sender, receiver, lookahead) in self.pairs {
            channels.connect(sender, receiver, lookahead);
        }
        channels
    }
}

/// Lowers a bound to `lookahead`.
fn lower(bound: &mut Option<Delay>, lookahead: Delay) {
    *bound = Some(bound.map_or(lookahead, |bound| bound.min(lookahead)));
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
}

//! A torus: members on a grid that wraps around in each dimension. Routes cross one dimension after another.

use super::{LinkId, NoRoute};

/// The links of a torus. In each dimension, a member has one link to its successor; the last member's leads
/// to the first.
#[derive(Clone, Debug)]
pub(crate) struct Torus {
    /// The number of members in each dimension.
    pub(crate) dimensions: Vec<u32>,
    /// The link up and the link down between a member and its successor, by member and then dimension.
    pub(crate) links: Vec<(LinkId, LinkId)>,
    /// By member, the link from the member to itself.
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    /// By member, the link that all traffic through the member crosses.
    pub(crate) limiters: Option<Vec<LinkId>>,
}

impl Torus {
    /// Returns all links of the torus.
    pub(crate) fn all_links(&self) -> impl Iterator<Item = LinkId> {
        let of_members = [&self.loopbacks, &self.limiters].into_iter().flatten().flatten().copied();
        self.links.iter().flat_map(|&(up, down)| [up, down]).chain(of_members)
    }

    /// Adds the links from one member to another.
    ///
    /// In each dimension the route takes the shorter direction. If both directions are equally long, it goes
    /// upwards.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let mut node = from;
        // The difference of the numbers of two neighbours in the current dimension.
        let mut stride = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (start, target) = ((from / stride) % size, (to / stride) % size);
            let half = size / 2;
            let upwards =
                (target > start && target <= start + half) || (start > half && (start + half) % size >= target);
            let mut coordinate = start;
            while coordinate != target {
                if let Some(limiters) = &self.limiters {
                    links.push(limiters[node as usize]);
                }
                let next = match upwards {
                    true if coordinate == size - 1 => 0,
                    true => coordinate + 1,
                    false if coordinate == 0 => size - 1,
                    false => coordinate - 1,
                };
                let neighbour = node - coordinate * stride + next * stride;
                // A pair of links belongs to the lower end: going downwards, that is the neighbour.
                let owner = if upwards { node } else { neighbour };
                let (up, down) = self.links[owner as usize * self.dimensions.len() + dimension];
                links.push(if upwards { up } else { down });
                (node, coordinate) = (neighbour, next);
            }
            stride *= size;
        }
        if let Some(limiters) = &self.limiters {
            links.push(limiters[to as usize]);
        }
        Ok(())
    }
}

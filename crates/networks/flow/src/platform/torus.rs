//! A torus: members on a grid whose ends are joined, routed dimension by dimension.

use super::{LinkId, NoRoute};

/// The links of a torus. Each member has one in each dimension, to the next; the last to the first.
#[derive(Clone, Debug)]
pub(crate) struct Torus {
    pub(crate) dimensions: Vec<u32>,
    /// Upwards and downwards, by member and dimension.
    pub(crate) links: Vec<(LinkId, LinkId)>,
    pub(crate) loopbacks: Option<Vec<LinkId>>,
    pub(crate) limiters: Option<Vec<LinkId>>,
}

impl Torus {
    /// Adds the links from one member to another. In each dimension in turn, the shorter way round is taken; if both are as long, upwards.
    pub(crate) fn links(&self, from: u32, to: u32, links: &mut Vec<LinkId>) -> Result<(), NoRoute> {
        if let (true, Some(loopbacks)) = (from == to, &self.loopbacks) {
            links.push(loopbacks[from as usize]);
            return Ok(());
        }
        let mut node = from;
        let mut step = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let (start, target) = ((from / step) % size, (to / step) % size);
            let half = size / 2;
            let upwards =
                (target > start && target <= start + half) || (start > half && (start + half) % size >= target);
            let mut place = start;
            while place != target {
                if let Some(limiters) = &self.limiters {
                    links.push(limiters[node as usize]);
                }
                let next = match upwards {
                    true if place == size - 1 => 0,
                    true => place + 1,
                    false if place == 0 => size - 1,
                    false => place - 1,
                };
                let moved = node - place * step + next * step;
                let (owner, which) = if upwards { (node, true) } else { (moved, false) };
                let (up, down) = self.links[owner as usize * self.dimensions.len() + dimension];
                links.push(if which { up } else { down });
                (node, place) = (moved, next);
            }
            step *= size;
        }
        if let Some(limiters) = &self.limiters {
            links.push(limiters[to as usize]);
        }
        Ok(())
    }
}

//! The tracker, which knows the peers of the swarm.

use super::message::{Event, Message};
use super::rarity::any_below;
use crate::driver::Dependencies;
use parades_core::event::LpId;

/// The tracker's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    /// The peers of the swarm, in no order.
    members: Vec<u32>,
    /// The place of each peer in `members`; `u32::MAX` for a peer that is not there.
    places: Box<[u32]>,
    pub(super) announces: u64,
}

impl Tracker {
    pub(super) fn new(nodes: u32) -> Tracker {
        Tracker { members: Vec::new(), places: vec![u32::MAX; nodes as usize].into(), announces: 0 }
    }

    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(super) fn forget(&mut self) {
        self.members.clear();
        self.places.fill(u32::MAX);
    }

    /// Handles an announce. The answer names `wanted` peers, or all where there are fewer.
    pub(super) fn on_announce(
        &mut self,
        from: LpId,
        event: Event,
        wanted: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.announces += 1;
        if event == Event::Stopped {
            self.remove(from.0);
            return;
        }
        if self.places[from.0 as usize] == u32::MAX {
            self.places[from.0 as usize] = u32::try_from(self.members.len()).expect("nodes are counted in 32 bits");
            self.members.push(from.0);
        }
        if event != Event::Completed {
            let peers = self.draw(from.0, wanted as usize, driver);
            driver.send(from, Message::Peers(peers));
        }
    }

    fn remove(&mut self, peer: u32) {
        let place = std::mem::replace(&mut self.places[peer as usize], u32::MAX);
        if place != u32::MAX {
            self.members.swap_remove(place as usize);
            if let Some(&moved) = self.members.get(place as usize) {
                self.places[moved as usize] = place;
            }
        }
    }

    /// Draws peers other than the asker, without repetition: by a shuffle where most are wanted, else by
    /// draws that are repeated.
    fn draw(&self, asker: u32, wanted: usize, driver: &mut impl Dependencies<Message>) -> Box<[u32]> {
        let wanted = wanted.min(self.members.len().saturating_sub(1));
        let mut drawn = Vec::with_capacity(wanted);
        if wanted * 2 > self.members.len() {
            let mut all: Vec<u32> = self.members.iter().copied().filter(|&peer| peer != asker).collect();
            for index in 0..wanted {
                let other = index + any_below(all.len() - index, driver.rng());
                all.swap(index, other);
            }
            all.truncate(wanted);
            return all.into();
        }
        while drawn.len() < wanted {
            let peer = self.members[any_below(self.members.len(), driver.rng())];
            if peer != asker && !drawn.contains(&peer) {
                drawn.push(peer);
            }
        }
        drawn.into()
    }
}

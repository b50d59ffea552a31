//! The tracker, which knows the peers of each swarm.

use super::message::{Event, Message};
use super::rarity::any_below;
use super::{Parameters, Swarm};
use crate::driver::Dependencies;
use parades_core::event::LpId;
use parades_core::wire::{self, Malformed};

/// The tracker's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    /// The peers of each swarm, in no order.
    members: Vec<Vec<u32>>,
    /// The place of each peer among the members of its swarm; `u32::MAX` for a peer that is not there.
    places: Box<[u32]>,
    pub(super) announces: u64,
}

impl Tracker {
    pub(super) fn new(nodes: u32, swarms: u32) -> Tracker {
        let places = vec![u32::MAX; nodes as usize].into();
        Tracker { members: vec![Vec::new(); swarms as usize], places, announces: 0 }
    }

    /// Appends the bytes of the tracker.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&(&self.members, self.announces), to);
    }

    /// Reads the tracker of a swarm.
    pub(super) fn read(swarm: &Swarm, from: &mut &[u8]) -> Result<Tracker, Malformed> {
        let Parameters { peers, swarms, .. } = *swarm.parameters();
        let mut tracker = Tracker::new(peers + 1, swarms);
        (tracker.members, tracker.announces) = wire::read(from)?;
        if tracker.members.len() != swarms as usize {
            return Err(Malformed::new(format!("the tracker has {} swarms, not {swarms}", tracker.members.len())));
        }
        for (number, members) in (0..).zip(&tracker.members) {
            for (place, &peer) in (0..).zip(members) {
                let is_here = swarm.swarm_of(peer) == Some(number);
                if !is_here || std::mem::replace(&mut tracker.places[peer as usize], place) != u32::MAX {
                    return Err(Malformed::new("the tracker has a peer twice, or in a swarm of others"));
                }
            }
        }
        Ok(tracker)
    }

    /// Returns all members, swarm by swarm.
    pub(super) fn members(&self) -> impl Iterator<Item = u32> {
        self.members.iter().flatten().copied()
    }

    pub(super) fn forget(&mut self) {
        self.members.iter_mut().for_each(Vec::clear);
        self.places.fill(u32::MAX);
    }

    /// Handles an announce of a member of `swarm`. The answer names `wanted` peers of the swarm, or all where
    /// there are fewer.
    pub(super) fn on_announce(
        &mut self,
        from: LpId,
        swarm: u32,
        event: Event,
        wanted: u32,
        driver: &mut impl Dependencies<Message>,
    ) {
        self.announces += 1;
        if event == Event::Stopped {
            self.remove(from.0, swarm);
            return;
        }
        let members = &mut self.members[swarm as usize];
        if self.places[from.index()] == u32::MAX {
            self.places[from.index()] = u32::try_from(members.len()).expect("nodes are counted in 32 bits");
            members.push(from.0);
        }
        if event != Event::Completed {
            let peers = draw(members, from.0, wanted as usize, driver);
            driver.send(from, Message::Peers(peers));
        }
    }

    fn remove(&mut self, peer: u32, swarm: u32) {
        let members = &mut self.members[swarm as usize];
        let place = std::mem::replace(&mut self.places[peer as usize], u32::MAX);
        if place != u32::MAX {
            members.swap_remove(place as usize);
            if let Some(&moved) = members.get(place as usize) {
                self.places[moved as usize] = place;
            }
        }
    }
}

/// Draws members other than the asker, without repetition: by a shuffle where most are wanted, else by draws
/// that are repeated.
fn draw(members: &[u32], asker: u32, wanted: usize, driver: &mut impl Dependencies<Message>) -> Box<[u32]> {
    let wanted = wanted.min(members.len().saturating_sub(1));
    let mut drawn = Vec::with_capacity(wanted);
    if wanted * 2 > members.len() {
        let mut all: Vec<u32> = members.iter().copied().filter(|&peer| peer != asker).collect();
        for index in 0..wanted {
            let other = index + any_below(all.len() - index, driver.rng());
            all.swap(index, other);
        }
        all.truncate(wanted);
        return all.into();
    }
    while drawn.len() < wanted {
        let peer = members[any_below(members.len(), driver.rng())];
        if peer != asker && !drawn.contains(&peer) {
            drawn.push(peer);
        }
    }
    drawn.into()
}

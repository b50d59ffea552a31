//! Access links as bytes.
//!
//! Written are the capacities and levels of links, and for each transfer its ends, and the bits that were
//! missing at the last change of its rate. The rate is the lower one of two levels, and the end follows from
//! it. Transfers are written in the order of their starts, and get new ids in this order when they are read:
//! no result depends on ids, which differ from run to run with the order of ends.

use super::levels::{Levels, Link};
use super::{Access, Side, Transfer, TransferId, end_of, entry, link_of};
use parades_core::time::Time;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// All access links.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// The capacity and the level of each link.
    links: Vec<(f64, f64)>,
    starts: u64,
    /// In the order of their starts.
    transfers: Vec<SavedTransfer>,
}

/// A transfer in progress.
#[derive(Serialize, Deserialize)]
struct SavedTransfer {
    number: u64,
    /// The sender and the receiver.
    peers: [u32; 2],
    left: f64,
    since: Time,
}

impl Access {
    /// Returns the transfers in progress, in the order of their starts.
    pub fn in_order(&self) -> Vec<TransferId> {
        let mut is_used = vec![true; self.transfers.len()];
        self.free.iter().for_each(|&id| is_used[id as usize] = false);
        let mut used: Vec<u32> = (0..).zip(is_used).filter(|&(_, is_used)| is_used).map(|(id, _)| id).collect();
        used.sort_unstable_by_key(|&id| self.transfers[id as usize].number);
        used.into_iter().map(TransferId).collect()
    }

    fn saved(&self) -> Saved {
        let transfer = |id: TransferId| {
            let Transfer { left, since, number, .. } = self.transfers[id.index()];
            SavedTransfer { number, peers: self.ends(id), left, since }
        };
        let transfers = self.in_order().into_iter().map(transfer).collect();
        Saved { links: self.levels.links().collect(), starts: self.starts, transfers }
    }

    fn of_saved(Saved { links, starts, transfers }: Saved) -> Result<Access, &'static str> {
        if !links.len().is_multiple_of(2) {
            return Err("a peer has one access link");
        }
        let links = links.into_iter().map(|(capacity, level)| Link::of_saved(capacity, level));
        let links: Option<Vec<Link>> = links.collect();
        let mut access = Access::new([]);
        access.levels = Levels::new(links.ok_or("an access link has an impossible capacity or level")?);
        let mut last = 0;
        for SavedTransfer { number, peers: [from, to], left, since } in transfers {
            let is_peer = |peer: u32| peer < u32::MAX / 2 && access.levels.has(link_of(peer, Side::Down));
            if !is_peer(from) || !is_peer(to) {
                return Err("a transfer has an end at no peer");
            }
            if number <= last || number > starts {
                return Err("transfers are not in the order of their starts");
            }
            if !(left >= 0.0 && left.is_finite()) {
                return Err("a transfer has an impossible number of bits");
            }
            last = number;
            access.put(Transfer {
                links: [link_of(from, Side::Up), link_of(to, Side::Down)],
                places: [0; 2],
                rate: 0.0,
                left,
                since,
                number,
                end: Time::MAX,
            })?;
        }
        access.starts = starts;
        access.levels.forget_wrong();
        Ok(access)
    }

    /// Adds a transfer that has been read.
    fn put(&mut self, mut transfer: Transfer) -> Result<(), &'static str> {
        let id = u32::try_from(self.transfers.len()).map_err(|_| "there are too many transfers")?;
        let [up, down] = transfer.links;
        transfer.places = [self.levels.add(up, id, down), self.levels.add(down, id, up)];
        transfer.rate = self.levels.rate(transfer.links);
        if transfer.rate.is_infinite() {
            return Err("a transfer has no limit");
        }
        transfer.end = end_of(&transfer);
        self.ends.insert(entry(id, &transfer));
        self.transfers.push(transfer);
        Ok(())
    }
}

/// All rates must have been computed ([`Access::settle`]).
impl Serialize for Access {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.saved().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Access {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Access, D::Error> {
        Access::of_saved(Saved::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;
    use parades_core::time::Delay;
    use parades_core::wire;

    fn bytes(access: &Access) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::write(access, &mut bytes);
        bytes
    }

    /// Changes `access` at random, and returns the time.
    fn change(access: &mut Access, rng: &Rng, mut now: Time, steps: u32) -> Time {
        for _ in 0..steps {
            now = access
                .next_end()
                .filter(|_| rng.chance(0.4))
                .unwrap_or(now.saturating_add(Delay::from_ps(rng.below(1000))));
            while access.pop_ended(now).is_some() {}
            let peers = [(); 2].map(|()| u32::try_from(rng.below(6)).expect("it is small"));
            access.start(now, peers[0], peers[1], 1.0 + rng.unit() * 1e-3);
            access.settle(now);
        }
        now
    }

    #[test]
    fn links_that_are_read_go_on_as_those_that_were_written() {
        let rng = Rng::shared(1, 1);
        let mut access = Access::new([[10e6, 20e6], [3e6, 7e6], [1e6, 1e6], [4e6, 4e6], [9e6, 1e6], [2e6, 5e6]]);
        let now = change(&mut access, &rng, Time::ZERO, 300);
        assert!(access.transfers() > 5 && !access.in_order().is_sorted());
        let written = bytes(&access);
        let mut read: Access = wire::read(&mut written.as_slice()).expect("they were written");
        assert_eq!(bytes(&read), written);
        for access in [&mut access, &mut read] {
            change(access, &Rng::shared(1, 2), now, 300);
        }
        assert_eq!(bytes(&read), bytes(&access));
    }

    #[test]
    fn bytes_of_no_access_links_are_refused_or_harmless() {
        let rng = Rng::shared(1, 1);
        let mut access = Access::new([[10e6, 20e6]; 6]);
        change(&mut access, &rng, Time::ZERO, 50);
        let written = bytes(&access);
        let mut refused = 0;
        for _ in 0..3_000 {
            let mut changed = written.clone();
            let place = usize::try_from(rng.below(changed.len() as u64)).expect("an index");
            changed[place] ^= 1 << rng.below(8);
            match wire::read::<Access>(&mut changed.as_slice()) {
                Ok(mut access) if access.peers() == 6 => drop(change(&mut access, &rng, Time::from_secs(1), 20)),
                Ok(_) => {}
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 100, "{refused} were refused");
    }
}

//! Transfers between peers that share their access links max-min fairly.
//!
//! Each peer has an *up link* and a *down link* with capacities in bits per second. A transfer uses the up
//! link of its sender and the down link of its receiver, and nothing between. So the network of links and
//! transfers is a bipartite graph. [`crate::solver`] shares resources of any shape; this module shares access
//! links, and is far faster where one component has very many transfers.
//!
//! # Levels
//!
//! The *level* of a link is the greatest rate that the link allows a transfer. A transfer's rate is the lower
//! one of its two levels. A link of capacity `C` whose transfers have the levels `o₁ … oₙ` at their other
//! ends has the level `L` with `Σ min(L, oᵢ) = C`. If even `Σ oᵢ` is below `C`, the link limits nobody, and
//! its level is infinite.
//!
//! These equations have one solution, and the rates of this solution are max-min fair. *Proof.* Let `m` be
//! the least quotient `C / n` of capacity and transfers of all links. Every level is at least the `C / n` of
//! its own link, so no level is below `m`. A link with the quotient `m` has `n` transfers with levels of at
//! least `m` at their other ends, so its level is `m`. Its transfers have the rate `m`: progressive filling,
//! which raises all rates together until a link is full, gives them the same rate first. The argument repeats
//! without these transfers, with their rates subtracted. ∎
//!
//! # Changes
//!
//! A start, an end or a new capacity makes the level of one or two links wrong. These are computed again, in
//! the order of their levels. If a level changes, so may that of a neighbour: only if the old or the new
//! level is below the neighbour's. So a change spreads only as far as rates change. By the proof, the lowest
//! level is right after all wrong links are computed once, then the second lowest, and so on. So this ends.
//!
//! Only transfers whose rate has changed get a new end. There is no tick.
//!
//! # Determinism
//!
//! The sums of an equation are taken in the order of the levels, so they do not depend on the order in which
//! transfers started. Levels that are equal up to rounding do not depend on each other.
//!
//! *References*: D. Bertsekas, R. Gallager, *Data Networks*, 1992, section 6.5.2 (max-min fairness); A.
//! Charny, D. Clark, R. Jain, *Congestion Control with Explicit Rate Indication*, ICC 1995 (levels of links,
//! and their convergence).

mod changes;
mod levels;
mod saved;

pub use changes::Changes;

use changes::{Change, Journal};
use levels::{Levels, Link};
use parades_core::time::{Delay, Time};
use std::collections::BTreeSet;

/// The side of a peer's access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the peer.
    Up,
    /// To the peer.
    Down,
}

/// The name of a transfer, from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(u32);

impl TransferId {
    /// Returns the number of the transfer among those in progress. Later transfers use it again, so it stays
    /// below the greatest number of transfers at one time.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transfer in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    /// The up link of the sender, and the down link of the receiver.
    links: [u32; 2],
    /// The position of the transfer in the lists of these links.
    places: [u32; 2],
    /// In bits per second, since `since`. Zero until the first [`Access::settle`].
    rate: f64,
    /// The bits that were missing at `since`.
    left: f64,
    since: Time,
    /// The number of this start. Of two transfers that end at one time, the one that started first ends
    /// first.
    number: u64,
    /// The time of the last bit, [`Time::MAX`] at the rate 0.
    end: Time,
}

/// Access links, and the transfers that share them.
///
/// Any number of changes may be made at one time. After them, [`Access::settle`] computes the rates.
///
/// # Examples
///
/// Two peers send to a third, whose down link is the bottleneck until the smaller transfer is over:
///
/// ```
/// use parades_flow::access::Access;
/// use parades_core::time::Time;
///
/// let mut access = Access::new([[10e6, 20e6], [10e6, 20e6], [10e6, 12e6]]); // up and down, in bits per second
/// let long = access.start(Time::ZERO, 0, 2, 12e6);
/// let short = access.start(Time::ZERO, 1, 2, 6e6);
/// access.settle(Time::ZERO);
/// assert_eq!(access.rate(long), 6e6);
///
/// let second = Time::from_secs(1);
/// assert_eq!(access.next_end(), Some(second));
/// assert_eq!(access.pop_ended(second), Some(short));
/// access.settle(second);
/// assert_eq!(access.rate(long), 10e6);
/// assert_eq!(access.next_end(), Some(Time::from_ms(1_600)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    levels: Levels,
    /// By id. The entries of `free` are not in use.
    transfers: Vec<Transfer>,
    free: Vec<u32>,
    /// The ends of transfers that have a rate, with the numbers of their starts and their ids.
    ends: BTreeSet<(Time, u64, u32)>,
    starts: u64,
    journal: Journal,
}

impl Access {
    /// Makes the access links of peers, given the capacities of each peer's up link and down link in bits per
    /// second.
    ///
    /// # Panics
    ///
    /// If a capacity is not above zero, or not finite.
    pub fn new(capacities: impl IntoIterator<Item = [f64; 2]>) -> Access {
        let links: Vec<Link> = capacities.into_iter().flatten().map(Link::new).collect();
        let (transfers, free, ends) = (Vec::new(), Vec::new(), BTreeSet::new());
        Access { levels: Levels::new(links), transfers, free, ends, starts: 0, journal: Journal::default() }
    }

    /// Returns the number of peers.
    pub fn peers(&self) -> usize {
        self.levels.links().count() / 2
    }

    /// Returns the sender and the receiver of a transfer.
    pub fn ends(&self, TransferId(id): TransferId) -> [u32; 2] {
        self.transfers[id as usize].links.map(|link| link / 2)
    }

    /// Returns the number of transfers in progress.
    pub fn transfers(&self) -> usize {
        self.transfers.len() - self.free.len()
    }

    /// Returns a number above every [`TransferId::index`] in use.
    pub fn ids(&self) -> usize {
        self.transfers.len()
    }

    /// Starts a transfer of `bits` from one peer to another. It has a rate after [`Access::settle`].
    ///
    /// # Panics
    ///
    /// If there is no such peer, or if `bits` are not above zero or not finite.
    pub fn start(&mut self, now: Time, from: u32, to: u32, bits: f64) -> TransferId {
        // Nothing has changed yet where this panics, so that an execution which panics can be undone.
        assert!(bits > 0.0 && bits.is_finite(), "a transfer of {bits} bits");
        let links = [link_of(from, Side::Up), link_of(to, Side::Down)];
        links.iter().for_each(|&link| assert!(self.levels.has(link), "there is no peer {}", link / 2));
        let free = self.free.pop();
        let id = free.unwrap_or_else(|| u32::try_from(self.transfers.len()).expect("memory holds fewer transfers"));
        let places = [0, 1].map(|end| self.levels.add(links[end], id, links[1 - end]));
        self.starts += 1;
        let number = self.starts;
        let transfer = Transfer { links, places, rate: 0.0, left: bits, since: now, number, end: Time::MAX };
        let replaced = free.map(|id| std::mem::replace(&mut self.transfers[id as usize], transfer));
        if replaced.is_none() {
            self.transfers.push(transfer);
        }
        self.journal.note(|| Change::Started { id, replaced });
        TransferId(id)
    }

    /// Stops a transfer. Returns the bits that are still missing.
    pub fn stop(&mut self, now: Time, TransferId(id): TransferId) -> f64 {
        let transfer = self.transfers[id as usize];
        for end in [0, 1] {
            let place = transfer.places[end];
            if let Some(moved) = self.levels.remove(transfer.links[end], place) {
                self.transfers[moved as usize].places[end] = place;
            }
        }
        self.ends.remove(&entry(id, &transfer));
        self.free.push(id);
        self.journal.note(|| Change::Stopped { id });
        left_at(&transfer, now)
    }

    /// Sets the capacity of a link, in bits per second.
    ///
    /// # Panics
    ///
    /// If there is no such peer, or if the capacity is not above zero or not finite.
    pub fn set_capacity(&mut self, peer: u32, side: Side, capacity: f64) {
        let link = link_of(peer, side);
        let replaced = self.levels.set_capacity(link, capacity);
        self.journal.note(|| Change::Capacity { link, replaced });
    }

    /// Computes the rates after changes. All changes since the last call were made at `now`. Returns the
    /// number of transfers that have another rate now.
    pub fn settle(&mut self, now: Time) -> usize {
        let Access { levels, transfers, ends, journal, .. } = self;
        levels.settle(|link, replaced| journal.note(|| Change::Level { link, replaced }));
        let mut others = 0;
        for id in levels.take_changed() {
            let transfer = &mut transfers[id as usize];
            let rate = levels.rate(transfer.links);
            if rate.total_cmp(&transfer.rate).is_ne() {
                journal.note(|| Change::Rate { id, replaced: *transfer });
                ends.remove(&entry(id, transfer));
                transfer.left = left_at(transfer, now);
                transfer.since = now;
                transfer.rate = rate;
                transfer.end = end_of(transfer);
                ends.insert(entry(id, transfer));
                others += 1;
            }
        }
        others
    }

    /// Returns the rate of a transfer in bits per second, as of the last [`Access::settle`].
    pub fn rate(&self, TransferId(id): TransferId) -> f64 {
        self.transfers[id as usize].rate
    }

    /// Returns the time of the next end of a transfer, if the rates stay.
    pub fn next_end(&self) -> Option<Time> {
        self.ends.first().map(|&(end, ..)| end)
    }

    /// Removes the next transfer that has ended at `now`. Of several, the one that started first.
    pub fn pop_ended(&mut self, now: Time) -> Option<TransferId> {
        let &(_, _, id) = self.ends.first().filter(|&&(end, ..)| end <= now)?;
        self.stop(now, TransferId(id));
        Some(TransferId(id))
    }
}

/// Returns the entry of a transfer in the order of ends.
fn entry(id: u32, transfer: &Transfer) -> (Time, u64, u32) {
    (transfer.end, transfer.number, id)
}

/// Returns the number of a peer's link.
fn link_of(peer: u32, side: Side) -> u32 {
    2 * peer + u32::from(side == Side::Down)
}

/// Returns the bits of a transfer that are missing at a time.
fn left_at(transfer: &Transfer, now: Time) -> f64 {
    let sent = transfer.rate * now.since(transfer.since).as_secs_f64();
    (transfer.left - sent).max(0.0)
}

/// Returns the time at which the last bit is there, rounded to a picosecond.
fn end_of(transfer: &Transfer) -> Time {
    let takes = Delay::try_from_secs_f64(transfer.left / transfer.rate);
    takes.and_then(|takes| transfer.since.checked_add(takes)).unwrap_or(Time::MAX)
}

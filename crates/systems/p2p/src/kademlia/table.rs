//! The routing table of a node: its k-buckets.

use super::{Kademlia, Parameters, Space};
use parades_core::event::LpId;
use parades_core::prefetch::prefetch_all;
use parades_core::wire::{self, Malformed};

/// The k-buckets of a node.
///
/// A bucket has the contacts that share a prefix of one length with the node. They are ordered by the time
/// at which the node last heard of them, the least recent first. A newcomer to a full bucket goes to the
/// bucket's replacement cache, the most recent last. A contact that does not answer is removed, and the most
/// recent replacement takes its place.
///
/// All buckets are in one allocation each for contacts and replacements, with *k* places a bucket: 12 *k*
/// bytes for each bucket down to the deepest one in use.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_p2p::kademlia::{Space, Table};
///
/// let space = Space::new(1);
/// let mut table = Table::new(space.id(LpId(0)), 20);
/// for node in 1..100 {
///     table.hear(LpId(node), space.id(LpId(node)), 0, 900);
/// }
/// let mut closest = Vec::new();
/// table.closest(space.id(LpId(7)), LpId(0), 20, &space, &mut closest);
/// assert_eq!(closest.len(), 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    own: u64,
    k: u8,
    buckets: Vec<Bucket>,
    /// *k* places for each bucket.
    contacts: Vec<Contact>,
    /// *k* places for each bucket.
    replacements: Vec<LpId>,
}

/// A node of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Contact {
    node: LpId,
    /// The time at which the node was last heard of, in seconds.
    seen: u32,
}

/// An unused place.
const NOBODY: LpId = LpId(u32::MAX);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    contacts: u8,
    replacements: u8,
    /// True while the oldest contact is pinged.
    pings: bool,
    /// The time of the last look-up in the bucket's range, in seconds.
    looked_up: u32,
}

impl Table {
    /// Makes the empty table of the node with this identifier, with `k` contacts a bucket.
    pub fn new(own: u64, k: u8) -> Table {
        Table { own, k, buckets: Vec::new(), contacts: Vec::new(), replacements: Vec::new() }
    }

    /// Appends the bytes of the table: of each bucket its contacts and replacements, without unused places.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let saved = self.buckets.iter().enumerate().map(|(number, bucket)| {
            let begin = number * usize::from(self.k);
            let replacements = &self.replacements[begin..begin + usize::from(bucket.replacements)];
            let contacts: Vec<(LpId, u32)> =
                self.slice(number).iter().map(|contact| (contact.node, contact.seen)).collect();
            (bucket.pings, bucket.looked_up, contacts, replacements)
        });
        wire::write(&saved.collect::<Vec<_>>(), to);
    }

    /// Reads the table of a node.
    pub(super) fn read(kademlia: &Kademlia, node: LpId, from: &mut &[u8]) -> Result<Table, Malformed> {
        type Saved = (bool, u32, Vec<(LpId, u32)>, Vec<LpId>);
        let (space, &Parameters { nodes, k, .. }) = (kademlia.space(), kademlia.parameters());
        let saved: Vec<Saved> = wire::read(from)?;
        let mut table = Table::new(space.id(node), k);
        if saved.len() > u64::BITS as usize {
            return Err(Malformed::new("a node has more buckets than its identifier has bits"));
        }
        table.deepen(saved.len());
        for (number, (pings, looked_up, contacts, replacements)) in saved.into_iter().enumerate() {
            let all = contacts.iter().map(|&(node, _)| node).chain(replacements.iter().copied());
            let belongs = |node: LpId| node.0 < nodes && table.bucket_of(space.id(node)) == number;
            if contacts.len().max(replacements.len()) > usize::from(k) || !all.into_iter().all(belongs) {
                return Err(Malformed::new("a bucket has too many contacts, or one that belongs elsewhere"));
            }
            let count = |len: usize| u8::try_from(len).expect("not above `k`");
            let (contact_count, replacement_count) = (count(contacts.len()), count(replacements.len()));
            table.buckets[number] =
                Bucket { contacts: contact_count, replacements: replacement_count, pings, looked_up };
            let begin = number * usize::from(k);
            let places = table.contacts[begin..].iter_mut().zip(contacts);
            places.for_each(|(place, (node, seen))| *place = Contact { node, seen });
            let places = table.replacements[begin..].iter_mut().zip(replacements);
            places.for_each(|(place, node)| *place = node);
        }
        Ok(table)
    }

    /// Returns the number of the bucket of an identifier other than the node's own.
    #[inline]
    fn bucket_of(&self, id: u64) -> usize {
        (self.own ^ id).leading_zeros() as usize
    }

    /// Returns the number of buckets: that of the deepest one with a contact, plus one.
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Returns the number of contacts in all buckets.
    pub fn contacts(&self) -> usize {
        self.buckets.iter().map(|bucket| usize::from(bucket.contacts)).sum()
    }

    /// Returns the contacts of a bucket, the least recently seen first.
    pub fn bucket(&self, bucket: usize) -> impl Iterator<Item = LpId> {
        self.slice(bucket).iter().map(|contact| contact.node)
    }

    #[inline]
    fn slice(&self, bucket: usize) -> &[Contact] {
        let begin = bucket * usize::from(self.k);
        &self.contacts[begin..begin + usize::from(self.buckets[bucket].contacts)]
    }

    /// Notes that the node has heard from another one now. Returns the oldest contact of the bucket if it
    /// should be pinged: the bucket is full, and this contact was last heard of `questionable` or longer ago.
    /// All times are in seconds.
    #[inline]
    pub fn hear(&mut self, node: LpId, id: u64, now: u32, questionable: u32) -> Option<LpId> {
        if id == self.own {
            return None;
        }
        let number = self.bucket_of(id);
        if number >= self.buckets.len() {
            self.deepen(number + 1);
        }
        let k = usize::from(self.k);
        let bucket = &mut self.buckets[number];
        let places = &mut self.contacts[number * k..(number + 1) * k];
        let used = usize::from(bucket.contacts);
        let newest = Contact { node, seen: now };
        if let Some(index) = places[..used].iter().position(|contact| contact.node == node) {
            places[index..used].rotate_left(1);
            places[used - 1] = newest;
            return None;
        }
        if used < k {
            places[used] = newest;
            bucket.contacts += 1;
            return None;
        }
        let cache = &mut self.replacements[number * k..(number + 1) * k];
        remember(cache, &mut bucket.replacements, node);
        let oldest = places[0];
        if bucket.pings || now.saturating_sub(oldest.seen) < questionable {
            return None;
        }
        bucket.pings = true;
        Some(oldest.node)
    }

    fn deepen(&mut self, buckets: usize) {
        let places = buckets * usize::from(self.k);
        self.buckets.resize(buckets, Bucket::default());
        self.contacts.resize(places, Contact { node: NOBODY, seen: 0 });
        self.replacements.resize(places, NOBODY);
    }

    /// Notes that a node has not answered. It is removed, and the most recent replacement takes its place as
    /// the oldest contact: nobody has heard of the replacement since.
    pub fn fail(&mut self, node: LpId, id: u64) {
        let (number, k) = (self.bucket_of(id), usize::from(self.k));
        let Some(bucket) = self.buckets.get_mut(number) else { return };
        let cache = &mut self.replacements[number * k..(number + 1) * k];
        forget(cache, &mut bucket.replacements, node);
        let used = usize::from(bucket.contacts);
        let places = &mut self.contacts[number * k..number * k + used];
        let Some(index) = places.iter().position(|contact| contact.node == node) else { return };
        if bucket.replacements > 0 {
            bucket.replacements -= 1;
            let newest = std::mem::replace(&mut cache[usize::from(bucket.replacements)], NOBODY);
            places[..=index].rotate_right(1);
            places[0] = Contact { node: newest, seen: 0 };
        } else {
            places[index..].rotate_left(1);
            places[used - 1] = Contact { node: NOBODY, seen: 0 };
            bucket.contacts -= 1;
        }
    }

    /// Notes that the ping of a contact has been answered or has failed.
    pub fn end_ping(&mut self, id: u64) {
        let number = self.bucket_of(id);
        if let Some(bucket) = self.buckets.get_mut(number) {
            bucket.pings = false;
        }
    }

    /// Notes that no ping is under way any more.
    pub fn end_pings(&mut self) {
        self.buckets.iter_mut().for_each(|bucket| bucket.pings = false);
    }

    /// Adds to `found` the `count` contacts closest to `target`, in no particular order; all contacts if
    /// there are fewer. `without` is left out.
    pub fn closest(&self, target: u64, without: LpId, count: usize, space: &Space, found: &mut Vec<LpId>) {
        if self.buckets.is_empty() {
            return;
        }
        let limit = found.len() + count;
        let last = self.buckets.len() - 1;
        let add = |buckets: std::ops::RangeInclusive<usize>, found: &mut Vec<LpId>| {
            let begin = found.len();
            for bucket in buckets {
                found.extend(self.bucket(bucket).filter(|&node| node != without));
            }
            if found.len() > limit {
                let distances = found[begin..].iter().map(|&node| (space.id(node) ^ target, node));
                let mut by_distance: Vec<(u64, LpId)> = distances.collect();
                by_distance.select_nth_unstable_by_key(limit - begin, |&(distance, _)| distance);
                found.truncate(limit);
                found[begin..].iter_mut().zip(by_distance).for_each(|(node, (_, closer))| *node = closer);
            }
        };
        // The bucket of the target is closest, then come all deeper ones together, and then one less deep
        // after another.
        let nearest = (self.own ^ target).leading_zeros() as usize;
        if nearest <= last {
            add(nearest..=nearest, found);
        }
        if found.len() < limit && nearest < last {
            add(nearest + 1..=last, found);
        }
        for bucket in (0..nearest.min(last + 1)).rev() {
            if found.len() >= limit {
                return;
            }
            add(bucket..=bucket, found);
        }
    }

    /// Prefetches the buckets' heads and the first two buckets, to which three quarters of all nodes belong.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch_all(&self.buckets[..]);
        prefetch_all(&self.contacts[..self.contacts.len().min(2 * usize::from(self.k))]);
    }

    /// Notes that a look-up of `target` has begun, at a time in seconds.
    #[inline]
    pub fn look_up(&mut self, target: u64, now: u32) {
        let number = (self.own ^ target).leading_zeros() as usize;
        if let Some(bucket) = self.buckets.get_mut(number) {
            bucket.looked_up = now;
        }
    }

    /// Returns the time of the last look-up in a bucket's range, in seconds.
    pub fn looked_up(&self, bucket: usize) -> u32 {
        self.buckets[bucket].looked_up
    }

    /// Returns the words of the table for a digest.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        (0..self.buckets.len())
            .flat_map(|bucket| self.slice(bucket))
            .map(|contact| u64::from(contact.node.0) << 32 | u64::from(contact.seen))
    }
}

/// Puts a node at the end of a cache, which may have it already. The oldest goes if the cache is full.
#[inline]
fn remember(cache: &mut [LpId], used: &mut u8, node: LpId) {
    let count = usize::from(*used);
    if let Some(index) = cache[..count].iter().position(|&other| other == node) {
        cache[index..count].rotate_left(1);
    } else if count < cache.len() {
        cache[count] = node;
        *used += 1;
    } else {
        cache.rotate_left(1);
        cache[count - 1] = node;
    }
}

/// Removes a node from a cache, if it is there.
fn forget(cache: &mut [LpId], used: &mut u8, node: LpId) {
    let count = usize::from(*used);
    if let Some(index) = cache[..count].iter().position(|&other| other == node) {
        cache[index..count].rotate_left(1);
        cache[count - 1] = NOBODY;
        *used -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODES: u32 = 80;

    /// Checks what holds for every table.
    fn check(table: &Table, space: &Space) -> Result<(), TestCaseError> {
        let k = usize::from(table.k);
        let mut all: Vec<LpId> = Vec::new();
        for (number, bucket) in table.buckets.iter().enumerate() {
            let contacts: Vec<LpId> = table.bucket(number).collect();
            let cached = &table.replacements[number * k..number * k + usize::from(bucket.replacements)];
            prop_assert!(contacts.len() <= k);
            prop_assert!(cached.is_empty() || contacts.len() == k, "only full buckets have replacements");
            for &node in contacts.iter().chain(cached) {
                prop_assert_eq!((space.id(node) ^ table.own).leading_zeros() as usize, number);
            }
            let times: Vec<u32> = table.slice(number).iter().map(|contact| contact.seen).collect();
            prop_assert!(times.is_sorted(), "the least recently seen is first: {:?}", times);
            all.extend(contacts.iter().chain(cached));
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count, "no node is there twice");
        prop_assert!(!all.contains(&LpId(0)), "nor the node itself");
        Ok(())
    }

    proptest! {
        #[test]
        fn buckets_keep_their_invariants(
            k in 1_u8..6,
            steps in prop::collection::vec((0_u32..NODES, prop::bool::weighted(0.8), 0_u32..20), 0..400),
            target: u64,
            count in 1_usize..30,
        ) {
            let space = Space::new(3);
            let mut table = Table::new(space.id(LpId(0)), k);
            let mut now = 0;
            for (node, hears, passes) in steps {
                now += passes;
                let (node, id) = (LpId(node), space.id(LpId(node)));
                if hears {
                    let pinged = table.hear(node, id, now, 30);
                    if let Some(oldest) = pinged {
                        let number = table.bucket_of(id);
                        prop_assert_eq!(table.bucket(number).next(), Some(oldest));
                        prop_assert!(now - table.slice(number)[0].seen >= 30);
                        prop_assert_eq!(table.hear(LpId(node.0), id, now, 30), None, "one ping at a time");
                    }
                } else if node != LpId(0) {
                    table.fail(node, id);
                    let mut all = (0..table.buckets()).flat_map(|bucket| table.bucket(bucket));
                    prop_assert!(!all.any(|other| other == node));
                    drop(all);
                    table.end_ping(id);
                }
                check(&table, &space)?;
            }
            let mut found = vec![LpId(7)];
            table.closest(target, LpId(5), count, &space, &mut found);
            let mut expected: Vec<LpId> = (0..table.buckets()).flat_map(|bucket| table.bucket(bucket)).filter(|&node| node != LpId(5)).collect();
            expected.sort_unstable_by_key(|&node| space.id(node) ^ target);
            expected.truncate(count);
            prop_assert_eq!(found.remove(0), LpId(7));
            found.sort_unstable_by_key(|&node| space.id(node) ^ target);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_contact_that_fails_is_replaced_by_the_latest_newcomer() {
        let space = Space::new(1);
        let mut table = Table::new(space.id(LpId(0)), 2);
        let mut far = (1..).map(LpId).filter(|&node| (space.id(node) ^ table.own).leading_zeros() == 0);
        let [a, b, c, d] = [(); 4].map(|()| far.next().expect("half of all nodes are far"));
        drop(far);
        for (time, node) in [(1, a), (2, b), (3, c), (4, d), (5, c)] {
            assert_eq!(table.hear(node, space.id(node), time, 100), None);
        }
        assert_eq!(table.bucket(0).collect::<Vec<_>>(), [a, b]);
        assert_eq!(table.hear(a, space.id(a), 6, 100), None);
        assert_eq!(table.bucket(0).collect::<Vec<_>>(), [b, a]);
        assert_eq!(table.hear(d, space.id(d), 200, 100), Some(b));
        table.fail(b, space.id(b));
        assert_eq!(table.bucket(0).collect::<Vec<_>>(), [d, a]);
        table.fail(d, space.id(d));
        table.fail(c, space.id(c));
        assert_eq!(table.bucket(0).collect::<Vec<_>>(), [a]);
    }
}

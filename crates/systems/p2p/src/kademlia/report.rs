//! The metrics of a run of Kademlia, and the judgement of look-ups under churn.

use super::machine::Ended;
use super::{Directory, Machine};
use crate::membership::{self, Memberships, Ratios};
use crate::unfinished::{self, Unfinished};
use parades_core::prelude::*;

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    messages: CounterId,
    bytes: CounterId,
    maintenance_bytes: CounterId,
    timeouts: CounterId,
    joins: CounterId,
    departures: CounterId,
    members: CounterId,
    look_ups: CounterId,
    /// Look-ups that got no answer.
    failed: CounterId,
    unfinished: unfinished::Ids,
    right: CounterId,
    wrong: CounterId,
    values_found: CounterId,
    values_missing: CounterId,
    values_stored: CounterId,
    contacts: IntegerId,
    pub(super) hops: IntegerId,
    pub(super) look_up_time: IntegerId,
    pub(super) join_time: IntegerId,
    ratios: Ratios,
    /// Sums for the judgement at the end: sessions by node, and look-ups. The tables stay empty.
    sessions: TableId,
    ended: TableId,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics) -> Ids {
        let columns = |names: &[&str]| names.iter().map(|name| Column::new(name, Unit::Count)).collect();
        Ids {
            messages: metrics.counter("messages", Unit::Count),
            bytes: metrics.counter("bytes", Unit::Bytes),
            maintenance_bytes: metrics.counter("maintenance_bytes", Unit::Bytes),
            timeouts: metrics.counter("timeouts", Unit::Count),
            joins: metrics.counter("joins", Unit::Count),
            departures: metrics.counter("departures", Unit::Count),
            members: metrics.counter("members", Unit::Count),
            look_ups: metrics.counter("look_ups", Unit::Count),
            failed: metrics.counter("failed_look_ups", Unit::Count),
            unfinished: unfinished::Ids::declare(metrics),
            right: metrics.counter("right_look_ups", Unit::Count),
            wrong: metrics.counter("wrong_look_ups", Unit::Count),
            values_found: metrics.counter("values_found", Unit::Count),
            values_missing: metrics.counter("values_missing", Unit::Count),
            values_stored: metrics.counter("values_stored", Unit::Count),
            contacts: metrics.tally("contacts", Unit::Count),
            hops: metrics.histogram("hops", Unit::Count),
            look_up_time: metrics.histogram("look_up_time", Unit::Picoseconds),
            join_time: metrics.histogram("join_time", Unit::Picoseconds),
            ratios: Ratios::declare(metrics),
            sessions: metrics.table("sessions", columns(&["joined", "gone"])),
            ended: metrics.table("unjudged", columns(&["began", "ended", "target", "found"])),
        }
    }

    /// Adds one node.
    pub(super) fn finish(
        &self,
        node: LpId,
        machine: &Machine,
        unfinished: Unfinished,
        end: &End,
        metrics: &mut Metrics,
    ) {
        for began in machine.looks_up_since() {
            self.unfinished.add(end.time.since(began), self.look_up_time, unfinished, metrics);
        }
        let books = machine.books();
        self.unfinished.add_dropped(books.dropped, metrics);
        let counts = [
            (self.messages, books.messages),
            (self.bytes, books.bytes),
            (self.maintenance_bytes, books.maintenance_bytes),
            (self.timeouts, u64::from(books.timeouts)),
            (self.joins, u64::from(books.joins)),
            (self.departures, u64::from(books.departures)),
            (self.look_ups, u64::from(books.look_ups)),
            (self.failed, u64::from(books.failed)),
            (self.right, u64::from(books.right)),
            (self.wrong, u64::from(books.wrong)),
            (self.values_found, u64::from(books.values_found)),
            (self.values_missing, u64::from(books.values_missing)),
            (self.values_stored, machine.values().len() as u64),
        ];
        counts.into_iter().for_each(|(id, count)| metrics.count(id, count));
        let present = machine.member_since().map(|since| (since, end.time.max(since)));
        if present.is_some() {
            metrics.count(self.members, 1);
            metrics.observe(self.contacts, machine.table().contacts() as u64);
        }
        let sessions = books.sessions.iter().copied().chain(present);
        membership::add(sessions, node, self.ratios.membership, Some(self.sessions), metrics);
        for (key, ended) in membership::keys(node).zip(&books.ended) {
            let &Ended { began, ended, target, found } = ended;
            metrics.add_to_sums(self.ended, key, &[began.as_ps(), ended.as_ps(), target, u64::from(found.0)]);
        }
    }

    /// Judges look-ups that were not judged at their end, and computes ratios and rates.
    pub(super) fn conclude(&self, directory: &Directory, unfinished: Unfinished, metrics: &mut Metrics) {
        self.unfinished.conclude(self.look_ups, unfinished, metrics);
        let sessions = Memberships::take(self.sessions, metrics);
        for look_up in metrics.take_sums(self.ended).into_values() {
            let &[began, ended, target, found] = &look_up[..] else { unreachable!("four amounts were added") };
            let found = LpId(u32::try_from(found).expect("a node"));
            let is_right = is_right(&sessions, directory, began, ended, target, found);
            metrics.count(if is_right { self.right } else { self.wrong }, 1);
        }
        let look_ups = [self.right, self.wrong, self.failed];
        self.ratios.set(look_ups, [self.messages, self.bytes, self.maintenance_bytes], metrics);
    }
}

/// Returns whether no member during the whole look-up is closer to its target than the node that was found.
fn is_right(sessions: &Memberships, directory: &Directory, began: u64, ended: u64, target: u64, found: LpId) -> bool {
    let closest = directory.closest_where(target, |node| node == found || sessions.cover(node, began, ended));
    closest.is_some_and(|(_, node)| node == found)
}

#[cfg(test)]
mod tests {
    use super::super::Space;
    use super::*;

    #[test]
    fn a_look_up_is_wrong_if_a_closer_node_was_a_member_all_the_time() {
        let space = Space::new(1);
        let directory = Directory::new(&space, 3);
        let target = space.id(LpId(1));
        let mut others = [LpId(0), LpId(2)];
        others.sort_by_key(|&node| space.id(node) ^ target);
        let mut metrics = Metrics::new();
        let columns = ["joined", "gone"].map(|name| Column::new(name, Unit::Count)).to_vec();
        let (table, length) = (metrics.table("sessions", columns), metrics.counter("length", Unit::Picoseconds));
        let spans = [(10, 20), (30, 40)].map(|(joined, gone)| (Time::from_ps(joined), Time::from_ps(gone)));
        membership::add(spans.into_iter(), LpId(1), length, Some(table), &mut metrics);
        let sessions = Memberships::take(table, &mut metrics);
        let judge = |began, ended, found| is_right(&sessions, &directory, began, ended, target, found);
        assert!(!judge(12, 20, others[0]) && !judge(30, 31, others[0]), "node 1 was there");
        assert!(judge(9, 11, others[0]) && judge(15, 35, others[0]), "it was not there all the time");
        assert!(judge(15, 35, LpId(1)), "and it may be found");
    }
}

//! The metrics of a run of Chord, and the check that its ring is right.

use super::peer::{LookUp, Phase};
use super::{Chord, Machine, Ring};
use crate::membership::{self, Memberships, Ratios};
use crate::unfinished;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use std::collections::BTreeMap;

/// The greatest number of nodes that are named if their places in the ring are wrong.
const NAMED: usize = 8;

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    messages: CounterId,
    bytes: CounterId,
    maintenance_bytes: CounterId,
    joins: CounterId,
    departures: CounterId,
    timeouts: CounterId,
    look_ups: CounterId,
    failed: CounterId,
    unfinished: unfinished::Ids,
    right_look_ups: CounterId,
    wrong_look_ups: CounterId,
    members: CounterId,
    wrong_successors: CounterId,
    wrong_predecessors: CounterId,
    pub(super) hops: IntegerId,
    pub(super) look_up_time: IntegerId,
    pub(super) join_time: IntegerId,
    /// Members with a wrong successor or predecessor.
    misplaced: TableId,
    ratios: Ratios,
    /// Sums for the judgement at the end: sessions by node, and look-ups. The tables stay empty.
    sessions: TableId,
    answered: TableId,
    /// Every look-up, where the parameters ask for it.
    log: Option<TableId>,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics, keeps_look_ups: bool) -> Ids {
        let columns = |names: &[&str]| names.iter().map(|name| Column::new(name, Unit::Count)).collect();
        let places = columns(&["id", "successor", "right successor", "predecessor", "right predecessor"]);
        Ids {
            messages: metrics.counter("messages", Unit::Count),
            bytes: metrics.counter("bytes", Unit::Bytes),
            maintenance_bytes: metrics.counter("maintenance_bytes", Unit::Bytes),
            joins: metrics.counter("joins", Unit::Count),
            departures: metrics.counter("departures", Unit::Count),
            timeouts: metrics.counter("timeouts", Unit::Count),
            look_ups: metrics.counter("look_ups", Unit::Count),
            failed: metrics.counter("failed_look_ups", Unit::Count),
            unfinished: unfinished::Ids::declare(metrics),
            right_look_ups: metrics.counter("right_look_ups", Unit::Count),
            wrong_look_ups: metrics.counter("wrong_look_ups", Unit::Count),
            members: metrics.counter("members", Unit::Count),
            wrong_successors: metrics.counter("wrong_successors", Unit::Count),
            wrong_predecessors: metrics.counter("wrong_predecessors", Unit::Count),
            hops: metrics.histogram("hops", Unit::Count),
            look_up_time: metrics.histogram("look_up_time", Unit::Picoseconds),
            join_time: metrics.histogram("join_time", Unit::Picoseconds),
            misplaced: metrics.table("misplaced", places),
            ratios: Ratios::declare(metrics),
            sessions: metrics.table("sessions", columns(&["joined", "gone"])),
            answered: metrics.table("unjudged", columns(&["began", "ended", "key", "found"])),
            log: keeps_look_ups
                .then(|| metrics.table("look_up_log", columns(&["node", "began", "took", "key", "found", "hops"]))),
        }
    }

    /// Adds one node.
    pub(super) fn finish(&self, chord: &Chord, lp: LpId, machine: &Machine, end: &End, metrics: &mut Metrics) {
        let peer = machine.peer();
        if let Some(began) = machine.looks_up_since() {
            let so_far = end.time.since(began);
            self.unfinished.add(so_far, self.look_up_time, chord.parameters().unfinished, metrics);
        }
        let books = &peer.books;
        self.unfinished.add_dropped(books.dropped, metrics);
        metrics.count(self.messages, u64::from(books.messages));
        metrics.count(self.bytes, books.bytes);
        metrics.count(self.maintenance_bytes, books.maintenance_bytes);
        metrics.count(self.joins, u64::from(books.joins));
        metrics.count(self.departures, u64::from(books.departures));
        metrics.count(self.timeouts, u64::from(books.timeouts));
        metrics.count(self.look_ups, u64::from(books.answered) + u64::from(books.failed));
        metrics.count(self.failed, u64::from(books.failed));
        metrics.count(self.right_look_ups, u64::from(books.right));
        metrics.count(self.wrong_look_ups, u64::from(books.wrong));
        let past = peer.past.as_deref();
        let present = (peer.phase == Phase::Member).then(|| (peer.since, end.time.max(peer.since)));
        let sessions = past.into_iter().flat_map(|past| past.sessions.iter().copied()).chain(present);
        let table = chord.parameters().churn.as_ref().map(|_| self.sessions);
        membership::add(sessions, lp, self.ratios.membership, table, metrics);
        let answered = past.into_iter().flat_map(|past| &past.answered);
        for (key, look_up) in membership::keys(lp).zip(answered) {
            let &LookUp { began, took, key: target, found } = look_up;
            let found = found.map_or(0, |(successor, _)| u64::from(successor));
            let ended = began.as_ps().saturating_add(took.as_ps());
            metrics.add_to_sums(self.answered, key, &[began.as_ps(), ended, u64::from(target), found]);
        }
        if let Some(log) = self.log {
            peer.look_ups.iter().for_each(|look_up| metrics.row(log, row(lp, look_up)));
        }
        if peer.phase != Phase::Member {
            return;
        }
        metrics.count(self.members, 1);
        let known = |id: Option<u32>| id.map_or(0, |id| u64::from(id) + 1);
        metrics.add_to_sums(
            self.misplaced,
            u64::from(peer.id),
            &[u64::from(peer.successor()), known(peer.predecessor)],
        );
    }

    /// Compares each member's neighbours with those that it has on the ring.
    pub(super) fn conclude(&self, settled: bool, metrics: &mut Metrics) -> Result<(), String> {
        let members: BTreeMap<u64, Box<[u64]>> = metrics.take_sums(self.misplaced);
        let ids: Vec<u64> = members.keys().copied().collect();
        let mut named = 0;
        for (index, (&id, told)) in members.iter().enumerate() {
            let successor = ids[(index + 1) % ids.len()];
            let predecessor = ids[(index + ids.len() - 1) % ids.len()];
            let wrong = (told[0] != successor, told[1].checked_sub(1) != Some(predecessor) && ids.len() > 1);
            metrics.count(self.wrong_successors, u64::from(wrong.0));
            metrics.count(self.wrong_predecessors, u64::from(wrong.1));
            if wrong != (false, false) && named < NAMED {
                named += 1;
                let told_predecessor = told[1].checked_sub(1).map_or(Cell::Empty, Cell::from);
                let cells = [id.into(), told[0].into(), successor.into(), told_predecessor, predecessor.into()];
                metrics.row(self.misplaced, cells);
            }
        }
        let counter = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default();
        let (successors, predecessors, look_ups) =
            (counter(self.wrong_successors), counter(self.wrong_predecessors), counter(self.wrong_look_ups));
        if !settled || successors + predecessors + look_ups == 0 {
            return Ok(());
        }
        Err(format!(
            "the ring is wrong: of {} members, {successors} have a wrong successor and {predecessors} a wrong predecessor, and {look_ups} \
             look-ups found a wrong node; it may need longer to settle (`settle`)",
            ids.len()
        ))
    }

    /// Judges look-ups that were not judged at their end, and computes ratios and rates.
    pub(super) fn judge(&self, chord: &Chord, metrics: &mut Metrics) {
        self.unfinished.conclude(self.look_ups, chord.parameters().unfinished, metrics);
        let sessions = Memberships::take(self.sessions, metrics);
        let answered = metrics.take_sums(self.answered);
        let ring = chord.ring();
        let mut nodes: Vec<u32> = Vec::new();
        if !answered.is_empty() {
            nodes.extend((0..chord.parameters().nodes).map(|lp| ring.id(LpId(lp))));
            nodes.sort_unstable();
        }
        for look_up in answered.into_values() {
            let &[began, ended, key, found] = &look_up[..] else { unreachable!("four amounts were added") };
            let identifier = |word: u64| u32::try_from(word).expect("an identifier");
            let is_right = is_right(&sessions, ring, &nodes, began, ended, identifier(key), identifier(found));
            metrics.count(if is_right { self.right_look_ups } else { self.wrong_look_ups }, 1);
        }
        let look_ups = [self.right_look_ups, self.wrong_look_ups, self.failed];
        self.ratios.set(look_ups, [self.messages, self.bytes, self.maintenance_bytes], metrics);
    }
}

/// Returns whether the node that was found was a member at some time of the look-up, and no node between the
/// key and it was one during the whole look-up. `nodes` are the identifiers of all nodes, sorted.
fn is_right(sessions: &Memberships, ring: &Ring, nodes: &[u32], began: u64, ended: u64, key: u32, found: u32) -> bool {
    let first = nodes.partition_point(|&id| id < key);
    let mut from_key = nodes[first..].iter().chain(&nodes[..first]).copied();
    let nearest = from_key.find(|&id| id == found || sessions.cover(ring.lp(id), began, ended));
    nearest == Some(found) && sessions.touch(ring.lp(found), began, ended)
}

/// Returns the row of a look-up.
fn row(node: LpId, look_up: &LookUp) -> [Cell; 6] {
    let &LookUp { began, took, key, found } = look_up;
    let (successor, hops) = match found {
        Some((successor, hops)) => (u64::from(successor).into(), u64::from(hops).into()),
        None => (Cell::Empty, Cell::Empty),
    };
    [u64::from(node.0).into(), began.as_ps().into(), took.as_ps().into(), u64::from(key).into(), successor, hops]
}

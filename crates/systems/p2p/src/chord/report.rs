//! The metrics of a run of Chord, and the check that its ring is right.

use super::peer::{LookUp, Peer, Phase};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use std::collections::BTreeMap;

/// The greatest number of nodes that are named if their places in the ring are wrong.
const NAMED: usize = 8;

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    messages: MetricId,
    joins: MetricId,
    departures: MetricId,
    timeouts: MetricId,
    look_ups: MetricId,
    failed: MetricId,
    /// Look-ups, once the ring had settled, that were answered by another node than the right one.
    wrong_look_ups: MetricId,
    members: MetricId,
    wrong_successors: MetricId,
    wrong_predecessors: MetricId,
    pub(super) hops: MetricId,
    pub(super) look_up_time: MetricId,
    pub(super) join_time: MetricId,
    /// Members with a wrong successor or predecessor.
    misplaced: MetricId,
    /// Every look-up, where the parameters ask for it.
    log: Option<MetricId>,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics, keeps_look_ups: bool) -> Ids {
        let columns = ["id", "successor", "right successor", "predecessor", "right predecessor"];
        let columns = columns.map(|name| Column::new(name, Unit::Count)).into_iter().collect();
        Ids {
            messages: metrics.counter("messages", Unit::Count),
            joins: metrics.counter("joins", Unit::Count),
            departures: metrics.counter("departures", Unit::Count),
            timeouts: metrics.counter("timeouts", Unit::Count),
            look_ups: metrics.counter("look_ups", Unit::Count),
            failed: metrics.counter("failed_look_ups", Unit::Count),
            wrong_look_ups: metrics.counter("wrong_look_ups", Unit::Count),
            members: metrics.counter("members", Unit::Count),
            wrong_successors: metrics.counter("wrong_successors", Unit::Count),
            wrong_predecessors: metrics.counter("wrong_predecessors", Unit::Count),
            hops: metrics.histogram("hops", Unit::Count),
            look_up_time: metrics.histogram("look_up_time", Unit::Picoseconds),
            join_time: metrics.histogram("join_time", Unit::Picoseconds),
            misplaced: metrics.table("misplaced", columns),
            log: keeps_look_ups.then(|| {
                let columns = ["node", "began", "took", "key", "found", "hops"];
                metrics.table("look_up_log", columns.map(|name| Column::new(name, Unit::Count)).into_iter().collect())
            }),
        }
    }

    /// Adds one node.
    pub(super) fn finish(&self, (lp, peer): (LpId, &Peer), settled: bool, metrics: &mut Metrics) {
        let books = &peer.books;
        metrics.count(self.messages, u64::from(books.messages));
        metrics.count(self.joins, u64::from(books.joins));
        metrics.count(self.departures, u64::from(books.departures));
        metrics.count(self.timeouts, u64::from(books.timeouts));
        metrics.count(self.look_ups, u64::from(books.answered) + u64::from(books.failed));
        metrics.count(self.failed, u64::from(books.failed));
        if settled {
            metrics.count(self.wrong_look_ups, u64::from(books.wrong));
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

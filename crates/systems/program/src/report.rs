//! What became of the processes: how many ended, were killed, or still wait, and who waits for what if nothing will ever happen again.

use crate::carrier::Held;
use crate::table::{State, Table};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// Processes that are named if they wait for ever.
const NAMED: u128 = 8;

/// The metrics of every program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    ended: MetricId,
    killed: MetricId,
    waiting: MetricId,
    /// Messages that reached a node that was disconnected, or whose processes were all over.
    lost: MetricId,
    /// Messages that waited for a process at the end.
    unread: MetricId,
    /// Messages on their way at the end.
    on_their_way: MetricId,
    /// Nodes that would be woken by a timer if the run went on; and a shared network without messages in which something would happen.
    asleep: MetricId,
    /// The first that wait: node, process, for what.
    waits: MetricId,
    deadlock: MetricId,
    /// Messages that a shared network did not deliver.
    failed: Option<MetricId>,
}

impl Ids {
    /// Declares them after the program's own.
    pub(crate) fn declare(metrics: &mut Metrics, shared: bool) -> Ids {
        let columns = ["node", "process", "waits for"].map(|name| Column::new(name, Unit::Count)).into_iter().collect();
        Ids {
            ended: metrics.counter("processes_ended", Unit::Count),
            killed: metrics.counter("processes_killed", Unit::Count),
            waiting: metrics.counter("processes_waiting", Unit::Count),
            lost: metrics.counter("messages_lost", Unit::Count),
            unread: metrics.counter("messages_unread", Unit::Count),
            on_their_way: metrics.counter("messages_on_their_way", Unit::Count),
            asleep: metrics.counter("nodes_asleep", Unit::Count),
            waits: metrics.table("first_waiting", columns),
            deadlock: metrics.value("deadlock", Unit::Count),
            failed: shared.then(|| metrics.counter("messages_failed", Unit::Count)),
        }
    }

    /// Adds one node.
    pub(crate) fn finish(&self, id: LpId, (table, lost, unread): (&Table, u64, u64), metrics: &mut Metrics) {
        metrics.count(self.ended, u64::from(table.ended));
        metrics.count(self.killed, u64::from(table.killed));
        metrics.count(self.lost, lost);
        metrics.count(self.unread, unread);
        metrics.count(self.asleep, u64::from(table.clocks.iter().any(|clock| clock.due < Time::MAX)));
        for process in table.processes.iter().filter(|process| process.state == State::Alive) {
            if counter(metrics, self.waiting) < NAMED {
                let cells = [
                    Cell::from(u64::from(id.0)),
                    Cell::Text(process.name.into()),
                    Cell::Text(process.wait.to_string().into()),
                ];
                metrics.row(self.waits, cells);
            }
            metrics.count(self.waiting, 1);
        }
    }

    /// Adds what a shared network holds.
    pub(crate) fn finish_carrier(&self, held: Held, metrics: &mut Metrics) {
        metrics.count(self.on_their_way, held.on_their_way);
        metrics.count(self.asleep, u64::from(held.is_active && held.on_their_way == 0));
        metrics.count(self.lost, held.stuck);
        if let Some(failed) = self.failed {
            metrics.count(failed, held.failed);
        }
    }

    pub(crate) fn unfinished(&self, messages: u64, metrics: &mut Metrics) {
        metrics.count(self.on_their_way, messages);
    }

    /// Whether nothing would ever happen again although processes wait, in a sentence.
    pub(crate) fn conclude(&self, metrics: &mut Metrics) -> Option<String> {
        let waiting = counter(metrics, self.waiting);
        if waiting == 0 || counter(metrics, self.asleep) + counter(metrics, self.on_their_way) > 0 {
            return None;
        }
        let rows = metrics.by_id(self.waits).and_then(MetricValue::table).map(|table| table.rows()).unwrap_or_default();
        let one = |row: &&[Cell]| match row {
            [Cell::Integer(node), Cell::Text(process), Cell::Text(what)] => {
                format!("`{process}` of node {node} waits for {what}")
            }
            _ => String::new(),
        };
        let who: Vec<String> = rows.iter().map(one).collect();
        let more = if waiting > NAMED { format!("; and {} more", waiting - NAMED) } else { String::new() };
        let processes = if waiting == 1 { "1 process waits" } else { &format!("{waiting} processes wait") };
        let sentence = format!("{processes} for ever, as nothing is left to happen: {}{more}", who.join("; "));
        metrics.set(self.deadlock, Cell::Text(sentence.clone().into()));
        Some(sentence)
    }
}

fn counter(metrics: &Metrics, id: MetricId) -> u128 {
    metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default()
}

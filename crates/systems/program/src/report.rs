//! The metrics of processes: those that ended, were killed, or still wait, and the deadlock if nothing can
//! happen any more.

use crate::carrier::Held;
use crate::table::{State, Table};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The greatest number of processes that are named if they wait forever.
const NAMED: u128 = 8;

/// The metrics of every program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids {
    ended: CounterId,
    killed: CounterId,
    waiting: CounterId,
    /// Messages that reached a disconnected node, or a node whose processes were all over, and those that a
    /// carrier would never have delivered.
    lost: CounterId,
    /// Messages in inboxes, and in the mailboxes of a carrier, at the end.
    unread: CounterId,
    /// Messages on their way at the end.
    on_their_way: CounterId,
    /// Nodes that a timer would wake if the run went on, and carriers' LPs that hold no messages but have a
    /// timer.
    asleep: CounterId,
    /// The first processes that wait: node, process, and the reason of the wait.
    waits: TableId,
    deadlock: ValueId,
    /// Messages that the carrier did not deliver, if it may fail.
    failed: Option<CounterId>,
}

impl Ids {
    /// Declares the metrics, after the program's own.
    pub(crate) fn declare(metrics: &mut Metrics, may_fail: bool) -> Ids {
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
            failed: may_fail.then(|| metrics.counter("messages_failed", Unit::Count)),
        }
    }

    /// Adds one node.
    pub(crate) fn finish(&self, id: LpId, table: &Table, lost: u64, unread: u64, metrics: &mut Metrics) {
        metrics.count(self.ended, u64::from(table.ended));
        metrics.count(self.killed, u64::from(table.killed));
        metrics.count(self.lost, lost);
        metrics.count(self.unread, unread);
        metrics.count(self.asleep, u64::from(table.clocks.iter().any(|clock| clock.due < Time::MAX)));
        for process in table.processes.iter().filter(|process| process.state == State::Alive && !process.is_daemon) {
            if counter(metrics, self.waiting) < NAMED {
                let cells = [
                    Cell::from(u64::from(id.0)),
                    Cell::Text(process.name.into()),
                    Cell::Text(table.reason(process).into()),
                ];
                metrics.row(self.waits, cells);
            }
            metrics.count(self.waiting, 1);
        }
    }

    /// Adds an LP of the carrier's own.
    pub(crate) fn finish_carrier(&self, held: Held, metrics: &mut Metrics) {
        metrics.count(self.on_their_way, held.on_their_way);
        metrics.count(self.asleep, u64::from(held.is_active && held.on_their_way == 0));
        metrics.count(self.lost, held.stuck);
        metrics.count(self.unread, held.unread);
        if let Some(failed) = self.failed {
            metrics.count(failed, held.failed);
        }
    }

    /// Adds the messages of events that were still pending.
    pub(crate) fn unfinished(&self, messages: u64, metrics: &mut Metrics) {
        metrics.count(self.on_their_way, messages);
    }

    /// Returns a sentence on the deadlock, if processes wait although nothing can happen any more.
    pub(crate) fn conclude(&self, metrics: &mut Metrics) -> Option<String> {
        // Each process of a run has named the first of its own nodes.
        metrics.keep_first_rows(self.waits, NAMED as usize);
        let waiting = counter(metrics, self.waiting);
        if waiting == 0 || counter(metrics, self.asleep) + counter(metrics, self.on_their_way) > 0 {
            return None;
        }
        let rows = metrics.by_id(self.waits).and_then(MetricValue::table).map(|table| table.rows()).unwrap_or_default();
        let one = |row: &Vec<Cell>| match &row[..] {
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

fn counter(metrics: &Metrics, id: CounterId) -> u128 {
    metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default()
}

//! The two vocabularies: the facts that tables and totals show, with their order and names.

use super::flows::{
    BACK_COPIES, BACK_DUPLICATED, BACK_IN_FLIGHT, BACK_LOST, BACK_RECEIVED, BACK_SENT, BYTES, COPIES, DUPLICATED,
    IN_FLIGHT, JITTER, LAST, LOST, MAX, MEAN, MIN, NO_SUMS, P50, P95, P99, RECEIVED, REORDERED, SENT, Sums, WAITS,
};
use super::ratio;
use super::state::Fate;
use crate::histogram::PERCENTILE_ERROR_PERMILLE;
use crate::network::{Layout, Vocabulary};
use crate::port::{LOSSES, Totals as PortTotals};
use parades_core::metrics::{Cell, Column, Unit};
use parades_core::time::{Delay, Time};

/// The facts of a flow.
pub(super) struct FlowRow<'a> {
    pub(super) number: u64,
    pub(super) app: &'a str,
    /// The names of source and destination.
    pub(super) names: [&'a str; 2],
    pub(super) start: Time,
    pub(super) sums: &'a Sums,
    pub(super) is_complete: bool,
    pub(super) fate: Fate,
    pub(super) slowdown: Option<f64>,
    /// The time since the start of an unfinished flow.
    pub(super) unfinished_for: Option<Delay>,
    pub(super) has_percentiles: bool,
}

impl FlowRow<'_> {
    /// Returns a fact of arrived packets; an empty cell if none arrived.
    fn arrived(&self, fact: usize) -> Cell {
        if self.sums[RECEIVED] > 0 { Cell::Integer(self.sums[fact]) } else { Cell::Empty }
    }

    fn percentile(&self, fact: usize) -> Cell {
        if self.has_percentiles { self.arrived(fact) } else { Cell::Empty }
    }

    /// Returns the sum of the losses for all reasons. `first` is the place of the first reason's sum.
    fn lost(&self, first: usize) -> Cell {
        self.sums[first..first + LOSSES].iter().sum::<u64>().into()
    }

    /// Returns the time from the flow's start to the last arrival, in picoseconds.
    fn duration_ps(&self) -> u64 {
        self.sums[LAST].saturating_sub(self.start.as_ps())
    }

    fn duration(&self) -> Cell {
        if self.sums[LAST] > 0 { self.duration_ps().into() } else { Cell::Empty }
    }

    /// Returns the payload that arrived, in bits per second of the duration.
    fn throughput(&self) -> Cell {
        ratio(self.sums[BYTES] as f64 * 8.0, self.duration_ps() as f64 / 1e12)
    }
}

type FlowColumn = for<'a, 'b> fn(&'a FlowRow<'b>) -> Cell;

/// A column of the table of flows.
pub(super) struct OfFlow {
    name: &'static str,
    unit: Unit,
    pub(super) cell: FlowColumn,
    /// True if the column is a percentile, which has the error of its histogram.
    is_percentile: bool,
}

impl OfFlow {
    /// Returns the heading of the column.
    pub(super) fn heading(&self) -> Column {
        let error_permille = if self.is_percentile { PERCENTILE_ERROR_PERMILLE } else { 0 };
        Column::new(self.name, self.unit).with_error_permille(error_permille)
    }
}

const fn flow(name: &'static str, unit: Unit, cell: FlowColumn) -> OfFlow {
    OfFlow { name, unit, cell, is_percentile: false }
}

const fn percentile(name: &'static str, cell: FlowColumn) -> OfFlow {
    OfFlow { is_percentile: true, ..flow(name, Unit::Picoseconds, cell) }
}

const FLOWS: &[OfFlow] = &[
    flow("flow", Unit::Count, |row| row.number.into()),
    flow("source", Unit::Count, |row| row.names[0].into()),
    flow("destination", Unit::Count, |row| row.names[1].into()),
    flow("packets_sent", Unit::Count, |row| row.sums[SENT].into()),
    flow("packets_lost", Unit::Count, |row| row.lost(LOST)),
    flow("delay_mean", Unit::Picoseconds, |row| row.arrived(MEAN)),
    flow("jitter", Unit::Picoseconds, |row| row.arrived(JITTER)),
    flow("goodput", Unit::BitsPerSecond, |row| row.throughput()),
    flow("start", Unit::Picoseconds, |row| row.start.as_ps().into()),
    flow("duration", Unit::Picoseconds, |row| row.duration()),
    flow("complete", Unit::Count, |row| u64::from(row.is_complete).into()),
    flow("packets_delivered", Unit::Count, |row| row.sums[RECEIVED].into()),
    flow("packets_reordered", Unit::Count, |row| row.sums[REORDERED].into()),
    flow("bytes_delivered", Unit::Bytes, |row| row.sums[BYTES].into()),
    flow("delay_min", Unit::Picoseconds, |row| row.arrived(MIN)),
    flow("delay_max", Unit::Picoseconds, |row| row.arrived(MAX)),
];

const FLOWS_OF_APPS: &[OfFlow] = &[
    flow("flow", Unit::Count, |row| row.number.into()),
    flow("app", Unit::Count, |row| row.app.into()),
    flow("source", Unit::Count, |row| row.names[0].into()),
    flow("destination", Unit::Count, |row| row.names[1].into()),
    flow("packets_sent", Unit::Count, |row| row.sums[SENT].into()),
    flow("packets_received", Unit::Count, |row| row.sums[RECEIVED].into()),
    flow("packets_lost", Unit::Count, |row| row.lost(LOST)),
    flow("delay_mean", Unit::Picoseconds, |row| row.arrived(MEAN)),
    percentile("delay_p95", |row| row.percentile(P95)),
    flow("throughput", Unit::BitsPerSecond, |row| row.throughput()),
    flow("start", Unit::Picoseconds, |row| row.start.as_ps().into()),
    flow("duration", Unit::Picoseconds, |row| row.duration()),
    flow("complete", Unit::Count, |row| u64::from(row.is_complete).into()),
    flow("bytes_received", Unit::Bytes, |row| row.sums[BYTES].into()),
    flow("lost_queue", Unit::Count, |row| row.sums[LOST].into()),
    flow("lost_chance", Unit::Count, |row| row.sums[LOST + 1].into()),
    flow("lost_down", Unit::Count, |row| row.sums[LOST + 2].into()),
    flow("delay_min", Unit::Picoseconds, |row| row.arrived(MIN)),
    percentile("delay_p50", |row| row.percentile(P50)),
    percentile("delay_p99", |row| row.percentile(P99)),
    flow("delay_max", Unit::Picoseconds, |row| row.arrived(MAX)),
    flow("jitter", Unit::Picoseconds, |row| row.arrived(JITTER)),
    flow("packets_reordered", Unit::Count, |row| row.sums[REORDERED].into()),
    flow("answers_sent", Unit::Count, |row| row.sums[BACK_SENT].into()),
    flow("answers_received", Unit::Count, |row| row.sums[BACK_RECEIVED].into()),
    flow("answers_lost", Unit::Count, |row| row.lost(BACK_LOST)),
    flow("lost_early", Unit::Count, |row| row.sums[LOST + 3].into()),
    flow("packets_duplicated", Unit::Count, |row| row.sums[DUPLICATED].into()),
    flow("answers_duplicated", Unit::Count, |row| row.sums[BACK_DUPLICATED].into()),
    flow("copies_received", Unit::Count, |row| row.sums[COPIES].into()),
    flow("answer_copies_received", Unit::Count, |row| row.sums[BACK_COPIES].into()),
];

/// Further columns, for networks whose flows may end in several ways.
const ENDS: &[OfFlow] = &[
    flow("state", Unit::Count, |row| row.fate.state.words().into()),
    flow("slowdown", Unit::Ratio, |row| row.slowdown.map_or(Cell::Empty, Cell::Float)),
    flow("no_path_since", Unit::Picoseconds, |row| {
        row.fate.no_path_since.map_or(Cell::Empty, |since| since.as_ps().into())
    }),
    flow("unfinished_for", Unit::Picoseconds, |row| {
        row.unfinished_for.map_or(Cell::Empty, |so_far| so_far.as_ps().into())
    }),
];

/// Returns the columns of the table of flows.
pub(super) fn of_flows(net: &Layout) -> impl Iterator<Item = &'static OfFlow> {
    let (columns, ends) = match net.vocabulary {
        Vocabulary::Flows if net.has_connections() => (FLOWS, ENDS),
        Vocabulary::Flows => (FLOWS, &[][..]),
        Vocabulary::Apps => (FLOWS_OF_APPS, ENDS),
    };
    columns.iter().chain(ends)
}

/// The facts of one direction of a link.
pub(super) struct LinkRow<'a> {
    pub(super) rank: u64,
    /// The name of the link, of the sending node, and of the receiving node.
    pub(super) names: [&'a str; 3],
    pub(super) rate_bps: u64,
    pub(super) utilisation: f64,
    pub(super) packets: u64,
    pub(super) totals: PortTotals,
    /// The mean number of packets that waited.
    pub(super) queue_mean: f64,
}

type LinkColumn = for<'a, 'b> fn(&'a LinkRow<'b>) -> Cell;

/// A column of the table of links.
pub(super) struct OfLink {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) cell: LinkColumn,
}

const fn link(name: &'static str, unit: Unit, cell: LinkColumn) -> OfLink {
    OfLink { name, unit, cell }
}

const LINKS: &[OfLink] = &[
    link("rank", Unit::Count, |row| row.rank.into()),
    link("from", Unit::Count, |row| row.names[1].into()),
    link("to", Unit::Count, |row| row.names[2].into()),
    link("rate", Unit::BitsPerSecond, |row| row.rate_bps.into()),
    link("utilisation", Unit::Ratio, |row| row.utilisation.into()),
    link("packets_sent", Unit::Count, |row| row.packets.into()),
    link("packets_lost", Unit::Count, |row| row.totals.lost.iter().sum::<u64>().into()),
    link("queue_max", Unit::Count, |row| u64::from(row.totals.waiting_max).into()),
    link("queue_mean", Unit::Count, |row| row.queue_mean.into()),
    link("lost_early", Unit::Count, |row| row.totals.lost[3].into()),
    link("packets_marked", Unit::Count, |row| row.totals.marked.into()),
    link("packets_duplicated", Unit::Count, |row| row.totals.duplicated.into()),
];

const LINKS_OF_APPS: &[OfLink] = &[
    link("rank", Unit::Count, |row| row.rank.into()),
    link("link", Unit::Count, |row| row.names[0].into()),
    link("from", Unit::Count, |row| row.names[1].into()),
    link("to", Unit::Count, |row| row.names[2].into()),
    link("rate", Unit::BitsPerSecond, |row| row.rate_bps.into()),
    link("utilisation", Unit::Ratio, |row| row.utilisation.into()),
    link("packets_sent", Unit::Count, |row| row.packets.into()),
    link("lost_queue", Unit::Count, |row| row.totals.lost[0].into()),
    link("lost_chance", Unit::Count, |row| row.totals.lost[1].into()),
    link("lost_down", Unit::Count, |row| row.totals.lost[2].into()),
    link("queue_max", Unit::Count, |row| u64::from(row.totals.waiting_max).into()),
    link("queue_mean", Unit::Count, |row| row.queue_mean.into()),
    link("lost_early", Unit::Count, |row| row.totals.lost[3].into()),
    link("packets_marked", Unit::Count, |row| row.totals.marked.into()),
    link("packets_duplicated", Unit::Count, |row| row.totals.duplicated.into()),
];

/// Returns the columns of the table of links.
pub(super) fn of_links(vocabulary: Vocabulary) -> &'static [OfLink] {
    match vocabulary {
        Vocabulary::Flows => LINKS,
        Vocabulary::Apps => LINKS_OF_APPS,
    }
}

/// The totals of all flows.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    pub(super) flows: u64,
    complete: u64,
    /// Flows with an end that have started and are not complete.
    unfinished: u64,
    /// Requests that wait for their response.
    requests_unfinished: u64,
    /// Flows that have no path at the end.
    cut_off: u64,
    /// Connections that have ended without all their data.
    given_up: u64,
    pub(super) sums: Sums,
    /// The sum of the jitters of flows with two arrived packets or more, in picoseconds, and the number of
    /// those flows.
    pub(super) jitter_sum: u128,
    pub(super) jittered: u64,
}

impl Totals {
    /// Returns the totals of no flows.
    pub(super) fn new() -> Totals {
        Totals {
            flows: 0,
            complete: 0,
            unfinished: 0,
            requests_unfinished: 0,
            cut_off: 0,
            given_up: 0,
            sums: NO_SUMS,
            jitter_sum: 0,
            jittered: 0,
        }
    }

    /// Counts a flow.
    pub(super) fn add_flow(&mut self, is_complete: bool, is_unfinished: bool, fate: Fate, sums: &Sums) {
        self.flows += 1;
        self.complete += u64::from(is_complete);
        self.unfinished += u64::from(is_unfinished);
        self.requests_unfinished += u64::from(sums[WAITS] > 0);
        self.cut_off += u64::from(fate.no_path_since.is_some());
        self.given_up += u64::from(fate.state.is_given_up());
        if sums[RECEIVED] > 1 {
            self.jitter_sum += u128::from(sums[JITTER]);
            self.jittered += 1;
        }
    }

    /// Returns the sum of a count of packets and a count of answers.
    fn both(&self, there: usize, back: usize) -> u64 {
        self.sums[there] + self.sums[back]
    }

    /// Returns the packets and answers lost for one reason.
    fn lost_for(&self, reason: usize) -> u64 {
        self.both(LOST + reason, BACK_LOST + reason)
    }

    fn lost(&self) -> u64 {
        (0..LOSSES).map(|reason| self.lost_for(reason)).sum()
    }
}

/// A counter.
pub(super) struct Total {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) count: fn(&Totals) -> u64,
}

const fn total(name: &'static str, unit: Unit, count: fn(&Totals) -> u64) -> Total {
    Total { name, unit, count }
}

const TOTALS: &[Total] = &[
    total("flows_total", Unit::Count, |totals| totals.flows),
    total("flows_complete", Unit::Count, |totals| totals.complete),
    total("flows_unfinished", Unit::Count, |totals| totals.unfinished),
    total("packets_sent", Unit::Count, |totals| totals.both(SENT, BACK_SENT)),
    total("packets_delivered", Unit::Count, |totals| totals.both(RECEIVED, BACK_RECEIVED)),
    total("packets_lost", Unit::Count, Totals::lost),
    total("packets_in_flight", Unit::Count, |totals| totals.both(IN_FLIGHT, BACK_IN_FLIGHT)),
    total("packets_reordered", Unit::Count, |totals| totals.sums[REORDERED]),
    total("bytes_delivered", Unit::Bytes, |totals| totals.sums[BYTES]),
];

const TOTALS_OF_APPS: &[Total] = &[
    total("flows_total", Unit::Count, |totals| totals.flows),
    total("flows_complete", Unit::Count, |totals| totals.complete),
    total("flows_unfinished", Unit::Count, |totals| totals.unfinished),
    total("requests_unfinished", Unit::Count, |totals| totals.requests_unfinished),
    total("flows_cut_off", Unit::Count, |totals| totals.cut_off),
    total("flows_given_up", Unit::Count, |totals| totals.given_up),
    total("packets_sent", Unit::Count, |totals| totals.both(SENT, BACK_SENT)),
    total("packets_received", Unit::Count, |totals| totals.both(RECEIVED, BACK_RECEIVED)),
    total("packets_lost", Unit::Count, Totals::lost),
    total("packets_lost_queue", Unit::Count, |totals| totals.lost_for(0)),
    total("packets_lost_chance", Unit::Count, |totals| totals.lost_for(1)),
    total("packets_lost_down", Unit::Count, |totals| totals.lost_for(2)),
    total("packets_lost_early", Unit::Count, |totals| totals.lost_for(3)),
    total("packets_duplicated", Unit::Count, |totals| totals.both(DUPLICATED, BACK_DUPLICATED)),
    total("copies_received", Unit::Count, |totals| totals.both(COPIES, BACK_COPIES)),
    total("packets_in_flight", Unit::Count, |totals| totals.both(IN_FLIGHT, BACK_IN_FLIGHT)),
    total("bytes_received", Unit::Bytes, |totals| totals.sums[BYTES]),
];

/// Returns the counters.
pub(super) fn totals(vocabulary: Vocabulary) -> &'static [Total] {
    match vocabulary {
        Vocabulary::Flows => TOTALS,
        Vocabulary::Apps => TOTALS_OF_APPS,
    }
}

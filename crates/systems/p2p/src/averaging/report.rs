//! The metrics of a run of averaging, and the check of the sum.

use super::{Averaging, MESSAGE_BYTES, Machine, Parameters, UNIT, Values};
use parades_core::metrics::{CounterId, IntegerId, MetricValue, TableId, Tally, ValueId};
use parades_core::prelude::*;

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    exchanges: CounterId,
    completed: CounterId,
    refused: CounterId,
    timeouts: CounterId,
    skipped: CounterId,
    messages: CounterId,
    bytes: CounterId,
    /// Bytes that a node sends a second.
    rate: ValueId,
    /// The mean factor of the variance, over all cycles.
    factor: ValueId,
    /// The same by theory, for the fraction of requests that was refused.
    theory: ValueId,
    /// The number of nodes, as each node estimates it.
    size: Option<IntegerId>,
    table: TableId,
    /// The tally of the values at the start. The tally after `k` cycles is the `k`-th after it.
    start: IntegerId,
    /// The tally of the values at the end of the run.
    last: IntegerId,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics, parameters: &Parameters) -> Ids {
        let columns =
            [("cycle", Unit::Count), ("mean", Unit::Count), ("deviation", Unit::Count), ("factor", Unit::Ratio)];
        let ids = Ids {
            exchanges: metrics.counter("exchanges", Unit::Count),
            completed: metrics.counter("completed_exchanges", Unit::Count),
            refused: metrics.counter("refused_exchanges", Unit::Count),
            timeouts: metrics.counter("timeouts", Unit::Count),
            skipped: metrics.counter("skipped_starts", Unit::Count),
            messages: metrics.counter("messages", Unit::Count),
            bytes: metrics.counter("bytes", Unit::Bytes),
            rate: metrics.value("bytes_per_node_and_second", Unit::Bytes),
            factor: metrics.value("variance_factor", Unit::Ratio),
            theory: metrics.value("variance_factor_by_theory", Unit::Ratio),
            size: (parameters.values == Values::Peak).then(|| metrics.tally("size_estimate", Unit::Count)),
            table: metrics.table("cycles", columns.map(|(name, unit)| Column::new(name, unit)).into()),
            last: metrics.tally("after_run", Unit::Count),
            start: metrics.tally("after_cycle_0", Unit::Count),
        };
        (1..=parameters.cycles).for_each(|cycle| {
            metrics.tally(&format!("after_cycle_{cycle}"), Unit::Count);
        });
        ids
    }

    /// Returns the tally of the values after `cycle` cycles.
    #[inline]
    pub(super) fn after(&self, cycle: u32) -> IntegerId {
        MetricId(MetricId::from(self.start).0 + cycle).into()
    }

    /// Adds one node.
    pub(super) fn finish(&self, machine: &Machine, metrics: &mut Metrics) {
        let books = &machine.books;
        let counts = [
            (self.exchanges, books.asked),
            (self.completed, books.completed),
            (self.refused, books.refused),
            (self.timeouts, books.timeouts),
            (self.skipped, books.skipped),
            (self.messages, books.messages),
        ];
        counts.into_iter().for_each(|(id, count)| metrics.count(id, u64::from(count)));
        metrics.count(self.bytes, u64::from(books.messages) * MESSAGE_BYTES);
        metrics.observe(self.last, machine.value);
        if let Some(size) = self.size
            && let Some(estimate) = (UNIT + machine.value / 2).checked_div(machine.value)
        {
            metrics.observe(size, estimate);
        }
    }

    /// Writes the table of cycles, and compares the sum of the values with that of the start.
    pub(super) fn conclude(&self, parameters: &Parameters, end: Time, metrics: &mut Metrics) -> Result<(), String> {
        let all: Vec<Tally> = (0..=parameters.cycles).map_while(|cycle| tally(metrics, self.after(cycle))).collect();
        let variance = |tally: &Tally| tally.variance().unwrap_or_default();
        for (cycle, tally) in (0_usize..).zip(&all) {
            let before = cycle.checked_sub(1).map(|before| variance(&all[before]));
            let factor = before.filter(|&before| before > 0.0).map_or(Cell::Empty, |v| (variance(tally) / v).into());
            let [mean, deviation] = [tally.mean(), tally.deviation()].map(|x| x.unwrap_or_default() / UNIT as f64);
            metrics.row(self.table, [(cycle as u64).into(), mean.into(), deviation.into(), factor]);
        }
        if let [first, .., last] = &all[..] {
            let ratio = variance(last) / variance(first);
            metrics.set(self.factor, libm::pow(ratio, 1.0 / (all.len() - 1) as f64));
        }
        let counters = [self.exchanges, self.completed, self.refused, self.bytes];
        let count = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default();
        let [exchanges, completed, refused, bytes] = counters.map(count);
        if exchanges > 0 {
            metrics.set(self.theory, Averaging::factor(refused as f64 / exchanges as f64));
        }
        let is_exact = exchanges == completed + refused;
        let seconds = end.as_secs_f64() * f64::from(parameters.nodes);
        if seconds > 0.0 {
            metrics.set(self.rate, bytes as f64 / seconds);
        }
        let sums = [self.after(0), self.last].map(|id| tally(metrics, id).map(|tally| tally.sum()));
        match sums {
            [Some(start), Some(end)] if is_exact && start != end => {
                Err(format!("the sum of the values was {start} at the start and is {end} at the end; report this"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns a tally that has observations.
fn tally(metrics: &Metrics, id: IntegerId) -> Option<Tally> {
    metrics.by_id(id).and_then(MetricValue::tally).filter(|tally| tally.count() > 0).cloned()
}

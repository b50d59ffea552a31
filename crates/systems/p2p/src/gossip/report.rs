//! The metrics of a run of gossip.

use super::{Gossip, Machine};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The ids of the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    messages: CounterId,
    bytes: CounterId,
    duplicates: CounterId,
    /// The time from the beginning of a rumour to each node that heard it.
    pub(super) latency: IntegerId,
    /// The fraction of nodes that know a rumour, over all rumours that have begun.
    coverage: ValueId,
    rate: ValueId,
    rumours: TableId,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics) -> Ids {
        let columns = [
            ("rumour", Unit::Count),
            ("origin", Unit::Count),
            ("began", Unit::Picoseconds),
            ("nodes", Unit::Count),
            ("coverage", Unit::Ratio),
        ];
        Ids {
            messages: metrics.counter("messages", Unit::Count),
            bytes: metrics.counter("bytes", Unit::Bytes),
            duplicates: metrics.counter("duplicates", Unit::Count),
            latency: metrics.histogram("latency", Unit::Picoseconds),
            coverage: metrics.value("coverage", Unit::Ratio),
            rate: metrics.value("bytes_per_node_and_second", Unit::Bytes),
            rumours: metrics.table("rumours", columns.map(|(name, unit)| Column::new(name, unit)).into()),
        }
    }

    /// Adds one node.
    pub(super) fn finish(&self, machine: &Machine, metrics: &mut Metrics) {
        metrics.count(self.messages, machine.books.messages);
        metrics.count(self.bytes, machine.books.bytes);
        metrics.count(self.duplicates, machine.books.duplicates);
        for (index, &word) in (0_u64..).zip(&machine.known) {
            (0..64).filter(|bit| word >> bit & 1 == 1).for_each(|bit| {
                metrics.add_to_sums(self.rumours, index * 64 + bit, &[1]);
            });
        }
    }

    /// Writes the table of rumours.
    pub(super) fn conclude(&self, gossip: &Gossip, end: Time, metrics: &mut Metrics) {
        let nodes = f64::from(gossip.parameters().nodes);
        let sums = metrics.take_sums(self.rumours);
        let mut all = 0;
        for (&rumour, sums) in &sums {
            let number = u32::try_from(rumour).expect("numbers of rumours have 32 bits");
            let origin = u64::from(number % gossip.parameters().nodes);
            let began = gossip.beginning(number).as_ps();
            let coverage = sums[0] as f64 / nodes;
            metrics.row(self.rumours, [rumour.into(), origin.into(), began.into(), sums[0].into(), coverage.into()]);
            all += sums[0];
        }
        if !sums.is_empty() {
            metrics.set(self.coverage, all as f64 / (nodes * sums.len() as f64));
        }
        let bytes = metrics.by_id(self.bytes).and_then(MetricValue::counter).unwrap_or_default();
        if end > Time::ZERO {
            metrics.set(self.rate, bytes as f64 / nodes / end.as_secs_f64());
        }
    }
}

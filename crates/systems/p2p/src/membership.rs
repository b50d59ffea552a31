//! The measures that protocols with look-ups have in common: the sessions of all nodes, against which
//! look-ups are judged at the end of a run, and rates for a member and a second.

use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use std::collections::BTreeMap;

/// The sessions of all nodes, each from the end of the join to the end of the session. Times are in
/// picoseconds.
pub(crate) struct Memberships(BTreeMap<u64, Box<[u64]>>);

/// Returns the keys of a node's rows in the sums of a table, in their order.
pub(crate) fn keys(node: LpId) -> impl Iterator<Item = u64> {
    u64::from(node.0) << 32..
}

/// Adds the lengths of a node's sessions to a counter, and the sessions to the sums of a table if there is
/// one.
pub(crate) fn add(
    sessions: impl Iterator<Item = (Time, Time)>,
    node: LpId,
    length: CounterId,
    table: Option<TableId>,
    metrics: &mut Metrics,
) {
    for (key, (joined, gone)) in keys(node).zip(sessions) {
        metrics.count(length, gone.since(joined).as_ps());
        if let Some(table) = table {
            metrics.add_to_sums(table, key, &[joined.as_ps(), gone.as_ps()]);
        }
    }
}

/// The ids of the metrics that follow from others at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratios {
    /// The share of right look-ups.
    success: ValueId,
    /// The rates of messages, bytes and bytes of maintenance, for a member and a second.
    rates: [ValueId; 3],
    /// The time for which nodes were members, in picoseconds.
    pub(crate) membership: CounterId,
}

impl Ratios {
    pub(crate) fn declare(metrics: &mut Metrics) -> Ratios {
        let success = metrics.value("success", Unit::Ratio);
        let names = ["messages", "bytes", "maintenance_bytes"];
        let rates = names.map(|name| metrics.value(&format!("{name}_per_node_and_second"), Unit::PerSecond));
        Ratios { success, rates, membership: metrics.counter("membership", Unit::Picoseconds) }
    }

    /// Computes the metrics from the counts of right, wrong and failed look-ups, and the totals of messages,
    /// bytes and bytes of maintenance. A metric whose divisor is zero has no value.
    pub(crate) fn set(&self, look_ups: [CounterId; 3], totals: [CounterId; 3], metrics: &mut Metrics) {
        let counter = |id| metrics.by_id(id).and_then(MetricValue::counter).unwrap_or_default() as f64;
        let [right, wrong, failed] = look_ups.map(counter);
        let seconds = counter(self.membership) / 1e12;
        let rates = self.rates.into_iter().zip(totals.map(counter)).map(|(rate, total)| (rate, total, seconds));
        let ratios: Vec<_> = [(self.success, right, right + wrong + failed)].into_iter().chain(rates).collect();
        for (id, above, below) in ratios {
            if below > 0.0 {
                metrics.set(id, above / below);
            }
        }
    }
}

impl Memberships {
    /// Takes the sessions that [`add`] has put into the sums of a table.
    pub(crate) fn take(table: TableId, metrics: &mut Metrics) -> Memberships {
        Memberships(metrics.take_sums(table))
    }

    fn of(&self, node: LpId) -> impl Iterator<Item = (u64, u64)> {
        let first = u64::from(node.0) << 32;
        self.0.range(first..first + (1 << 32)).map(|(_, session)| (session[0], session[1]))
    }

    /// Returns whether a node was a member during a whole interval.
    pub(crate) fn cover(&self, node: LpId, began: u64, ended: u64) -> bool {
        self.of(node).any(|(joined, gone)| joined <= began && ended <= gone)
    }

    /// Returns whether a node was a member at some time of an interval.
    pub(crate) fn touch(&self, node: LpId, began: u64, ended: u64) -> bool {
        self.of(node).any(|(joined, gone)| joined <= ended && began <= gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_cover_and_touch_intervals() {
        let mut metrics = Metrics::new();
        let columns = ["joined", "gone"].map(|name| Column::new(name, Unit::Count)).to_vec();
        let (table, length) = (metrics.table("sessions", columns), metrics.counter("length", Unit::Picoseconds));
        let time = Time::from_ps;
        add([(time(10), time(20)), (time(30), time(40))].into_iter(), LpId(1), length, Some(table), &mut metrics);
        add([(time(0), time(50))].into_iter(), LpId(2), length, Some(table), &mut metrics);
        let sessions = Memberships::take(table, &mut metrics);
        assert!(sessions.cover(LpId(1), 12, 20) && sessions.cover(LpId(1), 30, 31));
        assert!(!sessions.cover(LpId(1), 9, 11) && !sessions.cover(LpId(1), 15, 35), "not all the time");
        assert!(sessions.touch(LpId(1), 9, 11) && !sessions.touch(LpId(1), 21, 29));
        assert!(sessions.cover(LpId(2), 15, 35) && !sessions.touch(LpId(0), 15, 35));
        assert_eq!(metrics.by_id(length).and_then(|metric| metric.counter()), Some(70));
    }
}

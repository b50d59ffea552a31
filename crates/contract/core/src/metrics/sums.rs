//! Sums by key, beside the rows of a table.
//!
//! Several LPs may each know a part of one thing. A flow's packets, for example, are counted at its source,
//! at its sink and on the path. The sums are integers and merge in any order. At the end
//! [`crate::model::Model::conclude`] takes them and makes rows of the table.

use super::{MetricId, MetricValue, Metrics, TableId};
use std::collections::BTreeMap;

/// The sums of one table, by key.
pub(super) type Sums = BTreeMap<u64, Box<[u64]>>;

/// The reason why a sum cannot overflow.
const SUM_IS_WIDE: &str = "a sum by key stays below 2^64";

/// Adds `amounts` to the sums of a key. Missing sums count as zero.
fn add(sums: &mut Sums, key: u64, amounts: &[u64]) {
    let sums = sums.entry(key).or_default();
    if sums.len() < amounts.len() {
        let mut longer = sums.to_vec();
        longer.resize(amounts.len(), 0);
        *sums = longer.into();
    }
    for (sum, amount) in sums.iter_mut().zip(amounts) {
        *sum = sum.checked_add(*amount).expect(SUM_IS_WIDE);
    }
}

/// Adds the sums of another worker.
pub(super) fn merge(sums: &mut Sums, others: Sums) {
    if sums.is_empty() {
        *sums = others;
    } else {
        others.into_iter().for_each(|(key, amounts)| add(sums, key, &amounts));
    }
}

impl Metrics {
    /// Adds `amounts`, one by one, to the sums that `table` keeps for `key`.
    ///
    /// ```
    /// # use parades_core::metrics::{Cell, Column, Metrics, Unit};
    /// let mut metrics = Metrics::new();
    /// let flows = metrics.table("flows", vec![Column::new("flow", Unit::Count), Column::new("lost", Unit::Count)]);
    /// metrics.add_to_sums(flows, 7, &[10]); // At the source: ten packets sent.
    /// metrics.add_to_sums(flows, 7, &[0, 8]); // At the sink: eight received.
    /// for (flow, sums) in metrics.take_sums(flows) {
    ///     metrics.row(flows, [Cell::Integer(flow), Cell::Integer(sums[0] - sums[1])]);
    /// }
    /// assert_eq!(metrics.by_id(flows).and_then(|m| m.table()).unwrap().rows(), [&[Cell::Integer(7), Cell::Integer(2)]]);
    /// ```
    pub fn add_to_sums(&mut self, table: impl Into<TableId>, key: u64, amounts: &[u64]) {
        let table = MetricId::from(table.into());
        match self.values.get_mut(table.0 as usize) {
            Some(MetricValue::Table(table)) => add(&mut table.sums, key, amounts),
            _ => self.refuse(self.recorder, table, &format_args!("sums for the key {key}")),
        }
    }

    /// Removes and returns the sums of a table, by key in ascending order.
    pub fn take_sums(&mut self, table: impl Into<TableId>) -> BTreeMap<u64, Box<[u64]>> {
        match self.values.get_mut(MetricId::from(table.into()).0 as usize) {
            Some(MetricValue::Table(table)) => std::mem::take(&mut table.sums),
            _ => BTreeMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Unit};
    use super::*;

    #[test]
    fn sums_of_workers_merge_in_any_order() {
        let mut declared = Metrics::new();
        let table = declared.table("flows", vec![Column::new("flow", Unit::Count)]);
        let parts: [&[(u64, &[u64])]; 3] = [&[(1, &[1, 2]), (9, &[4])], &[(1, &[10])], &[(9, &[0, 0, 7]), (2, &[])]];
        let worker = |adds: &[(u64, &[u64])]| {
            let mut metrics = declared.clone();
            adds.iter().for_each(|(key, amounts)| metrics.add_to_sums(table, *key, amounts));
            metrics
        };
        let expected: BTreeMap<u64, Box<[u64]>> =
            [(1, vec![11, 2]), (2, vec![]), (9, vec![4, 0, 7])].map(|(key, sums)| (key, sums.into())).into();
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut all = declared.clone();
            order.into_iter().for_each(|part| all.merge(worker(parts[part])));
            assert_eq!(all.take_sums(table), expected);
            assert!(all.take_sums(table).is_empty());
        }
    }

    #[test]
    fn only_tables_keep_sums() {
        let mut metrics = Metrics::new();
        let counter = metrics.counter("packets", Unit::Count);
        let counter = MetricId::from(counter);
        metrics.add_to_sums(counter, 7, &[1]);
        assert!(metrics.check().is_err_and(|why| why.contains("sums for the key 7")));
        assert!(metrics.take_sums(counter).is_empty());
    }
}

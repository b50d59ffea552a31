//! The ends of transfers, by time.

use parades_core::time::Time;
use std::collections::BTreeSet;

/// The ends of transfers: a set ordered by time, then by the number of the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ends {
    order: BTreeSet<(Time, u64, u32)>,
    /// By transfer, its entry in `order`.
    of: Vec<Option<(Time, u64)>>,
}

impl Ends {
    /// Sets the end of a transfer, whose start has this number.
    pub(super) fn set(&mut self, transfer: u32, end: Time, number: u64) {
        self.remove(transfer);
        if self.of.len() <= transfer as usize {
            self.of.resize(transfer as usize + 1, None);
        }
        self.of[transfer as usize] = Some((end, number));
        self.order.insert((end, number, transfer));
    }

    /// Removes the end of a transfer, if it has one.
    pub(super) fn remove(&mut self, transfer: u32) {
        if let Some((end, number)) = self.of.get_mut(transfer as usize).and_then(Option::take) {
            self.order.remove(&(end, number, transfer));
        }
    }

    /// Returns the first end, with its transfer.
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        self.order.first().map(|&(end, _, transfer)| (end, transfer))
    }
}

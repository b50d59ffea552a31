//! The results of failures: what each of them hit.

use crate::network::Layout;
use crate::port::{LOSSES, Loss};
use parades_core::metrics::{Cell, Metrics, TableId, Unit};
use parades_core::run::End;

pub(super) const COLUMNS: [(&str, Unit); 5] = [
    ("at", Unit::Picoseconds),
    ("failure", Unit::Count),
    ("packets_lost", Unit::Count),
    ("flows_on_path", Unit::Count),
    ("flows_cut_off", Unit::Count),
];

/// Adds the packets that a node lost at a failure. Returns false if the key counts other packets.
pub(super) fn finish_lost(net: &Layout, key: u32, lost: [u64; LOSSES], metrics: &mut Metrics) -> bool {
    let failure = key.checked_sub(net.failure_key(0));
    if let (Some(failure), Some(id)) = (failure, net.ids.failures) {
        metrics.add_to_sums(id, failure.into(), &[lost[Loss::Down as usize]]);
    }
    failure.is_some()
}

/// Makes the rows: all failures before the end of the run.
pub(super) fn conclude(net: &Layout, id: TableId, end: &End, metrics: &mut Metrics) {
    let lost = metrics.take_sums(id);
    for (number, failure) in (0..).zip(net.forwarding.failures.all()) {
        if failure.at >= end.time {
            continue;
        }
        let packets = lost.get(&number).map_or(0, |words| words[0]);
        let cells: [Cell; 5] = [
            failure.at.as_ps().into(),
            net.name_of(failure).as_str().into(),
            packets.into(),
            failure.flows_on_path.into(),
            failure.flows_cut_off.into(),
        ];
        metrics.row(id, cells.to_vec());
    }
}

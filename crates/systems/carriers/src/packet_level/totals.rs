//! The table of links.

use parades_core::metrics::{Cell, Column, Metrics, TableId, Unit};
use parades_core::time::Time;
use parades_packet::plane::{Plane, PortTotals};
use parades_topology::NodeId;

/// Declares the table.
pub(super) fn declare(metrics: &mut Metrics) -> TableId {
    const COUNTS: [&str; 6] = [
        "packets_lost_queue",
        "packets_lost_chance",
        "packets_lost_down",
        "packets_lost_early",
        "packets_marked",
        "packets_duplicated",
    ];
    let mut columns = vec![
        Column::new("from", Unit::Count),
        Column::new("to", Unit::Count),
        Column::new("rate", Unit::BitsPerSecond),
        Column::new("utilisation", Unit::Ratio),
        Column::new("packets", Unit::Count),
        Column::new("bytes", Unit::Bytes),
    ];
    columns.extend(COUNTS.map(|name| Column::new(name, Unit::Count)));
    columns.extend([Column::new("queue_max", Unit::Count), Column::new("queue_mean", Unit::Count)]);
    metrics.table("links", columns)
}

/// Adds the row of a direction of a link, by which `from` sends.
pub(super) fn add(plane: &Plane, from: NodeId, port: &PortTotals, end: Time, table: TableId, metrics: &mut Metrics) {
    let share = |ps: u64| if end > Time::ZERO { ps as f64 / end.as_ps() as f64 } else { 0.0 };
    let [queue, chance, down, early] = port.lost;
    let name = |node| Cell::Text(plane.topology().name(node).into());
    let mut cells = vec![
        name(from),
        name(port.neighbour),
        plane.topology().link(port.link).rate_bps.into(),
        Cell::Float(share(port.busy.as_ps())),
        port.packets.into(),
        port.bytes.into(),
    ];
    cells.extend([queue, chance, down, early, port.marked, port.duplicated].map(Cell::from));
    cells.extend([u64::from(port.waiting_max).into(), Cell::Float(share(port.waited.as_ps()))]);
    metrics.row(table, cells);
}

//! The topology of `wan`, unless another one is given.

use crate::geo::Position;
use crate::{Link, NodeId, Topology};

/// Cities by name, degrees north and degrees east.
const CITIES: [(&str, f64, f64); 24] = [
    ("Lisbon", 38.72, -9.14),
    ("Madrid", 40.42, -3.70),
    ("Barcelona", 41.39, 2.17),
    ("Bordeaux", 44.84, -0.58),
    ("Marseille", 43.30, 5.37),
    ("Paris", 48.86, 2.35),
    ("London", 51.51, -0.13),
    ("Dublin", 53.35, -6.26),
    ("Brussels", 50.85, 4.35),
    ("Amsterdam", 52.37, 4.90),
    ("Hamburg", 53.55, 9.99),
    ("Copenhagen", 55.68, 12.57),
    ("Oslo", 59.91, 10.75),
    ("Stockholm", 59.33, 18.07),
    ("Helsinki", 60.17, 24.94),
    ("Frankfurt", 50.11, 8.68),
    ("Zurich", 47.38, 8.54),
    ("Milan", 45.46, 9.19),
    ("Rome", 41.90, 12.50),
    ("Berlin", 52.52, 13.40),
    ("Prague", 50.08, 14.44),
    ("Vienna", 48.21, 16.37),
    ("Budapest", 47.50, 19.04),
    ("Warsaw", 52.23, 21.01),
];

/// Trunks between the larger cities.
const TRUNKS: [(u32, u32); 14] = [
    (1, 5),
    (1, 2),
    (2, 4),
    (4, 17),
    (5, 6),
    (5, 15),
    (6, 9),
    (9, 10),
    (9, 15),
    (10, 19),
    (15, 16),
    (15, 21),
    (16, 17),
    (19, 23),
];

/// Regional links.
const REGIONAL: [(u32, u32); 21] = [
    (0, 1),
    (0, 6),
    (1, 3),
    (3, 5),
    (4, 5),
    (6, 7),
    (7, 9),
    (5, 8),
    (8, 9),
    (10, 11),
    (11, 12),
    (12, 13),
    (11, 13),
    (13, 14),
    (14, 23),
    (17, 18),
    (18, 21),
    (19, 20),
    (20, 21),
    (21, 22),
    (22, 23),
];

const TRUNK_BPS: u64 = 100_000_000;
const REGIONAL_BPS: u64 = 25_000_000;

/// Makes a backbone of 24 European cities and 35 links, invented for this purpose.
///
/// Delays are those of light in fibre along the great circle. Rates, 100 Mbit/s and 25 Mbit/s, are those of
/// the nineties: so queues form at packet rates that are quick to simulate.
///
/// ```
/// let backbone = parades_topology::generators::backbone();
/// assert_eq!((backbone.nodes(), backbone.links().len()), (24, 35));
/// assert_eq!(backbone.connected(), Ok(()));
/// ```
pub fn backbone() -> Topology {
    let position = |(_, north, east): (&str, f64, f64)| {
        Position::from_degrees(north, east).expect("the table holds places on Earth")
    };
    let link = |(a, b): (u32, u32), rate_bps| {
        let [from, to] = [a, b].map(|city| position(CITIES[city as usize]));
        Link { a: NodeId(a), b: NodeId(b), rate_bps, delay: from.fibre_delay(to) }
    };
    let trunks = TRUNKS.map(|ends| link(ends, TRUNK_BPS));
    let regional = REGIONAL.map(|ends| link(ends, REGIONAL_BPS));
    let links = trunks.into_iter().chain(regional).collect();
    Topology::new(&CITIES.map(|(name, ..)| name), links).expect("the tables make a network")
}
